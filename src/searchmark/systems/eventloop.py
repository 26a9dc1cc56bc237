"""An event loop in a thread of its own, for code under test that can only be awaited."""

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Lock, Thread
from types import TracebackType
from typing import Any, TypeVar

from searchmark.errors import SystemTimeoutError, described

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

GRACE_S = 5.0
"""For so long tasks may end themselves once they are cancelled; then they are left behind."""


class EventLoop:
    """Runs coroutines from any thread on one loop; a context manager.

    One loop for all calls: clients that keep connections belong to the loop they were first used
    on. The thread starts with the first call, so that a system that never waits costs none.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._work, daemon=True, name="searchmark-async")
        self._loop.set_exception_handler(_tell)
        self._starting = Lock()
        self._is_over = False

    def run(self, work: Coroutine[Any, Any, _T], timeout_s: float | None = None) -> _T:
        """Return what the coroutine returns, or raise what it raises; cancel it at the limit."""
        with self._starting:
            if not self._thread.is_alive():
                self._thread.start()
        future: Future[_T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            wait([future], timeout_s)
            if not future.done():
                raise SystemTimeoutError(f"no answer within {timeout_s:g} s")
            return future.result()
        finally:  # Ctrl-C cancels it too
            future.cancel()

    def __enter__(self) -> "EventLoop":
        """Return the loop."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancel what still runs, and close the loop; one that a task blocks is left behind."""
        if not self._thread.is_alive():
            self._loop.close()
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        self._thread.join(2 * GRACE_S)

    def _work(self) -> None:
        """Run the loop till the end: neither ``stop()`` nor ``exit()`` in a task is the end."""
        while not self._is_over and not self._loop.is_closed():
            with suppress(BaseException):  # the task that raised it has it too
                self._loop.run_forever()
        self._loop.close()

    async def _end(self) -> None:
        """Cancel all other tasks, and stop the loop."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        try:
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=GRACE_S)
            await self._loop.shutdown_asyncgens()
        finally:
            self._is_over = True
            self._loop.stop()


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell what a task that nobody waits for raised, on one line."""
    error = context.get("exception")
    what = context.get("message", "an error on the event loop")
    _log.warning("%s%s", what, "" if error is None else f" ({described(error)})")
