"""What a function of the user's own may return, as answers."""

from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from math import isfinite
from types import GeneratorType
from typing import Any

from searchmark.errors import SystemFailedError, described
from searchmark.systems.protocol import Answer, Hit

_FORMS = "an id, an (id, score) pair, an (id, score, tokens) triple, a table with 'id', or a Hit"


def answer_of(found: object, k: int) -> Answer:
    """Return the first `k` of a list, of a generator too; or an Answer, cut at `k`."""
    if isinstance(found, Answer):
        return replace(found, hits=tuple(_hit(item) for item in islice(found.hits, k)))
    hits = tuple(_hit(item) for item in islice(listed(found, "a list of ids is"), k))
    _close(found)
    return Answer(hits)


def answers_of(found: object, n: int, k: int) -> list[Answer | SystemFailedError]:
    """Return `n` answers, one a query in the order asked; an exception stands for a failure."""
    items = list(islice(listed(found, f"{n} lists of ids are"), n + 1))
    _close(found)
    if len(items) != n:
        told = len(items) if len(items) < n else f"more than {n}"
        raise SystemFailedError(f"returned {told} answers to {n} queries; return a list for each")
    return [_answer_or_failure(item, k) for item in items]


def listed(found: object, wanted: str) -> Iterable[Any]:
    """Return what can be gone through in an order that means something; raise for all else.

    Nothing that failed may look like an empty answer. A set comes in any order, and a table of
    pandas gives the names of its columns.
    """
    is_whole = found is None or isinstance(found, str | bytes | bytearray | Mapping)
    if is_whole or not isinstance(found, Iterable) or hasattr(found, "columns"):
        raise SystemFailedError(f"returned {_shown(found)} where {wanted} expected")
    if isinstance(found, set | frozenset):
        raise SystemFailedError(f"returned a set where {wanted} expected; a set has no order")
    return found


def _answer_or_failure(item: object, k: int) -> Answer | SystemFailedError:
    try:
        if isinstance(item, BaseException):
            raise item
        return answer_of(item, k)
    except SystemFailedError as error:
        return error
    except Exception as error:
        return SystemFailedError(described(error))


def _close(found: object) -> None:
    if isinstance(found, GeneratorType):
        found.close()  # what it still does belongs to this call


def _hit(item: object) -> Hit:
    """Return the hit in Python's own types: ids and scores of NumPy are subclasses of them."""
    if isinstance(item, Hit):
        return _made(item, item.doc_id, item.score, item.tokens)
    if isinstance(item, Mapping) and "id" in item:
        return _made(item, item["id"], item.get("score"), item.get("tokens"))
    if isinstance(item, tuple | list) and len(item) in (2, 3):
        return _made(item, *item)
    return _made(item, item)


def _made(item: object, doc_id: object, score: object = None, tokens: object = None) -> Hit:
    if isinstance(doc_id, Coroutine):
        doc_id.close()  # or else Python warns that nobody awaited it
        raise SystemFailedError("returned a coroutine where an id is expected; await each")
    if not isinstance(doc_id, str):  # a number may be a row's: what an id is, is text
        raise SystemFailedError(f"returned {_shown(item)}, which is not {_FORMS}")
    if not doc_id:
        raise SystemFailedError(f"returned {_shown(item)}, whose id is empty")
    return Hit(str.__str__(doc_id), _number(score, item), _number(tokens, item))


def _number(value: object, item: object) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, str | bytes):  # a list of ids in the place of an id, as often as not
            raise TypeError
        number = float(value)  # type: ignore[arg-type]  # whatever has a __float__ will do
    except (TypeError, ValueError, OverflowError):
        raise SystemFailedError(f"returned {_shown(item)}: {value!r} is no number") from None
    if not isfinite(number):
        raise SystemFailedError(
            f"returned {_shown(item)}: {number} can be neither kept nor compared; give a finite "
            "number, or None where there is none"
        )
    return number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
