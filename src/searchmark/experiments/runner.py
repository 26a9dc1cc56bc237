"""Asks a system every query, keeps each answer at once, and goes on after a failure or a kill."""

from collections.abc import Callable
from time import perf_counter

from searchmark.data import Queries
from searchmark.errors import InputError, described
from searchmark.experiments.journal import Call, Journal
from searchmark.systems.protocol import Answer, Query, System

Told = Callable[[int, int], object]


def ask_all(
    system: System, queries: Queries, depth: int, journal: Journal, *, progress: Told | None = None
) -> list[Call]:
    """Ask every query that the journal has no answer to; return all calls in the queries' order.

    A query on which the system raises is recorded with what it raised, and the next one is asked.
    """
    total = len(queries)
    for done, (query_id, text) in enumerate(zip(queries.query_ids, queries.texts, strict=True), 1):
        if query_id not in journal.calls:
            journal.append(ask(system, Query(query_id, text), depth))
        if progress is not None:
            progress(done, total)
    return [journal.calls[query_id] for query_id in queries.query_ids]


def ask(system: System, query: Query, depth: int) -> Call:
    """Ask one query and measure how long it takes."""
    start = perf_counter()
    try:
        answer = system.search(query, depth)
        latency_ms = _since(start)
        _check(answer)
        return _answered(query, answer, depth, latency_ms)
    except (InputError, KeyboardInterrupt):
        raise  # the configuration is wrong, or a person stops the run: not this query's failure
    except BaseException as error:  # exit() in a system under test is its failure too
        return Call(
            query_id=query.query_id,
            status="timeout" if isinstance(error, TimeoutError) else "error",
            latency_ms=_since(start),
            error=_storable(described(error)),
        )


def _answered(query: Query, answer: Answer, depth: int, latency_ms: float) -> Call:
    """Return the call in Python's own types: NumPy's pass for them, but cannot be written."""
    hits = answer.hits[:depth]
    return Call(
        query_id=query.query_id,
        status="ok" if answer.hits else "empty" if answer.is_given else "missing",
        latency_ms=latency_ms,
        doc_ids=[str.__str__(h.doc_id) for h in hits],
        scores=[None if h.score is None else float(h.score) for h in hits],
        partial=bool(answer.partial),
    )


def _check(answer: Answer) -> None:
    for hit in answer.hits:
        if not isinstance(hit.doc_id, str) or not hit.doc_id:
            raise TypeError(f"a document id is {hit.doc_id!r}, not a text")
        if _storable(hit.doc_id) != hit.doc_id:
            raise ValueError(f"a document id is {hit.doc_id!r}, which UTF-8 cannot hold")
        if hit.score is not None and hit.score != hit.score:
            raise ValueError(f"the score of document '{hit.doc_id}' is NaN")


def _storable(text: str) -> str:
    """Return text that can be written as UTF-8: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000.0
