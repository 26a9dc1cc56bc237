"""A time limit for calls that keep none: made in a thread that is left behind when it is over."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread, get_ident

from searchmark.errors import SystemFailedError, SystemTimeoutError
from searchmark.systems.guard import abandon

MOST_LEFT = 16
"""So many calls beside those under way may run on behind their limit before no more are made."""


class _Task:
    """One call: made in one thread, waited for in another."""

    __slots__ = ("done", "ended", "left", "make", "thread")

    def __init__(self, make: Callable[[], None]) -> None:
        self.make, self.done, self.left, self.ended = make, Event(), False, False
        self.thread: int | None = None


class TimeLimit:
    """Makes calls in threads of its own, which are used again.

    A thread cannot be ended from outside. So one whose call takes too long goes on by itself, and
    what it brings is dropped; where too many of them pile up further calls are refused.
    """

    def __init__(self, name: str, timeout_s: float, concurrency: int) -> None:
        self._name, self._timeout_s = name, timeout_s
        self._most_left = concurrency + MOST_LEFT
        self._idle: list[SimpleQueue[_Task | None]] = []
        self._lock = Lock()
        self._n_left = 0
        self._is_closed = False

    def run(self, make: Callable[[], None]) -> None:
        """Return when `make` has returned, which must not raise; raise when it takes too long."""
        if self._n_left >= self._most_left:
            raise SystemFailedError(
                f"{self._n_left} calls of '{self._name}' are still running long after their time "
                "limit; no more are made until one ends"
            )
        task = _Task(make)
        self._thread().put(task)
        try:
            if task.done.wait(self._timeout_s):
                return
        finally:  # Ctrl-C leaves a call behind just so
            self._leave(task)
        if task.left:
            raise SystemTimeoutError(f"no answer within {self._timeout_s:g} s")

    def close(self) -> None:
        """End the threads that have nothing to do."""
        with self._lock:
            self._is_closed = True
            for inbox in self._idle:
                inbox.put(None)
            self._idle.clear()

    def _leave(self, task: _Task) -> None:
        with self._lock:
            if not task.ended:
                task.left = True
                self._n_left += 1
                if task.thread is not None:
                    abandon(task.thread)  # its streams are the program's own again

    def _thread(self) -> "SimpleQueue[_Task | None]":
        """Return where an idle thread, or a new one, takes its work from."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        inbox: SimpleQueue[_Task | None] = SimpleQueue()
        name = f"searchmark-{self._name}"
        Thread(target=self._work, args=(inbox,), name=name, daemon=True).start()
        return inbox

    def _work(self, inbox: "SimpleQueue[_Task | None]") -> None:
        while (task := inbox.get()) is not None:
            task.thread = get_ident()
            if not task.left:
                task.make()
            with self._lock:
                task.ended = True
                self._n_left -= task.left
                if not self._is_closed:
                    self._idle.append(inbox)
                closed = self._is_closed
            task.done.set()
            del task  # what it holds is not kept till the next one comes
            if closed:
                return
