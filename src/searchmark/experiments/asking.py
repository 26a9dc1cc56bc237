"""One call of a system, and the record of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from searchmark.errors import (
    InputError,
    SystemDownError,
    SystemFailedError,
    SystemTimeoutError,
    failure_text,
)
from searchmark.experiments.journal import Call
from searchmark.experiments.soundness import numbers_flaw, ranks_flaw, shown, storable
from searchmark.experiments.validity import not_asked
from searchmark.systems.calling import CalledSystem
from searchmark.systems.protocol import Answer, Query, System
from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    from searchmark.systems.protocol import BatchSystem


class Spoiled(NamedTuple):
    """A batch whose call failed as a whole, and its queries may go well one by one.

    `attempts` were made for each of them, `error` is what the last one raised.
    """

    attempts: int
    error: str


def ask(
    system: System, query: Query, depth: int, *, warmup: bool = False, attempts: int = 0
) -> Call:
    """Ask one query and record how it went; `attempts` were made for it before."""
    record = _Recording(depth, warmup, _secrets_of(system))
    start = perf_counter()
    try:
        answer = system.search(query, depth)
        call = record.answered(query, answer, _since(start))
    except (InputError, KeyboardInterrupt):
        raise  # the configuration is wrong, or a person stops the run: not this query's failure
    except BaseException as error:  # exit() in a system under test is its failure too
        call = record.failed(query, error, _since(start))
    return replace(call, attempts=call.attempts + attempts) if attempts else call


def ask_batch(
    system: System, queries: Sequence[Query], depth: int, *, warmup: bool = False
) -> list[Call] | Spoiled:
    """Ask several queries in one call.

    The latency of each is that of the whole call. Where that took too long, each of them did: to
    ask again is no more allowed than for a query alone. Another failure of the whole may be that
    of one query.
    """
    size = len(queries)
    record = _Recording(depth, warmup, _secrets_of(system), size)
    start = perf_counter()
    try:
        answers = cast("BatchSystem", system).search_many(queries, depth)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, TimeoutError | SystemDownError):
            return Spoiled(_attempts(error), storable(failure_text(error)))
        took, answers = _since(start), [_too_long(error, size)] * size
    else:
        took = _since(start)
    return [record.either(q, answer, took) for q, answer in zip(queries, answers, strict=True)]


def _secrets_of(system: System) -> Secrets | None:
    """Return what the system's pool keeps out of messages; None where it has none."""
    return system.secrets if isinstance(system, CalledSystem) else None


def _too_long(error: BaseException, size: int) -> SystemFailedError:
    """Return the failure of each query of a batch that took too long, or was not asked at all."""
    if isinstance(error, SystemDownError):
        return error
    found = SystemTimeoutError(
        f"{failure_text(error)}, for a batch of {size} queries; a smaller batch or a greater "
        "timeout_s may help"
    )
    found.attempts, found.latency_ms = _attempts(error), getattr(error, "latency_ms", None)
    return found


@dataclass(frozen=True, slots=True)
class _Recording:
    """Makes the records of one call, or of a batch of so many queries."""

    depth: int
    warmup: bool
    secrets: Secrets | None
    batch: int = 1

    def either(self, query: Query, answer: Answer | SystemFailedError, latency_ms: float) -> Call:
        """Return the record of one query of a batch."""
        try:
            if isinstance(answer, BaseException):
                raise answer
            return self.answered(query, answer, latency_ms)
        except Exception as error:
            return self.failed(query, error, latency_ms)

    def answered(self, query: Query, answer: Answer, latency_ms: float) -> Call:
        """Return the call in Python's own types: NumPy's pass for them, but cannot be written.

        Raises where it holds anything that could not be kept, or would not come back the same.
        """
        given = answer.hits
        found = ranks_flaw(
            [h.doc_id for h in given],
            [h.score for h in given],
            [h.tokens for h in given],
            self.secrets,
        )
        if found is not None:
            raise ValueError(found)
        hits = given[: self.depth]
        has_tokens = any(h.tokens is not None for h in hits)
        call = Call(
            query_id=query.query_id,
            status="ok" if given else "empty" if answer.is_given else "missing",
            latency_ms=latency_ms if answer.latency_ms is None else _latency(answer.latency_ms),
            doc_ids=[str.__str__(h.doc_id) for h in hits],
            scores=[None if h.score is None else float(h.score) for h in hits],
            tokens=[None if h.tokens is None else float(h.tokens) for h in hits]
            if has_tokens
            else [],
            attempts=index(answer.attempts),
            partial=bool(answer.partial),
            size=_count(answer.size, "size"),
            total=_count(answer.total, "total"),
            warmup=self.warmup,
            batch=self.batch,
        )
        if (found := numbers_flaw(call)) is not None:
            raise ValueError(found)
        return call

    def failed(self, query: Query, error: BaseException, latency_ms: float) -> Call:
        """Return the record of a call that raised."""
        if isinstance(error, SystemFailedError) and error.latency_ms is not None:
            latency_ms = error.latency_ms
        return Call(
            query_id=query.query_id,
            status=_status(error),
            latency_ms=latency_ms,
            error=storable(_told(error)),
            attempts=_attempts(error),
            warmup=self.warmup,
            batch=self.batch,
        )


def _told(error: BaseException) -> str:
    """Return what is told of an error; of a query that was not asked, since when none was."""
    told = failure_text(error)
    return not_asked(error.why, told) if isinstance(error, SystemDownError) and error.why else told


def _attempts(error: BaseException) -> int:
    """Return the attempts that were made; what another library calls so may be anything."""
    return error.attempts if isinstance(error, SystemFailedError) else 1


def _status(error: BaseException) -> str:
    if isinstance(error, SystemDownError):
        return "unasked"
    return "timeout" if isinstance(error, TimeoutError) else "error"


def _count(value: object, what: str) -> int | None:
    """Return a count as a whole number; one that is none is no answer."""
    if value is None:
        return None
    try:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return index(value)  # type: ignore[arg-type]  # whatever has an __index__ will do
    except TypeError:
        raise ValueError(f"its {what} is {shown(value)}, which is no count") from None


def _latency(value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"its latency is {shown(value)} ms") from None


def _since(start: float) -> float:
    return (perf_counter() - start) * 1000.0
