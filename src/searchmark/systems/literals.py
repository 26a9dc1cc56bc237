"""Secrets that are written out in a project file, where ``${NAME}`` belongs."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from searchmark.errors import Problem
from searchmark.systems.pieces import (
    DSN_PASSWORD,
    SWITCH,
    TELLING,
    URL_PARAMETER,
    URL_PASSWORD,
)
from searchmark.systems.secrets import has_reference
from searchmark.systems.template import placeholders, texts_in

_TOLD = "write ${NAME} and set that variable of the environment"
_PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}|\*+|<[^>]*>")

TOKENS = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
      sk-(?=[\w-]*[0-9])(?=[\w-]*[A-Z])[\w-]{20,}      # OpenAI and those who follow it
    | (?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}          # Stripe
    | gh[pousr]_[A-Za-z0-9]{36,} | github_pat_\w{40,} | glpat-[\w-]{20,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,}                    # Slack
    | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[\w-]{35}         # AWS, Google
    | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36} | pypi-AgE[\w-]{20,}
    | SG\.[\w-]{16,}\.[\w-]{16,}                        # SendGrid
    | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*                # a JSON web token
    )(?![A-Za-z0-9])
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----
    | \b(?i:bearer|basic)\s+(?=[\w.~+/-]*[0-9])[\w.~+/-]{16,}=*""",
    re.VERBOSE,
)
"""Forms that nothing but a secret has."""

_SURE = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY"
    r"|(?:^|_)(?:(?:ACCESS|AUTH|BEARER|ID|REFRESH|SESSION)_?TOKEN|AUTHORIZATION|COOKIE))$",
    re.IGNORECASE,
)
"""Names behind which a value is a secret, whatever it looks like."""

_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[\w.+/=~-]{16,}|[0-9a-f]{24,}")
"""What a key looks like, and a field's name or a sentence does not."""

_OPTION = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_HEADER = re.compile(r"([A-Za-z][\w-]*)\s*:\s*((?:\w+\s+)?\S+)")
_ELSEWHERE = re.compile(r"""["']?(?:\w+\s+)?[$:?@%/~]|\./""")
"""How a variable of a shell or of SQL begins, or the path of a file: none is the secret itself."""

_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(\S+)")
_MEMBER = re.compile(r'"([A-Za-z_][\w-]*)"\s*:\s*"((?:[^"\\]|\\.)*)"')
_FIELD = re.compile(r"(?<![\w-])([A-Za-z_][\w-]*)=([^\s&;\"']+)")


def literal_secret_problems(
    *,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    url: str | None = None,
    dsn: str | None = None,
    values: Mapping[str, str | None] | None = None,
) -> list[Problem]:
    """Report secrets written out in headers, variables, a URL, a DSN or `values` by key.

    `values` are keys that hold a secret and nothing else, such as ``api_key``. No message shows
    what it is about.
    """
    found = []
    for table, entries in (("headers", headers), ("env", env)):
        for name, value in (entries or {}).items():
            is_named = TELLING.search(_joined(name)) and _is_written(value, SWITCH)
            if is_named or TOKENS.search(value):
                found.append(Problem(f"{table}.{name}", f"holds a secret written out; {_TOLD}"))
    for key, text in (("url", url), ("dsn", dsn)):
        found += [Problem(key, f"holds {what} written out; {_TOLD}") for what in _in_url(text)]
    for key, text in (values or {}).items():
        if text is not None and _is_written(text):
            found.append(Problem(key, f"holds a secret written out; {_TOLD}"))
    return found


def body_secret_problems(key: str, value: Any) -> list[Problem]:
    """Report secrets written out in a parsed JSON value: by the names of members, or by form.

    A text that stands alone is looked through for members and fields.
    """
    found = []
    for place, text in texts_in(value, key):
        name = re.sub(r"(?:\[\d+\])+$", "", place).rpartition(".")[2]
        is_one = _is_named_secret(name, text) if place != key else _has_pair(text)
        if is_one or TOKENS.search(text) or next(_in_address(text), None):
            found.append(Problem(place, f"holds a secret written out; {_TOLD}"))
    return found


def argument_problems(key: str, argv: Sequence[str]) -> list[Problem]:
    """Report secrets written out among the arguments of a program, which every user can see."""
    told = "holds a secret written out, and arguments are seen by all; give it in env, as ${NAME}"
    return [Problem(f"{key}[{i}]", told) for i in range(len(argv)) if _is_shown(argv, i)]


def _is_shown(argv: Sequence[str], i: int) -> bool:
    argument = argv[i]
    if TOKENS.search(argument) or next(_in_url(argument), None) is not None:
        return True
    named = [form.fullmatch(argument) for form in (_OPTION, _HEADER, _VARIABLE)]
    pairs = [(m[1], m[2]) for m in named if m is not None and m[2]]
    before = _OPTION.fullmatch(argv[i - 1]) if i else None
    if before is not None and before[2] is None and not argument.startswith("-"):
        pairs.append((before[1], argument))
    return any(_is_named_secret(name, value) for name, value in pairs)


def _has_pair(text: str) -> bool:
    """Tell whether a text has a secret as a member of JSON, a field of a form or a header."""
    pairs = [(m[1], m[2]) for form in (_MEMBER, _FIELD) for m in form.finditer(text)]
    return any(_is_named_secret(name, value) for name, value in pairs)


def _is_named_secret(name: str, value: str) -> bool:
    """Tell whether a value is a secret by its name; a doubtful name needs what looks like one."""
    if not _is_written(value, SWITCH) or placeholders(value):
        return False
    if _ELSEWHERE.match(value) or len(re.findall("[A-Za-z0-9]", value)) < 2:
        return False
    joined = _joined(name)
    is_doubtful = _SURE.search(joined) is None
    return bool(TELLING.search(joined)) and (not is_doubtful or bool(_RANDOM.fullmatch(value)))


def _joined(name: str) -> str:
    """Return a name as variables are named: ``accessToken`` and ``access-token`` alike."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").replace(".", "_")


def _in_url(text: str | None) -> Iterator[str]:
    if text is None:
        return
    if any(_is_written(m[1]) for m in DSN_PASSWORD.finditer(text)):
        yield "a password"
    else:
        yield from _in_address(text)


def _in_address(text: str) -> Iterator[str]:
    if "://" not in text:
        return
    if any(_is_written(m[1]) for m in URL_PASSWORD.finditer(text)):
        yield "a password"
    for name, value in URL_PARAMETER.findall(text):
        if TELLING.search(_joined(name)) and _is_written(value):
            yield f"the secret '{name}'"


def _is_written(value: str, none: Container[str] = ()) -> bool:
    """Tell whether a value is there, and is no reference, no place to fill in and not in `none`."""
    bare = value.strip("'\" ")
    return (
        bool(bare)
        and bare.lower() not in none
        and not has_reference(value)
        and not _PLACEHOLDER.fullmatch(bare)
    )
