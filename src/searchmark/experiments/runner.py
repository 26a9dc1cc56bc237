"""Asks a system every query, keeps each answer at once, and goes on after a failure or a kill."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from searchmark.data import Queries
from searchmark.experiments.asking import Spoiled, ask, ask_batch
from searchmark.experiments.journal import Call, Journal
from searchmark.experiments.validity import not_asked
from searchmark.experiments.workers import Workers
from searchmark.systems.calling import in_row
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
    A batch that fails as a whole is one failed call; its queries are asked one by one then, unless
    it took too long.
    After `calls.stop_after` failures in a row no more are asked: those left are "unasked".
    """
    calls = calls or CallPolicy()
    pairs = zip(queries.query_ids, queries.texts, strict=True)
    left = [Query(query_id, text) for query_id, text in pairs if query_id not in journal.calls]
    told = progress or _no_progress
    told(len(queries) - len(left), len(queries))
    breaker = Breaker(calls.stop_after)
    asking = _Asking(system, depth, calls.warmup)
    jobs = [_Job(batch) for batch in _batches(system, left, calls.batch)]
    workers = Workers(asking.work, jobs, calls.concurrency)
    n_open = len(left)
    with closing(workers.results()) as results:
        for found in results:
            if isinstance(found, _Apart):
                breaker.note_failure(found.error)
                workers.add(found.jobs)
            else:
                breaker.note(found)
                made = [call for call in found if call.status != "unasked"]
                for call in made:
                    journal.append(call)
                n_open -= len(made)
                told(len(queries) - n_open, len(queries))
            if breaker.is_open:
                workers.stop()
    unasked = [_unasked(q, breaker) for q in left if q.query_id not in journal.calls]
    answered = journal.calls | {call.query_id: call for call in unasked}
    return [answered[query_id] for query_id in queries.query_ids]


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row, in the order in which calls end; open from `stop_after` on.

    A batch that failed as a whole is one of them. It is open too where the system is down already:
    whoever asked it before found it so, or it has refused all calls for too long.
    """

    stop_after: int
    n_in_row: int = 0
    last_error: str = ""
    down: str | None = None

    def note(self, calls: Sequence[Call]) -> None:
        """Count what came of one job: a call, or those of a batch."""
        if len(calls) > 1 and all(call.status == "timeout" for call in calls):
            self.note_failure(calls[0].error or "timeout")
            return
        for call in calls:
            if call.status == "unasked":
                self.down = call.error
            if call.is_failure:
                self.note_failure(call.error or call.status)
            else:
                self.n_in_row = 0

    def note_failure(self, error: str) -> None:
        """Count one failure."""
        self.n_in_row += 1
        self.last_error = error

    @property
    def is_open(self) -> bool:
        """Whether no more is to be asked."""
        return self.down is not None or self.n_in_row >= self.stop_after

    @property
    def told(self) -> str:
        """Why no more is asked; a system that is down knows it better than what was counted."""
        return self.down or not_asked(in_row(self.stop_after), self.last_error)


class _Job(NamedTuple):
    """A query or a batch to ask, and how many attempts were made for it already."""

    batch: Batch
    attempts: int = 0


class _Apart(NamedTuple):
    """A batch that failed as a whole, as jobs of one query each, and how it failed."""

    jobs: list[_Job]
    error: str


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

    def work(self, job: _Job) -> "list[Call] | _Apart":
        """Ask a batch, or the one query in it."""
        is_warmup = len(self.ended) < self.warmup
        batch, attempts = job
        try:
            if len(batch) == 1:
                (query,) = batch
                return [ask(self.system, query, self.depth, warmup=is_warmup, attempts=attempts)]
            found = ask_batch(self.system, batch, self.depth, warmup=is_warmup)
            if isinstance(found, Spoiled):
                return _Apart([_Job((q,), found.attempts) for q in batch], found.error)
            return found
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
    return Call(query.query_id, "unasked", 0.0, attempts=0, error=breaker.told)


def _no_progress(done: int, total: int) -> None:
    """Tell nobody."""
