"""How systems are really called: within their limits, again where that may help, and redacted.

Adapters make one attempt and say what went wrong. Here are time limit, circuit breaker, and what
becomes of errors; for arms of a hybrid too. `pacing` says when calls start, `retrying` which again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import local
from typing import Generic, NamedTuple, TypeVar

from searchmark.errors import (
    InputError,
    SystemDownError,
    SystemFailedError,
    SystemTimeoutError,
    described,
)
from searchmark.systems.pacing import LONGEST_SILENCE_S, Clock, Pace
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, BatchSystem, Query, System
from searchmark.systems.redaction import redact_error
from searchmark.systems.retrying import LONGEST_REQUEST_S, Tries
from searchmark.systems.secrets import Secrets
from searchmark.systems.timelimit import TimeLimit

LONGEST_TOLD = 1000
"""Characters of an error that are kept: what an exception holds may be a whole page."""

T = TypeVar("T")


class _Thread(local):
    """Of a thread: in how many calls it is, one inside the other, as a hybrid asks its arms.

    And the seconds that it spent in calls beyond their last attempts: waits and retries.
    """

    n_calls: int = 0
    waited: float = 0.0


_HERE = _Thread()


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T]):
    """One attempt: what it gave or raised, how long it took, and when it began."""

    value: T | None
    error: BaseException | None
    seconds: float
    begin: float = 0.0


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """What the last attempt gave, its seconds, which attempt it was, and when it began."""

    value: T
    seconds: float
    attempts: int
    begin: float


class CalledSystem:
    """A system with the limits of its calls; `inner` is the one that answers.

    Answers say how long the last attempt took, without waits, unless the system measured that
    itself, and how many attempts there were. Whatever fails is a SystemFailedError that says so
    too; only InputError and KeyboardInterrupt pass. After `stop_after` failed calls in a row, or
    where it has refused all calls for too long, it is not asked again: each further call is a
    SystemDownError with the last message.
    """

    def __init__(
        self,
        inner: System,
        calls: CallPolicy,
        secrets: Secrets,
        *,
        keeps_time: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.inner, self.calls = inner, calls
        self._secrets, self._clock = secrets, clock or Clock()
        self._pace = Pace(calls.rate_per_s, self._clock, calls.concurrency)
        self._n_failed_in_row = 0
        self._down: _Down | None = None
        self._limit: TimeLimit | None = None
        if calls.timeout_s is not None and not keeps_time:
            self._limit = TimeLimit(inner.name, calls.timeout_s, calls.concurrency)

    @property
    def name(self) -> str:
        """The system's name."""
        return self.inner.name

    @property
    def secrets(self) -> Secrets:
        """What is kept out of whatever is told of it."""
        return self._secrets

    @property
    def tags(self) -> frozenset[str]:
        """The system's tags."""
        return self.inner.tags

    @property
    def identity(self) -> Mapping[str, str]:
        """The system's identity."""
        return self.inner.identity

    def search(self, query: Query, k: int) -> Answer:
        """Return the answer of the first attempt that went well."""
        done = self._tried(lambda: _checked(self.inner.search(query, k)), self._tries())
        return _noted(done.value, done)

    def call(self, call: Callable[[], T]) -> T:
        """Return what another call of the same system gives, within the same limits."""
        return self._tried(call, self._tries()).value

    def close(self) -> None:
        """Let calls that wait fail at once; the system itself is closed by who opened it."""
        self._pace.close()
        if self._limit is not None:
            self._limit.close()

    def _tries(self) -> Tries:
        return Tries(self.calls.retries, self._pace)

    def _tried(self, call: Callable[[], T], tries: Tries, made: int = 0) -> _Done[T]:
        """Make attempts until one goes well or no further one would help; `made` were before."""
        start = self._clock.now()
        while True:
            attempt = self._attempt(call, tries.ticket)
            made += 1
            if attempt.error is None:
                break
            failure = self._failure(attempt.error, made, attempt.seconds)
            delay = tries.delay(failure, attempt.begin)
            if delay is None:
                self._note_waits(start, attempt.seconds)
                raise self._given_up(failure) from None
            self._pace.sleep(delay)
        self._note_waits(start, attempt.seconds)
        self._n_failed_in_row = 0
        self._pace.served()
        value: T = attempt.value  # type: ignore[assignment]  # it has one
        return _Done(value, attempt.seconds, made, attempt.begin)

    def _given_up(self, failure: SystemFailedError) -> SystemFailedError:
        """Return the failure of a call, with the word that no call gets through any more."""
        if self._pace.is_silent and (failure.busy or failure.after_s is not None):
            told = f"{failure}; it has refused every call for {LONGEST_SILENCE_S:g} s"
            silent = SystemFailedError(told, busy=failure.busy, after_s=failure.after_s)
            silent.attempts, silent.latency_ms = failure.attempts, failure.latency_ms
            self._down = _Down(told, f"after {LONGEST_SILENCE_S / 60:g} minutes of refusals")
            return silent
        self._note_failure(failure)
        return failure

    def _note_failure(self, failure: SystemFailedError) -> None:
        """Count it; threads that count at the same moment may lose one, which does no harm."""
        self._n_failed_in_row += 1
        if self._n_failed_in_row >= self.calls.stop_after:
            self._down = _Down(str(failure), in_row(self.calls.stop_after))

    def _note_waits(self, begin: float, seconds: float) -> None:
        """Tell a system that this one is an arm of what is none of its answering time."""
        _HERE.waited += self._clock.now() - begin - seconds

    def _attempt(self, call: Callable[[], T], ticket: int) -> _Attempt[T]:
        """Make one attempt in its turn, unless the system was given up meanwhile."""
        with self._pace.turn(ticket) as begin:
            if self._down is not None:
                raise _down(self._down)
            if self._limit is None:
                return replace(self._measured(call), begin=begin)
            made: list[_Attempt[T]] = []
            try:
                self._limit.run(lambda: made.append(self._measured(call)))
            except Exception as error:
                return _Attempt(None, error, self._clock.now() - begin, begin)
            return replace(made[0], begin=begin)

    def _measured(self, call: Callable[[], T]) -> _Attempt[T]:
        waited, start = _HERE.waited, self._clock.now()
        value = error = None
        _HERE.n_calls += 1
        try:
            value = call()
        except BaseException as raised:
            error = raised
        finally:
            _HERE.n_calls -= 1
        seconds = self._clock.now() - start - (_HERE.waited - waited)
        return _Attempt(value, error, max(seconds, 0.0))

    def _failure(self, error: BaseException, attempts: int, seconds: float) -> SystemFailedError:
        """Return what is told of an error; what is no failure of this call is raised."""
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(error, InputError):
            raise redact_error(error, self._secrets)
        failure = _as_failure(error, self._secrets)
        failure.attempts, failure.latency_ms = attempts, seconds * 1000.0
        return failure


