"""Secrets that are written out in a project file, where ``${NAME}`` belongs."""

import re
from collections.abc import Iterator, Mapping

from searchmark.errors import Problem
from searchmark.systems.secrets import (
    DSN_PASSWORD,
    TELLING,
    URL_PARAMETER,
    URL_PASSWORD,
    has_reference,
)

_TOLD = "write ${NAME} and set that variable of the environment"
_PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w+\}|\*+|<[^>]*>")


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
            if TELLING.search(name.replace("-", "_")) and _is_written(value):
                found.append(Problem(f"{table}.{name}", f"holds a secret written out; {_TOLD}"))
    for key, text in (("url", url), ("dsn", dsn)):
        found += [Problem(key, f"holds {what} written out; {_TOLD}") for what in _in_url(text)]
    for key, text in (values or {}).items():
        if text is not None and _is_written(text):
            found.append(Problem(key, f"holds a secret written out; {_TOLD}"))
    return found


def _in_url(text: str | None) -> Iterator[str]:
    if text is None:
        return
    passwords = [m[1] for p in (URL_PASSWORD, DSN_PASSWORD) for m in p.finditer(text)]
    if any(_is_written(password) for password in passwords):
        yield "a password"
    if "://" not in text:
        return
    for name, value in URL_PARAMETER.findall(text):
        if TELLING.search(name.replace("-", "_")) and _is_written(value):
            yield f"the secret '{name}'"


def _is_written(value: str) -> bool:
    """Tell whether a value is there and is neither a reference nor a place to fill in."""
    bare = value.strip("'\" ")
    return bool(bare) and not has_reference(value) and not _PLACEHOLDER.fullmatch(bare)
