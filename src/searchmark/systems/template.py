"""Templates of requests and commands: ``{query}`` and its like, put in by structure, never pasted.

One pass over a text replaces all placeholders at once, so that braces in a query's own text stay
what they are. ``{{`` and ``}}`` stand for braces, and ``${NAME}`` is no placeholder but a value of
the environment.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from searchmark.errors import SystemFailedError, nearest
from searchmark.systems.secrets import REFERENCE, Secrets

PART = re.compile(r"\{\{|\}\}|(?<!\$)\{([a-z_][a-z0-9_]*)\}")
"""What a template's text holds beside itself."""

Values = Mapping[str, Any]
"""Placeholder -> value: text, number, or a list of numbers."""


def fill_text(text: str, values: Values) -> str:
    """Return text with every placeholder replaced; one that `values` lacks is left as it is."""
    return _fill(text, {name: _as_text(value) for name, value in values.items()})


def fill_url(text: str, values: Values) -> str:
    """Return a URL whose placeholders are replaced by percent-encoded values."""
    return _fill(text, {name: _encoded(_as_text(value)) for name, value in values.items()})


def fill_json(value: Any, values: Values) -> Any:
    """Return a parsed JSON value with the placeholders in its texts replaced; names stay.

    A text that is nothing but one placeholder becomes the value itself: a number stays a number,
    a list a list.
    """
    if isinstance(value, str):
        whole = PART.fullmatch(value)
        if whole is not None and whole[1] in values:
            return values[whole[1]]
        return fill_text(value, values)
    if isinstance(value, Mapping):
        return {name: fill_json(inner, values) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [fill_json(inner, values) for inner in value]
    return value


def placeholders(text: str) -> set[str]:
    """Return the names of a text's placeholders."""
    return {match[1] for match in PART.finditer(text) if match[1] is not None}


def placeholders_in(value: Any) -> set[str]:
    """Return the names of the placeholders in all texts of a parsed JSON value."""
    return set().union(*(placeholders(text) for _, text in texts_in(value)))


def texts_in(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a parsed JSON value with the path it stands at."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts_in(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for i, inner in enumerate(value):
            yield from texts_in(inner, f"{key}[{i}]")


def template_problem(text: str, known: Iterable[str]) -> str | None:
    """Say what is wrong with a template: a placeholder nobody knows, a brace that stands alone."""
    names = set(known)
    for name in sorted(placeholders(text) - names):
        return f"unknown placeholder {{{name}}}; {nearest(name, names)}"
    rest = PART.sub("", REFERENCE.sub("", text))
    for brace in "{}":
        if brace in rest:
            return f"a single '{brace}' is no placeholder; write '{brace * 2}' for a brace"
    return None


def expand_text(text: str, secrets: Secrets, key: str) -> str:
    """Return a template with its ``${NAME}`` replaced, the braces in their values kept as such."""

    def part(match: re.Match[str]) -> str:
        return secrets.expand(match[0], key=key).replace("{", "{{").replace("}", "}}")

    return REFERENCE.sub(part, text)


def expand_json(value: Any, secrets: Secrets, key: str) -> Any:
    """Do the same in all texts of a parsed JSON value."""
    if isinstance(value, str):
        return expand_text(value, secrets, key)
    if isinstance(value, Mapping):
        return {name: expand_json(v, secrets, f"{key}.{name}") for name, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [expand_json(inner, secrets, f"{key}[{i}]") for i, inner in enumerate(value)]
    return value


def encoded(text: str) -> bytes:
    """Return text as UTF-8; half a surrogate pair, which it cannot hold, is an error."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise SystemFailedError(
            f"the query's character {error.start + 1} is half a surrogate pair, which UTF-8 "
            "cannot hold; mend the query's text"
        ) from error


def _fill(text: str, values: Mapping[str, str]) -> str:
    def part(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        return values.get(match[1], match[0])

    return PART.sub(part, text)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _encoded(text: str) -> str:
    found = quote(encoded(text), safe="")
    return found.replace(".", "%2E") if found in (".", "..") else found  # else a step in the path
