"""A SQL file with parameters by name, as people write them for psycopg: ``%(query)s``."""

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from searchmark.data.files import check_file
from searchmark.errors import InputError, nearest

PARAMETERS = ("query", "k", "embedding", "query_id")
"""What a statement may ask for."""

_PART = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?P<quoted> \b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
                | \$(?P<tag>[A-Za-z_]\w*|)\$.*?\$(?P=tag)\$ )
    | (?P<parameter> %\( (?P<name>[^)\n]*) \)s )
    | (?P<percent> %% )
    | (?P<lone> %(?:\([^)\n]*\)?|\S)? )
    | (?<![\w$]) (?P<numbered> \$\d+ )
    """,
    re.VERBOSE | re.DOTALL,
)
"""What in SQL is no plain text. Comments stay as they are; in quotes only percent signs count."""

_IN_QUOTES = re.compile(r"%\(\w+\)s|%%|%")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with numbered parameters; the nth stands for the nth of `names`.

    Lines and columns before a parameter are the file's own, so that a place the server tells can
    be shown.
    """

    path: Path
    sql: str
    names: tuple[str, ...]
    digest: str

    def line(self, position: int) -> int:
        """Return the line of the character at `position`, which counts from 1."""
        return self.sql.count("\n", 0, max(0, position - 1)) + 1


def read_statement(path: Path) -> Statement:
    """Read a file; parameters that do not exist, or percent signs not doubled, are InputErrors."""
    check_file(path)
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", path=path, line=line) from None
    names: list[str] = []
    sql = _PART.sub(lambda part: _rewritten(part, names, path), text)
    if not _PART.sub(lambda part: "" if part["comment"] else part[0], text).strip("; \t\r\n"):
        raise InputError("holds no statement", path=path)
    if "\0" in sql:
        raise InputError("holds a NUL character", path=path)
    if not {"query", "embedding", "query_id"} & set(names):
        raise InputError(
            "does not use the query, so every query would get the same answer",
            path=path,
            fix="write %(query)s or %(embedding)s where it belongs",
        )
    return Statement(path, sql, tuple(names), sha256(raw).hexdigest())


def _rewritten(part: re.Match[str], names: list[str], path: Path) -> str:
    """Return what stands in the statement instead of one part; notes a parameter in `names`."""
    if part["comment"]:
        return part[0]
    if part["percent"]:
        return "%"
    if part["quoted"]:
        return _unquoted(part, path)
    if part["name"] in PARAMETERS and part["parameter"]:
        if part["name"] not in names:
            names.append(part["name"])
        return f"${names.index(part['name']) + 1}"
    if part["parameter"]:
        fix = nearest(part["name"], PARAMETERS)
        raise _wrong(part, path, f"there is no parameter {part[0]}", fix)
    fix = f"write {_offered()}"
    if part["lone"]:
        fix = f"write %% for a percent sign, or {_offered()}"
    raise _wrong(part, path, f"'{part[0]}' is no parameter here", fix)


def _unquoted(part: re.Match[str], path: Path) -> str:
    """Return a quoted text with its percent signs single."""
    for found in _IN_QUOTES.finditer(part[0]):
        if found[0].startswith("%("):
            what = f"the parameter {found[0]} stands in quotes, where it is plain text"
            fix = "write it without quotes: it is bound, not pasted"
            raise _wrong(part, path, what, fix, found.start())
        if found[0] == "%":
            what = "a percent sign stands alone in quotes"
            raise _wrong(part, path, what, "write %% for a percent sign", found.start())
    return part[0].replace("%%", "%")


def _wrong(part: re.Match[str], path: Path, what: str, fix: str, offset: int = 0) -> InputError:
    line = part.string.count("\n", 0, part.start() + offset) + 1
    return InputError(what, path=path, line=line, fix=fix)


def _offered() -> str:
    return ", ".join(f"%({name})s" for name in PARAMETERS[:-1]) + f" or %({PARAMETERS[-1]})s"
