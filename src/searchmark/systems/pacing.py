"""When calls of one system may start: evenly spaced, and not while it wants to be left alone."""

from collections.abc import Callable
from dataclasses import dataclass
from random import uniform
from threading import Event, Lock
from time import perf_counter

from searchmark.errors import SystemFailedError


@dataclass(frozen=True, slots=True)
class Clock:
    """Where time and chance come from; `wait` returns early, with True, where the event is set."""

    now: Callable[[], float] = perf_counter
    wait: Callable[[Event, float], object] = Event.wait
    uniform: Callable[[float, float], float] = uniform


class Pace:
    """The moments at which calls may start, shared by all threads that call one system."""

    def __init__(self, rate_per_s: float | None, clock: Clock) -> None:
        self._interval = 0.0 if rate_per_s is None else 1.0 / rate_per_s
        self._clock = clock
        self._closed = Event()
        self._lock = Lock()
        self._next = 0.0
        self._pause_end = 0.0

    def wait(self) -> None:
        """Return when a call may start; each gets a moment of its own."""
        if not self._interval and not self._pause_end:
            return
        while True:
            with self._lock:
                now = self._clock.now()
                start = max(now, self._next, self._pause_end)
                self._next = start + self._interval
            self.sleep(start - now)
            if start >= self._pause_end:  # or else a pause began while this one waited
                return

    def pause(self, seconds: float) -> None:
        """Let no call start for so long."""
        with self._lock:
            self._pause_end = max(self._pause_end, self._clock.now() + seconds)

    def sleep(self, seconds: float) -> None:
        """Wait; raise where the system is closed meanwhile."""
        if seconds > 0 and self._clock.wait(self._closed, seconds):
            raise SystemFailedError("was closed while a call waited for its turn")

    def close(self) -> None:
        """Wake all that wait."""
        self._closed.set()
