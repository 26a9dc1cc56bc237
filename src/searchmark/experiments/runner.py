"""Asks a system every query, keeps each answer at once, and goes on after a failure or a kill."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from searchmark.data import Queries
from searchmark.experiments.asking import ask, ask_batch
from searchmark.experiments.journal import Call, Journal
from searchmark.experiments.validity import not_asked
from searchmark.experiments.workers import Workers
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Query, System

Told = Callable[[int, int], object]

Batch = tuple[Query, ...]


def ask_all(
    system: System,
    queries: Queries,
    depth: int,
    journal: Journal,
    *,
    calls: CallPolicy | None = None,
    progress: Told | None = None,
) -> list[Call]:
    """Ask every query that the journal has no answer to; return all calls in the queries' order.

    A query on which the system fails is recorded with what was raised, and the next one is asked.
    After `calls.stop_after` failures in a row no more are asked: those left are "unasked".
    """
    calls = calls or CallPolicy()
    pairs = zip(queries.query_ids, queries.texts, strict=True)
    left = [Query(query_id, text) for query_id, text in pairs if query_id not in journal.calls]
    told = progress or _no_progress
    told(len(queries) - len(left), len(queries))
    breaker = Breaker(calls.stop_after)
    asking = _Asking(system, depth, calls.warmup)
    workers = Workers(asking.work, _batches(system, left, calls.batch), calls.concurrency)
    n_open = len(left)
    with closing(workers.results()) as results:
        for found in results:
            if isinstance(found, _Apart):
                workers.add([(query,) for query in found.batch])
                continue
            for call in found:
                breaker.note(call)
                if call.status != "unasked":
                    journal.append(call)
                    n_open -= 1
            told(len(queries) - n_open, len(queries))
            if breaker.is_open:
                workers.stop()
    unasked = [_unasked(q, breaker) for q in left if q.query_id not in journal.calls]
    made = journal.calls | {call.query_id: call for call in unasked}
    return [made[query_id] for query_id in queries.query_ids]


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row, in the order in which calls end; open from `stop_after` on.

    It is open too where the system is down already, for whoever asked it before.
    """

    stop_after: int
    n_in_row: int = 0
    last_error: str = ""
    is_down: bool = False

    def note(self, call: Call) -> None:
        """Count one call."""
        self.n_in_row = self.n_in_row + 1 if call.is_failure else 0
        self.is_down = self.is_down or call.status == "unasked"
        if call.is_failure:
            self.last_error = call.error or call.status

    @property
    def is_open(self) -> bool:
        """Whether no more is to be asked."""
        return self.is_down or self.n_in_row >= self.stop_after


class _Apart(NamedTuple):
    """A batch that failed as a whole, to be asked query by query."""

    batch: Batch


@dataclass(slots=True)
class _Asking:
    """What the threads do: a query or a batch of them asked, the first ones as warm-up.

    Calls that start before `warmup` calls have ended are warm-up, since at a concurrency of 16
    sixteen of them meet a cold system.
    """

    system: System
    depth: int
    warmup: int
    ended: list[None] = field(default_factory=list)  # appending is safe in threads, counting is not

    def work(self, batch: Batch) -> "list[Call] | _Apart":
        """Ask a batch, or the one query in it."""
        is_warmup = len(self.ended) < self.warmup
        try:
            if len(batch) == 1:
                return [ask(self.system, batch[0], self.depth, warmup=is_warmup)]
            found = ask_batch(self.system, batch, self.depth, warmup=is_warmup)
            return _Apart(batch) if found is None else found
        finally:
            if is_warmup:
                self.ended.append(None)


def _batches(system: System, queries: Sequence[Query], size: int) -> list[Batch]:
    """Return the queries in batches; of one each where the system knows no other."""
    if not callable(getattr(system, "search_many", None)):
        size = 1
    rest = iter(queries)
    return list(iter(lambda: tuple(islice(rest, size)), ()))


def _unasked(query: Query, breaker: Breaker) -> Call:
    error = not_asked(breaker.stop_after, breaker.last_error)
    return Call(query.query_id, "unasked", 0.0, attempts=0, error=error)


def _no_progress(done: int, total: int) -> None:
    """Tell nobody."""
