"""Where things stand in a TOML text, so that single values can be replaced and the rest kept.

The text has to be valid TOML (`tomllib` has read it): nothing is checked here. Whoever edits by
these places reads the result again and compares it with what was meant.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Literal, NamedTuple

Path = tuple[str, ...]


class Span(NamedTuple):
    """A piece of the text: from `start` up to, not including, `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the piece."""
        return text[self.start : self.end]


class Statement(NamedTuple):
    """A header or an assignment.

    `path` is the full path from the root of the file, `parts` the spans of the keys written here,
    `value` that of the value (empty for a header), `line` that of whole lines, with their end.
    """

    kind: Literal["table", "array", "key"]
    path: Path
    parts: tuple[Span, ...]
    value: Span
    line: Span


_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*""")
_TOKEN = re.compile(
    r"""
    \"{3}(?:[^"\\]|\\.|"(?!""))*"{3,5}   # several lines
    | '{3}.*?'{3,5}
    | "(?:[^"\\\n]|\\.)*" | '[^'\n]*'
    | \#[^\n]*
    | [\[{] | [\]}] | \n | [^\[\]{}"'\#\n]+
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(text: str) -> Iterator[Statement]:
    """Yield the headers and assignments of a TOML text in order."""
    table: Path = ()
    at = _skip(text, 0)
    while at < len(text):
        if text[at] == "[":
            found = _header(text, at)
            table = found.path
        else:
            found = _assignment(text, at, table)
        yield found
        at = _skip(text, found.line.end)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _header(text: str, at: int) -> Statement:
    is_array = text.startswith("[[", at)
    path, parts, end = _keys(text, at + 1 + is_array)
    kind: Literal["table", "array"] = "array" if is_array else "table"
    return Statement(kind, path, parts, Span(end, end), _lines(text, at, end))


def _assignment(text: str, at: int, table: Path) -> Statement:
    path, parts, end = _keys(text, at)
    start = end + 1  # the equals sign
    start += len(text[start:]) - len(text[start:].lstrip(" \t"))
    value = Span(start, _value_end(text, start))
    return Statement("key", (*table, *path), parts, value, _lines(text, at, value.end))


def _keys(text: str, at: int) -> tuple[Path, tuple[Span, ...], int]:
    """Return a dotted key, the places of its parts, and where it ends."""
    path: list[str] = []
    parts: list[Span] = []
    while (found := _KEY.match(text, at)) is not None:
        path.append(_plain(found[1]))
        parts.append(Span(*found.span(1)))
        at = found.end()
        if not text.startswith(".", at):
            break
        at += 1
    return tuple(path), tuple(parts), at


def _plain(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0"))) if key[0] in "\"'" else key


def _value_end(text: str, at: int) -> int:
    """Return where a value ends: at the end of its line or a comment, outside of brackets."""
    depth, end = 0, at
    while (found := _TOKEN.match(text, at)) is not None:
        token = found[0]
        depth += (token in "[{") - (token in "]}")
        if depth == 0 and (token == "\n" or token[0] == "#"):
            break
        at = found.end()
        if token != "\n" and token[0] != "#":
            end = at - (len(token) - len(token.rstrip()))
    return end


def _lines(text: str, start: int, end: int) -> Span:
    """Return the span of the whole lines that hold a statement."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return Span(first, len(text) if last < 0 else last + 1)


def strings(text: str, span: Span) -> Iterator[tuple[str, Span]]:
    """Yield the one-line strings inside a value, decoded, with their places."""
    at = span.start
    while at < span.end and (found := _TOKEN.match(text, at)) is not None:
        token = found[0]
        if token[0] in "\"'" and token[:3] not in ('"""', "'''"):
            yield tomllib.loads(f"x = {token}")["x"], Span(*found.span())
        at = found.end()


def last_item(text: str, value: Span) -> tuple[int, bool]:
    """Return where the last item of a list or inline table ends, and whether a comma follows it.

    The comma belongs to the item then. The value must not be empty.
    """
    at, end, has_comma = value.start, value.start + 1, False
    while at < value.end - 1 and (found := _TOKEN.match(text, at)) is not None:
        written = found[0].rstrip()
        if written and written[0] != "#":
            end, has_comma = at + len(written), written.endswith(",")
        at = found.end()
    return end, has_comma
