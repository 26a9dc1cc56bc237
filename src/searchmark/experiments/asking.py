"""One call of a system, and the record of it."""

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, cast

from searchmark.errors import InputError, SystemDownError, SystemFailedError, failure_text
from searchmark.experiments.journal import Call
from searchmark.systems.protocol import Answer, Hit, Query, System

if TYPE_CHECKING:
    from searchmark.systems.protocol import BatchSystem


def ask(system: System, query: Query, depth: int, *, warmup: bool = False) -> Call:
    """Ask one query and record how it went."""
    start = perf_counter()
    try:
        answer = system.search(query, depth)
        return _answered(query, answer, depth, _since(start), warmup=warmup)
    except (InputError, KeyboardInterrupt):
        raise  # the configuration is wrong, or a person stops the run: not this query's failure
    except BaseException as error:  # exit() in a system under test is its failure too
        return _failed(query, error, _since(start), warmup=warmup)


def ask_batch(
    system: System, queries: Sequence[Query], depth: int, *, warmup: bool = False
) -> list[Call] | None:
    """Ask several queries in one call; None where the call failed as a whole.

    The latency of each is that of the whole call.
    """
    start, size = perf_counter(), len(queries)
    try:
        answers = cast("BatchSystem", system).search_many(queries, depth)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException:
        return None
    took, calls = _since(start), []
    for query, answer in zip(queries, answers, strict=True):
        if isinstance(answer, BaseException):
            call = _failed(query, answer, took, warmup=warmup, batch=size)
        else:
            try:
                call = _answered(query, answer, depth, took, warmup=warmup, batch=size)
            except Exception as error:
                call = _failed(query, error, took, warmup=warmup, batch=size)
        calls.append(call)
    return calls


def _answered(
    query: Query, answer: Answer, depth: int, latency_ms: float, *, warmup: bool, batch: int = 1
) -> Call:
    """Return the call in Python's own types: NumPy's pass for them, but cannot be written."""
    hits = answer.hits[:depth]
    _check(answer.hits)
    if answer.latency_ms is not None:
        latency_ms = _latency(answer.latency_ms)
    has_tokens = any(h.tokens is not None for h in hits)
    return Call(
        query_id=query.query_id,
        status="ok" if answer.hits else "empty" if answer.is_given else "missing",
        latency_ms=latency_ms,
        doc_ids=[str.__str__(h.doc_id) for h in hits],
        scores=[None if h.score is None else float(h.score) for h in hits],
        tokens=[_number(h.tokens) for h in hits] if has_tokens else [],
        attempts=answer.attempts,
        partial=bool(answer.partial),
        size=None if answer.size is None else int(answer.size),
        total=None if answer.total is None else int(answer.total),
        warmup=warmup,
        batch=batch,
    )


def _failed(
    query: Query, error: BaseException, latency_ms: float, *, warmup: bool, batch: int = 1
) -> Call:
    if isinstance(error, SystemFailedError) and error.latency_ms is not None:
        latency_ms = error.latency_ms
    return Call(
        query_id=query.query_id,
        status=_status(error),
        latency_ms=latency_ms,
        error=_storable(failure_text(error)),
        attempts=getattr(error, "attempts", 1),
        warmup=warmup,
        batch=batch,
    )


def _status(error: BaseException) -> str:
    if isinstance(error, SystemDownError):
        return "unasked"
    return "timeout" if isinstance(error, TimeoutError) else "error"


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _latency(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError(f"its latency is {value} ms")
    return float(value)


def _check(hits: Sequence[Hit]) -> None:
    """Raise where something in a ranking cannot be kept, or is no number."""
    for hit in hits:
        if not isinstance(hit.doc_id, str) or not hit.doc_id:
            raise TypeError(f"a document id is {hit.doc_id!r}, not a text")
        if not hit.doc_id.isascii() and _storable(hit.doc_id) != hit.doc_id:
            raise ValueError(f"a document id is {hit.doc_id!r}, which UTF-8 cannot hold")
        if hit.score is not None and hit.score != hit.score:
            raise ValueError(f"the score of document '{hit.doc_id}' is NaN")
        if hit.tokens is not None and not 0 <= hit.tokens < float("inf"):
            raise ValueError(f"document '{hit.doc_id}' has {hit.tokens} tokens")


def _storable(text: str) -> str:
    """Return text that can be written as UTF-8: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000.0
