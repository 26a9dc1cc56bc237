"""Clients of the user's own that have a life: made, entered, and closed at the end."""

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from searchmark.errors import SystemFailedError, described
from searchmark.systems.eventloop import EventLoop
from searchmark.systems.guard import guarded

LONGEST_S = 60.0
"""For so long a client may take to open, and to close, where it must be awaited."""


@contextmanager
def living(make: Callable[[], Any], loop: EventLoop) -> Iterator[Any]:
    """Give what `make` gives, entered where it is a context manager, and close it at the end.

    What it does while it opens, works or closes is code under test, on the loop where it is async.
    """

    def run(step: Callable[[], Any]) -> Any:
        with guarded():
            found = step()
            if not inspect.isawaitable(found):
                return found
        return loop.run(_finished(found), LONGEST_S)

    made = run(make)
    with ExitStack() as stack:
        for enter, leave in (("__aenter__", "__aexit__"), ("__enter__", "__exit__")):
            if hasattr(type(made), enter):
                at_end = getattr(made, leave)
                stack.push(_closing(lambda *error, end=at_end: run(lambda: end(*error))))
                made = run(getattr(made, enter))
                break
        else:
            at_end = getattr(made, "aclose", None) or getattr(made, "close", None)
            if callable(at_end):
                stack.push(_closing(lambda *_, end=at_end: run(end)))
        yield made


async def _finished(found: Awaitable[Any]) -> Any:
    with guarded():
        return await found


def _closing(close: Callable[..., Any]) -> Callable[..., bool]:
    """Return what closes a client; that it cannot be closed is told where nothing else is wrong."""

    def end(*error: Any) -> bool:
        is_well = sys.exc_info()[0] is None
        try:
            close(*error)
        except Exception as broken:
            if is_well:
                raise SystemFailedError(f"could not be closed ({described(broken)})") from broken
        return False

    return end
