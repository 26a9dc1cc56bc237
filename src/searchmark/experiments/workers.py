"""Jobs worked off by several threads that never keep the program from ending."""

from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, LifoQueue, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

J = TypeVar("J")
R = TypeVar("R")

GRACE_S = 2.0
"""How long results of jobs that are under way are waited for once no more are handed out."""

_TICK_S = 0.5  # Windows tells of Ctrl-C only between two waits


class _Raised(NamedTuple):
    error: BaseException


class Workers(Generic[J, R]):
    """Does `work` on jobs in `n` daemon threads, or right here where `n` is 1.

    `concurrent.futures` would not do: its threads are waited for when the program ends, also when
    one of them hangs in a system that never answers.
    """

    def __init__(self, work: Callable[[J], R], jobs: Sequence[J], n: int) -> None:
        self._work = work
        self._jobs: LifoQueue[J | None] = LifoQueue()
        self._results: SimpleQueue[R | _Raised] = SimpleQueue()
        self._n_threads = min(n, len(jobs))
        self._n_expected = 0
        self._ends: float | None = None
        self.add(jobs)

    def add(self, jobs: Sequence[J]) -> None:
        """Hand out more jobs, in their order and before those that wait."""
        if self._ends is None:
            self._n_expected += len(jobs)
            for job in reversed(jobs):
                self._jobs.put(job)

    def stop(self) -> None:
        """Hand out no more; what is under way is waited for a moment longer."""
        if self._ends is None:
            self._ends = monotonic() + GRACE_S
        self._n_expected -= self._drop()

    def results(self) -> Generator[R, None, None]:
        """Yield results in the order in which they come; what a job raises is raised."""
        if self._n_threads <= 1:
            yield from self._here()
            return
        for number in range(self._n_threads):
            Thread(target=self._run, name=f"searchmark-{number}", daemon=True).start()
        try:
            yield from self._collected()
        finally:
            self._drop()
            for _ in range(self._n_threads):
                self._jobs.put(None)

    def _here(self) -> Iterator[R]:
        while self._n_expected:
            job = self._jobs.get()
            self._n_expected -= 1
            yield self._work(job)  # type: ignore[arg-type]  # None ends threads, and there are none

    def _collected(self) -> Iterator[R]:
        while self._n_expected > 0:
            if self._ends is not None and monotonic() > self._ends:
                return
            try:
                result = self._results.get(timeout=_TICK_S if self._ends is None else 0.05)
            except Empty:
                continue
            self._n_expected -= 1
            if isinstance(result, _Raised):
                raise result.error
            yield result

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._results.put(self._work(job))
            except BaseException as error:  # raised again where results are taken
                self._results.put(_Raised(error))

    def _drop(self) -> int:
        """Take back the jobs that nobody has taken yet, and return how many."""
        n = 0
        try:
            while True:
                self._jobs.get_nowait()
                n += 1
        except Empty:
            return n
