"""Limits of calls: nothing here waits, as the clock and the waits are scripted."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from traceback import format_exception

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemDownError, SystemFailedError, SystemTimeoutError
from searchmark.systems.calling import CalledBatchSystem, CalledSystem, called
from searchmark.systems.pacing import Clock
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Entry, Hit, Query
from searchmark.systems.python import Config
from searchmark.systems.redaction import redact_error
from searchmark.systems.secrets import Secrets
from searchmark.systems.timelimit import MOST_LEFT, TimeLimit

from .clock import Time

QUERY = Query("q", "text")
ANSWER = Answer((Hit("a", 1.0),))


class Scripted:
    """Gives or raises what the script says, one after the other; a call takes `takes` seconds."""

    name = "api"
    tags = frozenset({"lexical"})
    identity: Mapping[str, str] = {"model": "m"}

    def __init__(self, time: Time, *script: Answer | BaseException, takes: float = 0.25) -> None:
        self.time, self.script, self.takes = time, list(script), takes
        self.starts: list[float] = []

    def search(self, query: Query, k: int) -> Answer:
        self.starts.append(self.time.at)
        self.time.at += self.takes
        given = self.script.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given


def wrapped(
    inner: Scripted, *, secrets: Mapping[str, str] | None = None, **limits: object
) -> CalledSystem:
    policy = CallPolicy(**limits)  # type: ignore[arg-type]
    return called(inner, policy, Secrets(secrets or {}), clock=inner.time.clock)


def failed(message: str = "503", **keys: object) -> SystemFailedError:
    return SystemFailedError(message, **keys)  # type: ignore[arg-type]


def test_what_a_system_is_passes_through() -> None:
    system = wrapped(Scripted(Time()))
    assert (system.name, system.tags, dict(system.identity)) == ("api", {"lexical"}, {"model": "m"})
    assert not hasattr(system, "search_many")


def test_what_can_be_retried_is_and_the_answer_says_so() -> None:
    time = Time()
    inner = Scripted(time, failed(retry=True), ConnectionResetError("gone"), ANSWER)
    answer = wrapped(inner, retries=3).search(QUERY, 5)
    assert answer.hits == ANSWER.hits
    assert answer.attempts == 3
    assert answer.latency_ms == 250.0  # the last attempt alone: no waits, no failed attempts
    assert time.waits == [0.5, 1.0]  # the longest that are drawn: 0.5 * 2^0, 0.5 * 2^1


def test_a_latency_that_an_adapter_measured_itself_counts() -> None:
    time = Time()
    own = Answer(
        (Hit("a", 1.0),), latency_ms=40.0, attempts=7
    )  # attempts are the caller's to count
    answer = wrapped(Scripted(time, own, takes=0.25)).search(QUERY, 5)
    assert (answer.latency_ms, answer.attempts) == (40.0, 1)


def test_a_wait_is_drawn_from_nothing_to_twice_the_one_before_but_never_more_than_30_s() -> None:
    time = Time()
    drawn: list[tuple[float, float]] = []

    def draw(low: float, high: float) -> float:
        drawn.append((low, high))
        return low

    inner = Scripted(time, *[failed(retry=True)] * 9)
    clock = Clock(now=lambda: time.at, wait=time.wait, uniform=draw)
    system = called(inner, CallPolicy(retries=8), Secrets({}), clock=clock)
    with pytest.raises(SystemFailedError):
        system.search(QUERY, 5)
    assert drawn[:8] == [(0.0, s) for s in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0)]


@pytest.mark.parametrize(
    "error",
    [
        failed("404"),
        SystemTimeoutError("no answer within 3 s"),
        ValueError("no list"),
        TimeoutError("slow"),
    ],
)
def test_what_would_fail_again_is_not_retried(error: BaseException) -> None:
    time = Time()
    inner = Scripted(time, error)
    with pytest.raises(SystemFailedError) as raised:
        wrapped(inner, retries=3).search(QUERY, 5)
    assert raised.value.attempts == 1
    assert raised.value.latency_ms == 250.0
    assert time.waits == []
    assert isinstance(raised.value, TimeoutError) == isinstance(error, TimeoutError)


def test_when_no_attempt_goes_well_the_last_error_is_told_with_their_number() -> None:
    inner = Scripted(Time(), failed("first", retry=True), failed("second", retry=True))
    with pytest.raises(SystemFailedError, match=r"^second$") as raised:
        wrapped(inner, retries=1).search(QUERY, 5)
    assert raised.value.attempts == 2


def test_a_lost_connection_is_seen_through_what_clients_make_of_it() -> None:
    class ClientError(Exception):
        pass

    wrapped_error = ClientError("cannot reach host")
    wrapped_error.__cause__ = ConnectionRefusedError("refused")
    inner = Scripted(Time(), wrapped_error, ANSWER)
    assert wrapped(inner, retries=1).search(QUERY, 5).attempts == 2


def test_retry_after_is_honoured_by_every_call_of_the_system() -> None:
    time = Time()
    inner = Scripted(time, failed("429", retry=True, after_s=7.0), ANSWER, ANSWER, takes=0.0)
    system = wrapped(inner, retries=1)
    assert system.search(QUERY, 5).attempts == 2
    # 7 s, and a first back-off on top, so that not all programs come back at one moment
    assert inner.starts == [100.0, 107.5]
    other = Scripted(time, failed("429", after_s=7.0), ANSWER, takes=0.0)
    system = wrapped(other)
    with pytest.raises(SystemFailedError):  # no retry is allowed, but the next call waits
        system.search(QUERY, 5)
    system.search(QUERY, 5)
    assert other.starts == [107.5, 115.0]


def test_a_429_that_names_no_time_holds_all_calls_back_for_a_moment() -> None:
    time = Time()
    inner = Scripted(time, failed("429", busy=True), ANSWER, takes=0.0)
    system = wrapped(inner)
    with pytest.raises(SystemFailedError):
        system.search(QUERY, 5)
    system.search(QUERY, 5)
    assert inner.starts == [100.0, 100.5]


def test_who_asks_for_hours_is_not_waited_for() -> None:
    time = Time()
    inner = Scripted(time, failed("429 from api", retry=True, after_s=3600.0))
    with pytest.raises(
        SystemFailedError,
        match=r"^429 from api; it asks to be left alone for 3,600 s, and more than 120 s are not",
    ):
        wrapped(inner, retries=5).search(QUERY, 5)
    assert time.waits == []


def test_calls_start_evenly_spaced() -> None:
    time = Time()
    inner = Scripted(time, *[ANSWER] * 4, takes=0.1)
    system = wrapped(inner, rate_per_s=4.0)
    answers = [system.search(QUERY, 5) for _ in range(3)]
    time.at += 10.0  # nobody asks for a while: that is no credit
    system.search(QUERY, 5)
    assert inner.starts == pytest.approx([100.0, 100.25, 100.5, 110.6])
    assert [a.latency_ms for a in answers] == pytest.approx([100.0] * 3)


def test_waiting_calls_fail_when_the_system_is_closed() -> None:
    inner = Scripted(Time(), failed(retry=True))
    system = called(inner, CallPolicy(retries=1), Secrets({}))  # a real clock, a real wait
    system.close()
    with pytest.raises(SystemFailedError, match="closed while a call waited"):
        system.search(QUERY, 5)


def test_the_waits_of_an_arm_are_no_latency_of_what_it_is_an_arm_of() -> None:
    time = Time()
    arm = wrapped(Scripted(time, failed(retry=True), ANSWER), retries=1)

    class Fused(Scripted):
        def search(self, query: Query, k: int) -> Answer:
            time.at += 0.125
            return arm.search(query, k)

    # 0.125 s of its own and 0.25 s of the arm's good attempt; not 0.25 s of the bad one, 0.5 s wait
    answer = wrapped(Fused(time)).search(QUERY, 5)
    assert (answer.latency_ms, answer.attempts) == (375.0, 1)


def test_secrets_stand_in_no_error() -> None:
    secrets = {"API_KEY": "hunter2-secret"}
    for error in (
        failed("http://x?key=hunter2-secret answered 500"),
        ValueError("hunter2-secret"),
        InputError("the key hunter2-secret is refused"),
    ):
        with pytest.raises((SystemFailedError, InputError)) as raised:
            wrapped(Scripted(Time(), error), secrets=secrets).search(QUERY, 5)
        assert "hunter2" not in str(raised.value)
        assert "${API_KEY}" in str(raised.value)


def test_an_error_while_opening_is_redacted_and_what_it_came_from_is_cut_off() -> None:
    secrets = Secrets({"API_KEY": "hunter2-secret"})
    plain = InputError("no such index", fix="make it")
    plain.__cause__ = OSError("refused")
    assert redact_error(plain, secrets) is plain
    assert plain.__cause__ is not None
    telling = InputError("no index at u:hunter2-secret@h", fix="look at u:hunter2-secret@h")
    telling.__cause__ = OSError("hunter2-secret")
    found = redact_error(telling, secrets)
    assert isinstance(found, InputError)
    assert "hunter2" not in f"{found} {found.what} {found.fix}"
    assert found.__cause__ is None
    other = redact_error(RuntimeError("hunter2-secret"), secrets)
    assert str(other) == "RuntimeError: ${API_KEY}"


def test_an_error_while_closing_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-secret")
    module = """