class CalledBatchSystem(CalledSystem):
    """The same for a system that answers several queries in one call."""

    inner: BatchSystem

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        """Return each query's answer or failure; those that may go well later are asked again.

        Raises where the whole call failed. The latency of each is that of its whole call.
        """
        found: dict[int, Answer | SystemFailedError] = {}
        left, made, whole = list(range(len(queries))), 0, self._tries()
        tries = [self._tries() for _ in queries]
        while left:
            asked = [queries[i] for i in left]
            try:
                done = self._tried(partial(self._many, asked, k), whole, made)
            except SystemFailedError as error:
                if not found:
                    raise
                found.update(dict.fromkeys(left, error))  # what came before is kept
                break
            made = done.attempts
            delays: dict[int, float] = {}
            for i, given in zip(left, done.value, strict=True):
                if isinstance(given, Answer):
                    found[i] = _noted(given, done)
                    continue
                found[i] = failure = self._failure(given, made, done.seconds)
                if (delay := tries[i].delay(failure, done.begin)) is not None:
                    delays[i] = delay
            left = list(delays)
            self._pace.sleep(max(delays.values(), default=0.0))
        return [found[i] for i in range(len(queries))]

    def _many(self, queries: Sequence[Query], k: int) -> list[Answer | BaseException]:
        """Ask once; an answer that is none is that query's failure."""
        given = self.inner.search_many(queries, k)
        if not isinstance(given, list) or len(given) != len(queries):
            told = len(given) if isinstance(given, list) else type(given).__name__
            raise SystemFailedError(f"{told} answers came to a batch of {len(queries)} queries")
        return [g if isinstance(g, BaseException) else _answer_or_failure(g) for g in given]


def called(
    inner: System,
    calls: CallPolicy,
    secrets: Secrets,
    *,
    keeps_time: bool = False,
    clock: Clock | None = None,
) -> CalledSystem:
    """Return a system that holds the limits of its calls."""
    is_batch = callable(getattr(inner, "search_many", None))
    kind = CalledBatchSystem if is_batch else CalledSystem
    return kind(inner, calls, secrets, keeps_time=keeps_time, clock=clock)


class _Down(NamedTuple):
    """Why a system is not asked any more, and the last error."""

    last: str
    why: str


def _down(down: _Down) -> SystemDownError:
    error = SystemDownError(down.last)
    error.why, error.attempts, error.latency_ms = down.why, 0, 0.0
    return error


def in_row(n: int) -> str:
    """Return when a system is given up that fails again and again."""
    return f"after {n} failed queries in a row" if n > 1 else "after a failed query"


def _noted(answer: Answer, done: _Done[T]) -> Answer:
    took: float | None = None
    if not _HERE.n_calls:  # an arm's answer may be passed on, and its latency is not the whole's
        own = answer.latency_ms  # of a program: from its start to its end
        took = done.seconds * 1000.0 if own is None else own
    return replace(answer, latency_ms=took, attempts=done.attempts)


def _checked(answer: object) -> Answer:
    if not isinstance(answer, Answer):
        raise SystemFailedError(f"gave a {type(answer).__name__} where an Answer is expected")
    return answer


def _answer_or_failure(given: object) -> Answer | SystemFailedError:
    try:
        return _checked(given)
    except SystemFailedError as error:
        return error


def _as_failure(error: BaseException, secrets: Secrets) -> SystemFailedError:
    """Return an error as this program tells it; what a lost connection caused may be retried."""
    kind = SystemTimeoutError if isinstance(error, TimeoutError) else SystemFailedError
    if not isinstance(error, SystemFailedError):
        return kind(secrets.excerpt(described(error), LONGEST_TOLD), retry=_is_of_connection(error))
    text, asked = secrets.excerpt(str(error), LONGEST_TOLD), error.after_s
    if asked is not None and asked > LONGEST_REQUEST_S:
        text += (
            f"; it asks to be left alone for {asked:,.0f} s, and more than "
            f"{LONGEST_REQUEST_S:g} s are not waited"
        )
    return kind(text, retry=error.retry, after_s=asked, busy=error.busy)


def _is_of_connection(error: BaseException) -> bool:
    """Tell whether a lost or refused connection is at the root of an error, as clients wrap it."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, ConnectionError):
            return True
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return False
