"""Documents of retrieval libraries: the id and the score that lie somewhere in them."""

from collections.abc import Mapping
from itertools import islice
from math import isfinite, nan
from typing import Any

from searchmark.errors import Problem, SystemFailedError
from searchmark.systems.protocol import Hit
from searchmark.systems.returned import listed


def hits_of(found: object, k: int, *, id: str, score: str | None) -> tuple[Hit, ...]:
    """Return the first `k` documents; `id` and `score` are dotted paths inside each.

    What is no list of documents is an error: nothing that failed may look like an empty answer.
    """
    return tuple(
        Hit(_id_at(document, id), None if score is None else _score_at(document, score))
        for document in islice(listed(found, "a list of documents is"), k)
    )


def value_at(document: object, path: str) -> Any:
    """Follow a dotted path of attributes and keys; None where it leads nowhere.

    A key may hold dots itself: the longest key that exists is followed.
    """
    value: Any = document
    parts = path.split(".")
    at = 0
    while at < len(parts) and value is not None:
        value, at = _step(value, parts, at)
    return value


def _step(value: Any, parts: list[str], at: int) -> tuple[Any, int]:
    if not isinstance(value, Mapping):
        return getattr(value, parts[at], None), at + 1
    for end in range(len(parts), at, -1):
        key = ".".join(parts[at:end])
        if key in value:
            return value[key], end
    return None, len(parts)


def _id_at(document: object, path: str) -> str:
    value = value_at(document, path)
    if isinstance(value, str) and value:
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    raise SystemFailedError(
        f"a document's {path} is {value!r:.100}, not an id; name the place with the key 'id'"
        f"{_known(document)}"
    )


def _known(document: object) -> str:
    """Name the metadata that a document of any of the libraries has."""
    for name in ("metadata", "meta"):
        keys = getattr(document, name, None)
        if isinstance(keys, Mapping) and keys:
            shown = ", ".join(f"{name}.{key}" for key in islice(keys, 8))
            return f" (there are {shown})"
    return ""


def _score_at(document: object, path: str) -> float | None:
    value = value_at(document, path)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = nan
    if not isfinite(number):
        raise SystemFailedError(f"a document's {path} is {value!r:.100}, not a score")
    return number


def path_problems(id: str | None, score: str | None) -> list[Problem]:
    """Report paths with an empty part."""
    return [
        Problem(key, f"'{path}' is no path; write names joined by dots, as metadata.doc_id")
        for key, path in (("id", id), ("score", score))
        if path is not None and not all(path.split("."))
    ]