import os
class Client:
    def __call__(self, text, k): return ['d']
    def close(self): raise OSError('no ' + os.environ['MY_API_KEY'])
"""
    (tmp_path / "sm_calling_closes.py").write_text(module)
    entries = {"mine": Entry("mine", "python", Config(callable="sm_calling_closes:Client"))}
    corpus = Corpus(pl.DataFrame({"doc_id": ["d"], "text": ["red"]}))
    with (
        pytest.raises(SystemFailedError, match=r"could not be closed.*\$\{MY_API_KEY\}") as raised,
        Pool(entries, corpus, folder=tmp_path, cache=tmp_path) as pool,
    ):
        pool.open("mine")
    assert "hunter2" not in "".join(format_exception(raised.value))


def test_wrong_input_and_ctrl_c_pass() -> None:
    for error in (InputError("no such field"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            wrapped(Scripted(Time(), error), retries=3).search(QUERY, 5)


def test_a_system_that_fails_again_and_again_is_not_asked_any_more() -> None:
    time = Time()
    errors = [failed("one"), failed("two"), ANSWER, failed("three"), failed("four"), failed("five")]
    inner = Scripted(time, *errors, ANSWER)
    system = wrapped(inner, stop_after=3)
    for given in errors:
        if isinstance(given, Answer):
            system.search(QUERY, 5)  # after an answer the count begins anew
        else:
            with pytest.raises(SystemFailedError, match=str(given)):
                system.search(QUERY, 5)
    for _ in range(3):
        with pytest.raises(SystemDownError, match="five") as raised:
            system.search(QUERY, 5)
        assert raised.value.attempts == 0
    assert len(inner.starts) == 6


def test_what_is_no_answer_is_a_failure() -> None:
    inner = Scripted(Time(), ["a"])  # type: ignore[arg-type]
    with pytest.raises(SystemFailedError, match="gave a list where an Answer is expected"):
        wrapped(inner).search(QUERY, 5)


def test_no_more_calls_are_under_way_than_allowed() -> None:
    under_way, most = [0], [0]
    lock, both_in = threading.Lock(), threading.Barrier(2)

    class Slow(Scripted):
        def search(self, query: Query, k: int) -> Answer:
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            both_in.wait(20)  # with one at a time this would never go on
            with lock:
                under_way[0] -= 1
            return ANSWER

    system = called(Slow(Time()), CallPolicy(concurrency=2), Secrets({}))
    threads = [threading.Thread(target=system.search, args=(QUERY, 5)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most == [2]


class Stuck(Scripted):
    """Answers only when it is let go."""

    def __init__(self) -> None:
        super().__init__(Time())
        self.let_go = Event()

    def search(self, query: Query, k: int) -> Answer:
        if query.text == "stuck":
            self.let_go.wait(20)
        return ANSWER


def test_a_call_that_takes_too_long_is_left_behind() -> None:
    inner = Stuck()
    system = called(inner, CallPolicy(timeout_s=0.05), Secrets({}))
    with pytest.raises(SystemTimeoutError, match=r"^no answer within 0\.05 s$"):
        system.search(Query("q", "stuck"), 5)
    assert system.search(QUERY, 5).hits == ANSWER.hits
    inner.let_go.set()
    system.close()


def test_a_system_that_keeps_its_time_is_called_where_it_stands() -> None:
    found: list[threading.Thread] = []

    class Where(Scripted):
        def search(self, query: Query, k: int) -> Answer:
            found.append(threading.current_thread())
            return ANSWER

    limits = CallPolicy(timeout_s=5.0)
    called(Where(Time()), limits, Secrets({}), keeps_time=True).search(QUERY, 5)
    called(Where(Time()), limits, Secrets({}), keeps_time=False).search(QUERY, 5)
    assert found[0] is threading.current_thread()
    assert found[1] is not threading.current_thread()
    assert found[1].daemon


def test_threads_are_used_again_and_not_too_many_are_left_behind() -> None:
    let_go = Event()
    limit = TimeLimit("api", 0.01, concurrency=1)
    for _ in range(MOST_LEFT + 1):
        with pytest.raises(SystemTimeoutError):
            limit.run(lambda: let_go.wait(20) and None)
    with pytest.raises(SystemFailedError, match="17 calls of 'api' are still running long after"):
        limit.run(lambda: None)
    let_go.set()
    names: set[int] = set()
    patient = TimeLimit("api", 20.0, concurrency=1)
    for _ in range(5):
        patient.run(lambda: names.add(threading.get_ident()))
    assert len(names) == 1
    limit.close()
    patient.close()


class Batches(Scripted):
    """Answers lists of queries by a script: for each call a list, or what it raises."""

    def __init__(self, time: Time, *script: object) -> None:
        super().__init__(time)
        self.lists, self.asked = list(script), list[list[str]]()

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        self.asked.append([q.query_id for q in queries])
        self.time.at += 0.5
        given = self.lists.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given  # type: ignore[return-value]


THREE = [Query(i, i) for i in "abc"]


def batches(time: Time, *script: object, **limits: object) -> tuple[Batches, CalledBatchSystem]:
    inner = Batches(time, *script)
    system = wrapped(inner, **limits)  # type: ignore[arg-type]
    assert isinstance(system, CalledBatchSystem)
    return inner, system


def test_of_a_batch_only_what_may_go_well_later_is_asked_again() -> None:
    again, never = failed("busy", retry=True), failed("wrong")
    inner, system = batches(Time(), [ANSWER, again, never], [ANSWER], retries=2)
    found = system.search_many(THREE, 5)
    assert inner.asked == [["a", "b", "c"], ["b"]]
    assert isinstance(found[0], Answer)
    assert (found[0].attempts, found[0].latency_ms) == (1, 500.0)
    assert isinstance(found[1], Answer)
    assert found[1].attempts == 2
    assert isinstance(found[2], SystemFailedError)
    assert (str(found[2]), found[2].attempts) == ("wrong", 1)


def test_answers_of_a_batch_outlive_a_retry_that_fails_as_a_whole() -> None:
    _, system = batches(Time(), [ANSWER, failed(retry=True), ANSWER], failed("gone"), retries=1)
    found = system.search_many(THREE, 5)
    assert [type(f).__name__ for f in found] == ["Answer", "SystemFailedError", "Answer"]
    assert str(found[1]) == "gone"


@pytest.mark.parametrize(
    ("given", "told"),
    [([ANSWER], "1 answers came to a batch of 3"), (None, "NoneType answers came to a batch of 3")],
)
def test_a_batch_with_too_few_answers_is_a_failure(given: object, told: str) -> None:
    _, system = batches(Time(), given)
    with pytest.raises(SystemFailedError, match=told):
        system.search_many(THREE, 5)


def test_the_pool_gives_limits_to_every_system(tmp_path: Path) -> None:
    (tmp_path / "sm_calling_pool.py").write_text("def search(text, k):\n    return ['d']\n")
    config = Config(callable="sm_calling_pool:search")
    entries = {"mine": Entry("mine", "python", config, CallPolicy(retries=4))}
    corpus = Corpus(pl.DataFrame({"doc_id": ["d"], "text": ["red"]}))
    with Pool(entries, corpus, folder=tmp_path, cache=tmp_path) as pool:
        system = pool.open("mine")
        assert system.calls.retries == 4
        assert system.search(QUERY, 5).latency_ms is not None
