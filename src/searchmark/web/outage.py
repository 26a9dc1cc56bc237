"""A catalog that is away: one request looks for it, the others need not wait for the answer."""

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import TypeVar

from searchmark.errors import OutsideError, SystemFailedError

T = TypeVar("T")

PAUSE_S = 1.0


AWAY = {"OperationalError", "InterfaceError"}
"""What psycopg raises where the server cannot be reached, among other reasons."""

STATES = ("08", "53", "57P", "58", "XX")
"""Beginnings of the SQLSTATEs of a server that is of no use to anybody; others are one search's."""


class Outage:
    """Calls go through until one finds the catalog away; then one at a time, and the others fail.

    One that goes well, or fails for a reason of its own, ends the outage. A second passes between
    two that look for it.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._error: OutsideError | None = None
        self._next_at = 0.0
        self._is_tried = False

    def call(self, ask: Callable[[], T]) -> T:
        """Return what `ask` gives, or raise the error that others ran into."""
        is_looking = self._enter()
        try:
            found = ask()
        except OutsideError as error:
            self._leave(error if is_away(error) else None, is_looking=is_looking)
            raise
        except BaseException:
            self._leave(None, is_looking=is_looking)
            raise
        self._leave(None, is_looking=is_looking)
        return found

    def _enter(self) -> bool:
        """Tell whether this call is the one that looks for the catalog."""
        with self._lock:
            if self._error is None:
                return False
            if self._is_tried or self._clock() < self._next_at:
                raise OutsideError(str(self._error))
            self._is_tried = True
            return True

    def _leave(self, error: OutsideError | None, *, is_looking: bool) -> None:
        with self._lock:
            self._error = error
            self._next_at = self._clock() + PAUSE_S
            if is_looking:
                self._is_tried = False


def is_away(error: OutsideError) -> bool:
    """Tell whether any other request would fail just so: no connection, or a lost one."""
    if isinstance(error, SystemFailedError):
        return False
    cause = error.__cause__
    if cause is None:
        return True
    state = getattr(cause, "sqlstate", None)
    is_lost = bool(AWAY & {c.__name__ for c in type(cause).__mro__})
    return is_lost and (state is None or state.startswith(STATES))
