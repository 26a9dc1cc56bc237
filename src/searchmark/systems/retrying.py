"""Which failed calls are made again, and after what wait: one rule for all that is called."""

from collections.abc import Callable
from typing import TypeVar

from searchmark.errors import SystemFailedError
from searchmark.systems.pacing import Clock, Pace, longest_backoff

LONGEST_REQUEST_S = 120.0
"""A system that asks to be left alone for longer is not waited for."""

LONGEST_REFUSED_S = 600.0
"""A call that is refused for so long, while others get through, has failed."""

T = TypeVar("T")


class Tries:
    """The attempts of one call: how many failed, and since when it is refused."""

    def __init__(self, retries: int, pace: Pace) -> None:
        self.ticket = pace.ticket()
        self._retries, self._pace = retries, pace
        self._n_failed = 0
        self._refused_since: float | None = None

    def delay(self, failure: SystemFailedError, begin: float) -> float | None:
        """Return how long to wait before the next attempt; None where there is none.

        `begin` is when the failed one began. A refusal, which asks for fewer calls, is none of the
        failures that `retries` counts: all calls wait then, and it is made again in its turn.
        """
        asked = failure.after_s
        if asked is not None and asked > LONGEST_REQUEST_S:
            return None
        is_refusal = failure.busy or asked is not None
        if is_refusal:
            self._pace.refused(begin, max(asked or 0.0, 0.0))
        if not failure.retry or not self._retries:
            return None
        if is_refusal:
            return None if self._is_hopeless() else 0.0
        self._n_failed += 1
        if self._n_failed > self._retries:
            return None
        return self._pace.clock.uniform(0.0, longest_backoff(self._n_failed))

    def _is_hopeless(self) -> bool:
        now = self._pace.clock.now()
        if self._refused_since is None:
            self._refused_since = now
        return self._pace.is_silent or now - self._refused_since > LONGEST_REFUSED_S


def again(call: Callable[[], T], retries: int, clock: Clock | None = None) -> T:
    """Call until it goes well or no further attempt would help."""
    pace = Pace(None, clock or Clock())
    tries = Tries(retries, pace)
    while True:
        with pace.turn(tries.ticket) as begin:
            try:
                return call()
            except SystemFailedError as error:
                delay = tries.delay(error, begin)
                if delay is None:
                    raise
        pace.sleep(delay)
