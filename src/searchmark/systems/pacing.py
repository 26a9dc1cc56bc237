"""When calls of one system may start: one after the other, evenly spaced, and not while it rests.

A system that limits its rate refuses what comes too early. It is then left alone by all calls for a
while, fewer are made at once, and those that have waited longest come first.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heapify, heappush
from itertools import count
from math import inf
from random import uniform
from threading import Condition, Event
from time import perf_counter

from searchmark.errors import SystemFailedError

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.5, 30.0
"""The n-th wait is drawn from 0 to 0.5 * 2^(n-1) seconds, 30 at most ("full jitter")."""

LONGEST_REST_S = 5.0
"""A system that refuses calls and does not say for how long is asked again after this, at most."""

SHORTEST_REST_S = 0.02
"""A system that asks for less is left alone for this long."""

GROWTH = 1.25
"""How much longer it is left alone after each further refusal with no answer between."""

LONGEST_SILENCE_S = 300.0
"""A system that has refused every call for so long is no healthy one that limits its rate."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Where time and chance come from; `wait` returns early, with True, where the event is set."""

    now: Callable[[], float] = perf_counter
    wait: Callable[[Event, float], object] = Event.wait
    uniform: Callable[[float, float], float] = uniform


def longest_backoff(attempt: int) -> float:
    """Return the longest wait after the n-th failure in a row."""
    return min(FIRST_BACKOFF_S * 2.0 ** (min(attempt, 60) - 1), LONGEST_BACKOFF_S)


class Pace:
    """The moments at which calls may start, shared by all threads that call one system.

    No more than `concurrency` are under way. After a refusal half as many are, one at least, and
    with each answer their number grows again.
    """

    def __init__(self, rate_per_s: float | None, clock: Clock, concurrency: int = 1) -> None:
        self.clock = clock
        self._interval = 0.0 if rate_per_s is None else 1.0 / rate_per_s
        self._closed = Event()
        self._changed = Condition()
        self._tickets = count()
        self._waiting: list[int] = []
        self._most, self._allowed = concurrency, float(concurrency)
        self._n_under_way = 0
        self._next = 0.0
        self._n_refused = 0
        self._pause_begin, self._pause_end = -inf, 0.0
        self._silent_since: float | None = None

    def ticket(self) -> int:
        """Return a call's place in the row, which it keeps when it is made again."""
        return next(self._tickets)

    @contextmanager
    def turn(self, ticket: int) -> Iterator[float]:
        """Wait until an attempt may start, and give the moment at which it does."""
        begin = self._started(ticket)
        try:
            yield begin
        finally:
            with self._changed:
                self._n_under_way -= 1
                self._changed.notify_all()

    def _started(self, ticket: int) -> float:
        with self._changed:
            heappush(self._waiting, ticket)
            try:
                begin = self._awaited(ticket)
            finally:
                self._waiting.remove(ticket)
                heapify(self._waiting)
                self._changed.notify_all()
            self._n_under_way += 1
            return begin

    def _awaited(self, ticket: int) -> float:
        """Return when the ticket is the first of the row and its moment has come."""
        due: float | None = None
        while True:
            if self._closed.is_set():
                raise _closed()
            if self._waiting[0] != ticket or self._n_under_way >= int(self._allowed):
                self._changed.wait()
                continue
            now, start = self.clock.now(), max(self._next, self._pause_end)
            if start <= now:
                self._next = (start if start == due else now) + self._interval
                return now
            due = start
            self._aside(start - now)

    def _aside(self, seconds: float) -> None:
        """Wait with the lock open, so that calls can end and an older one can come first."""
        self._changed.release()
        try:
            self.sleep(seconds)
        finally:
            self._changed.acquire()

    def served(self) -> None:
        """Note that a call got through."""
        if self._silent_since is None and self._allowed >= self._most:
            return
        with self._changed:
            self._n_refused, self._silent_since = 0, None
            self._allowed = min(float(self._most), self._allowed + 1.0 / self._allowed)
            self._changed.notify_all()

    def refused(self, begin: float, asked: float = 0.0) -> None:
        """Let no call start for as long as the system asked; `begin` is when the refused one did.

        What was under way when the pause began is refused for the same reason: it counts once.
        """
        with self._changed:
            now = self.clock.now()
            if begin > self._pause_begin:
                self._n_refused += 1
                self._allowed = max(1.0, self._allowed / 2)
                self._pause_begin = now
            if self._silent_since is None:
                self._silent_since = now
            self._pause_end = max(self._pause_end, now + self._rest(asked))

    def _rest(self, asked: float) -> float:
        """Return the time that was asked for and a little more, so that programs come apart.

        What is refused again after that time waits longer, up to the longest rest.
        """
        if asked > 0:
            grown = max(asked, SHORTEST_REST_S) * GROWTH ** min(self._n_refused - 1, 100)
            rest = max(asked, min(grown, LONGEST_REST_S))
            return rest + self.clock.uniform(0.0, FIRST_BACKOFF_S * min(asked, 1.0))
        longest = min(longest_backoff(max(self._n_refused, 1)), LONGEST_REST_S)
        return self.clock.uniform(longest / 2, longest)

    @property
    def is_silent(self) -> bool:
        """Whether every call has been refused for too long."""
        since = self._silent_since
        return since is not None and self.clock.now() - since > LONGEST_SILENCE_S

    def sleep(self, seconds: float) -> None:
        """Wait; raise where the system is closed meanwhile."""
        if seconds > 0 and self.clock.wait(self._closed, seconds):
            raise _closed()

    def close(self) -> None:
        """Wake all that wait."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()


def _closed() -> SystemFailedError:
    return SystemFailedError("was closed while a call waited for its turn")
