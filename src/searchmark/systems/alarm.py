"""A time limit for one step of code under test, in the thread that takes it where that is possible.

What is opened in a thread may be of use in that thread alone, as SQLite's connections are. So where
the main thread takes the step, a signal ends it there; another thread has it done by a third.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import TypeVar

from searchmark.errors import SystemTimeoutError
from searchmark.systems.guard import abandon

T = TypeVar("T")

AGAIN_S = 1.0
"""Code that catches what the alarm raises hears it again after this time."""


def within(seconds: float, step: Callable[[], T]) -> T:
    """Return what the step returns; raise SystemTimeoutError where it takes longer."""
    if current_thread() is main_thread() and hasattr(signal, "setitimer"):
        with _alarm(seconds):
            return step()
    return _aside(seconds, step)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise late(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGALRM) is ring:  # or else the step has taken it over
            signal.setitimer(signal.ITIMER_REAL, left, every)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


def _aside(seconds: float, step: Callable[[], T]) -> T:
    """Take the step in a thread of its own, which is left behind when it takes too long."""
    done: list[tuple[T, None] | tuple[None, BaseException]] = []

    def work() -> None:
        try:
            done.append((step(), None))
        except BaseException as error:
            done.append((None, error))

    thread = Thread(target=work, daemon=True, name="searchmark-step")
    thread.start()
    thread.join(seconds)
    if not done:
        abandon(thread.ident or 0)
        raise late(seconds)
    value, error = done[0]
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # it has one where there is no error


def late(seconds: float) -> SystemTimeoutError:
    """Return what is raised where a step takes longer."""
    return SystemTimeoutError(f"took longer than {seconds:g} s")
