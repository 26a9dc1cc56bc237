"""Clients of the user's own that have a life: made, entered, and closed at the end."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from searchmark.errors import SystemFailedError, SystemTimeoutError, failure_text
from searchmark.systems.alarm import late, within
from searchmark.systems.eventloop import EventLoop
from searchmark.systems.guard import guarded
from searchmark.systems.imported import OPEN_S

CLOSE_S = 30.0
"""For so long a client may take to close."""


@contextmanager
def living(make: Callable[[], Any], loop: EventLoop, name: str) -> Iterator[Any]:
    """Give what `make` gives, entered where it is a context manager, and close it at the end.

    What it does while it opens, works or closes is code under test, on the loop where it is async.
    `name` is the system's, for what is told of its end.
    """

    def run(step: Callable[[], Any], seconds: float) -> Any:
        def guarded_step() -> Any:
            with guarded():
                return step()

        found = within(seconds, guarded_step)
        if not inspect.isawaitable(found):
            return found
        try:
            return loop.run(_finished(found), seconds)
        except SystemTimeoutError:
            raise late(seconds) from None

    def closing(close: Callable[..., Any]) -> Callable[..., bool]:
        return _closing(name, lambda *error: run(lambda: close(*error), CLOSE_S))

    made = run(make, OPEN_S)
    with ExitStack() as stack:
        enter, leave = _life_of(made)
        if leave is not None:
            stack.push(closing(leave))
        yield made if enter is None else run(enter, OPEN_S)


def _life_of(made: Any) -> tuple[Callable[[], Any] | None, Callable[..., Any] | None]:
    """Return what opens a client and what closes it, where there are such."""
    for enter, leave in (("__aenter__", "__aexit__"), ("__enter__", "__exit__")):
        if hasattr(type(made), enter):
            return getattr(made, enter), getattr(made, leave)
    close = getattr(made, "aclose", None) or getattr(made, "close", None)
    return None, (lambda *_: close()) if callable(close) else None


async def _finished(found: Awaitable[Any]) -> Any:
    with guarded():
        return await found


def _closing(name: str, close: Callable[..., Any]) -> Callable[..., bool]:
    """Return what closes a client; that it cannot be closed is told where nothing else is wrong."""

    def end(*error: Any) -> bool:
        is_well = sys.exc_info()[0] is None
        try:
            close(*error)
        except KeyboardInterrupt:
            raise
        except BaseException as broken:
            if is_well:
                told = f"system '{name}' could not be closed ({failure_text(broken)})"
                raise SystemFailedError(told) from broken
        return False

    return end
