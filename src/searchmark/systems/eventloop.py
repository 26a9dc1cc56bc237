"""An event loop in a thread of its own, for code under test that can only be awaited."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

_T = TypeVar("_T")


class EventLoop:
    """Runs coroutines from any thread on one loop; a context manager.

    One loop for all calls: clients that keep connections belong to the loop they were first used
    on. The thread starts with the first call, so that a system that never waits costs none.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True, name="searchmark-async")

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return what the coroutine returns, or raise what it raises."""
        if not self._thread.is_alive():
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __enter__(self) -> "EventLoop":
        """Return the loop."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancel what still runs, and close the loop."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
