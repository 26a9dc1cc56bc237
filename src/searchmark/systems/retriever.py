"""A retriever of a library, in a module of the user's own: found or made, and asked."""

import inspect
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.errors import InputError, SystemTimeoutError, failure_text
from searchmark.systems.eventloop import EventLoop
from searchmark.systems.guard import guarded
from searchmark.systems.imported import OPEN_S, import_object


class Retriever(NamedTuple):
    """The object, the loop that it is awaited on, and the digest of its module."""

    value: Any
    loop: EventLoop
    identity: dict[str, str]

    def ask(self, methods: tuple[str, str], value: Any, *given: Any, **named: Any) -> Any:
        """Return what the first of two methods gives, or the async one where that is not there.

        `value` is the object, or a copy of it. What must be awaited is.
        """
        plain, waiting = methods
        if not hasattr(value, plain):
            return self._finished(getattr(value, waiting)(*given, **named))
        try:
            return self._finished(getattr(value, plain)(*given, **named))
        except NotImplementedError:  # written for async alone
            if not hasattr(value, waiting):
                raise
        return self._finished(getattr(value, waiting)(*given, **named))

    def _finished(self, found: object) -> object:
        return self.loop.run(_awaited(found)) if inspect.isawaitable(found) else found


@contextmanager
def open_retriever(
    reference: str, *, library: str, methods: tuple[str, str], system: str, folder: Path
) -> Iterator[Retriever]:
    """Import the retriever, or what makes it, which may be async."""
    found = import_object(
        reference, key="retriever", system=system, folder=folder, makes=methods[1]
    )
    with EventLoop() as loop:
        value = found.value
        if inspect.isawaitable(value):
            value = _made(value, loop, f"the retriever '{reference}' of system '{system}'")
        if not any(hasattr(value, method) for method in methods):
            raise InputError(
                f"'{reference}' of system '{system}' is no {library}: "
                f"{type(value).__name__} has no method {methods[0]}"
            )
        yield Retriever(value, loop, found.identity)


def _made(value: Awaitable[Any], loop: EventLoop, told: str) -> Any:
    try:
        return loop.run(_awaited(value), OPEN_S)
    except KeyboardInterrupt:
        raise
    except SystemTimeoutError:
        raise SystemTimeoutError(f"{told} made nothing within {OPEN_S:g} s") from None
    except BaseException as error:  # whatever it does while it opens
        raise InputError(f"{told} made nothing ({failure_text(error)})") from error


async def _awaited(found: Awaitable[Any]) -> Any:
    with guarded():
        return await found
