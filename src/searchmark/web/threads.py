"""Threads for work that must not hold up the event loop, and must not hold up the end either."""

from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_Task = tuple[Future[Any], Callable[[], Any]]


class Threads:
    """A number of daemon threads; what still runs when the program ends is left behind."""

    def __init__(self, n: int, name: str) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._n = n
        for _ in range(n):
            Thread(target=self._work, name=f"searchmark-{name}", daemon=True).start()

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Return what the call will give; cancelled before its turn it is never made."""
        future: Future[T] = Future()
        self._tasks.put((future, call))
        return future

    def close(self) -> None:
        """End the threads when they have done what was given to them."""
        for _ in range(self._n):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, call = task
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del task, future, call  # nothing is kept till the next one comes
