"""Systems that limit their rate: who waits, for how long, who is first, and when it is enough."""

import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from threading import Event, Lock, Thread
from time import monotonic, sleep

import pytest

from searchmark.errors import SystemDownError, SystemFailedError
from searchmark.systems import pacing
from searchmark.systems.calling import called
from searchmark.systems.pacing import Clock, Pace
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Hit, Query
from searchmark.systems.retrying import Tries, again
from searchmark.systems.secrets import Secrets

from .clock import Time

QUERY = Query("q", "text")
ANSWER = Answer((Hit("a", 1.0),))


class Engine:
    """Refuses so many calls, then answers; a call takes no time."""

    name = "api"
    tags = frozenset({"lexical"})
    identity: Mapping[str, str] = {}

    def __init__(self, time: Time, n: int, after_s: float | None = None) -> None:
        self.time, self.n, self.after_s = time, n, after_s
        self.starts: list[float] = []

    def search(self, query: Query, k: int) -> Answer:
        self.starts.append(self.time.at)
        if len(self.starts) <= self.n:
            raise refusal(self.after_s)
        return ANSWER


def refusal(after_s: float | None = None) -> SystemFailedError:
    return SystemFailedError("429", retry=True, after_s=after_s, busy=True)


def until(is_true: object) -> None:
    end = monotonic() + 20
    while not is_true():  # type: ignore[operator]
        assert monotonic() < end, "it never came"
        sleep(0.002)


def test_refusals_do_not_use_up_retries() -> None:
    engine = Engine(Time(), 9)
    system = called(engine, CallPolicy(retries=1), Secrets({}), clock=engine.time.clock)
    assert system.search(QUERY, 5).attempts == 10
    # no time is asked for: 0.5 * 2^(n-1) seconds at most after the n-th refusal, 5 at most
    assert engine.time.waits == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0]


def test_without_retries_a_refusal_is_a_failure() -> None:
    engine = Engine(Time(), 1)
    with pytest.raises(SystemFailedError, match=r"^429$"):
        called(engine, CallPolicy(), Secrets({}), clock=engine.time.clock).search(QUERY, 5)
    assert len(engine.starts) == 1


@pytest.mark.parametrize(
    ("after_s", "starts"),
    [
        # 60 s and half a second on top: the sixth refusal comes 302.5 s after the first
        (60.0, [100.0, 160.5, 221.0, 281.5, 342.0, 402.5]),
        # 0.5 + 1 + 2 + 4 = 7.5, and then 59 times 5: 302.5 s
        (None, [100.0, 100.5, 101.5, 103.5, *(107.5 + 5 * n for n in range(60))]),
    ],
)
def test_a_system_that_refuses_everything_is_given_up(
    after_s: float | None, starts: list[float]
) -> None:
    engine = Engine(Time(), 10_000, after_s)
    limits = CallPolicy(retries=3, stop_after=1000)
    system = called(engine, limits, Secrets({}), clock=engine.time.clock)
    with pytest.raises(
        SystemFailedError, match=r"^429; it has refused every call for 300 s$"
    ) as raised:
        system.search(QUERY, 5)
    assert engine.starts == starts
    assert raised.value.attempts == len(starts)
    with pytest.raises(SystemDownError, match="it has refused every call for 300 s"):
        system.search(QUERY, 5)
    assert engine.starts == starts


def test_a_system_that_asks_for_next_to_no_rest_is_left_alone_ever_longer() -> None:
    engine = Engine(Time(), 10_000, 0.0001)
    system = called(engine, CallPolicy(retries=3), Secrets({}), clock=engine.time.clock)
    with pytest.raises(SystemFailedError, match="it has refused every call for 300 s"):
        system.search(QUERY, 5)
    # at least 0.02 s, a quarter longer each time, 5 s at most, and half of what was asked on top
    wanted = [min(0.02 * 1.25**n, 5.0) + 0.00005 for n in range(len(engine.time.waits))]
    assert engine.time.waits == pytest.approx(wanted)
    assert len(engine.starts) < 100


def test_an_answer_after_a_long_storm_counts() -> None:
    storm = CallPolicy(retries=3, stop_after=1000)
    engine = Engine(Time(), 80, 0.0001)
    found = called(engine, storm, Secrets({}), clock=engine.time.clock).search(QUERY, 5)
    assert (found.hits, found.attempts) == (ANSWER.hits, 81)


def test_a_call_that_is_refused_while_others_get_through_fails_after_ten_minutes() -> None:
    time = Time()
    pace = Pace(None, time.clock, 2)
    tries, delays = Tries(3, pace), []
    for _ in range(8):  # at 0, 100, ..., 700 s
        delays.append(tries.delay(refusal(), time.at))
        pace.served()  # another one
        time.at += 100.0
    assert delays == [0.0] * 7 + [None]
    assert not pace.is_silent


def test_other_failures_are_counted_beside_refusals() -> None:
    tries = Tries(2, Pace(None, Time().clock))
    lost = SystemFailedError("cut", retry=True)
    assert [tries.delay(e, 100.0) for e in (refusal(), lost, refusal(), lost, lost)] == [
        0.0,
        0.5,
        0.0,
        1.0,
        None,
    ]


def test_calls_that_were_under_way_together_are_refused_together() -> None:
    time = Time()
    pace = Pace(None, time.clock, 8)
    for _ in range(6):
        pace.refused(100.0, 1.0)
        time.at += 0.001
    with pace.turn(pace.ticket()) as begin:
        # the sixth came at 100.005 and asked for a second; the first back-off is on top, once
        assert begin == pytest.approx(101.505)


def test_who_came_first_is_first_when_it_comes_back() -> None:
    pace = Pace(None, Clock())
    first, second, third = (pace.ticket() for _ in range(3))
    order: list[int] = []

    def go(ticket: int) -> None:
        with pace.turn(ticket):
            order.append(ticket)

    with pace.turn(first):
        threads = [Thread(target=go, args=(t,)) for t in (third, second, first)]
        for n, thread in enumerate(threads, 1):
            thread.start()
            until(lambda n=n: len(pace._waiting) == n)
    for thread in threads:
        thread.join(20)
    assert order == [first, second, third]


def test_an_older_call_that_comes_while_a_newer_one_waits_for_a_pause_to_end_is_first() -> None:
    time, order = Time(), []
    old: list[Thread] = []

    def wait(_: Event, seconds: float) -> bool:
        if not old:  # the newer one is the first to wait
            old.append(Thread(target=go, args=(ticket,)))
            old[0].start()
            old[0].join(20)
        return time.wait(_, seconds)

    pace = Pace(None, Clock(now=lambda: time.at, wait=wait, uniform=lambda low, high: high))
    ticket = pace.ticket()

    def go(ticket: int) -> None:
        with pace.turn(ticket):
            order.append(ticket)

    pace.refused(100.0, 5.0)
    go(pace.ticket())
    assert order == [0, 1]


def test_half_as_many_are_under_way_after_a_refusal_and_more_again_with_each_answer() -> None:
    time = Time()
    pace = Pace(None, time.clock, 4)
    pace.refused(time.at)
    entered = Event()

    def go() -> None:
        with pace.turn(pace.ticket()):
            entered.set()

    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(pace.turn(pace.ticket()))
        third = Thread(target=go)
        third.start()
        until(lambda: pace._waiting)
        assert not entered.wait(0.05)
        pace.served()  # 2.5
        assert not entered.wait(0.05)
        pace.served()  # 2.9
        pace.served()  # 3.2
        third.join(20)
        assert entered.is_set()


def test_a_pause_that_begins_while_a_call_waits_for_its_turn_holds_it_too() -> None:
    time = Time()
    paused: list[bool] = []

    def wait(event: Event, seconds: float) -> bool:
        if not paused:
            paused.append(True)
            pace.refused(time.at, 5.0)  # another thread is told to leave the system alone
        return time.wait(event, seconds)

    pace = Pace(1.0, Clock(now=lambda: time.at, wait=wait, uniform=lambda low, high: 0.0))
    begins = []
    for _ in range(2):
        with pace.turn(pace.ticket()) as begin:
            begins.append(begin)
    assert begins == [100.0, 105.0]


def test_calls_that_wait_for_others_are_woken_when_the_system_is_closed() -> None:
    pace, told = Pace(None, Clock()), list[str]()

    def go() -> None:
        try:
            with pace.turn(pace.ticket()):
                told.append("went on")
        except SystemFailedError as error:
            told.append(str(error))

    with pace.turn(pace.ticket()):
        thread = Thread(target=go)
        thread.start()
        until(lambda: pace._waiting)
        pace.close()
        thread.join(20)
    assert told == ["was closed while a call waited for its turn"]


class Limited:
    """A healthy engine that takes two calls in each window, and says so or not."""

    name = "api"
    tags = frozenset({"lexical"})
    identity: Mapping[str, str] = {}

    def __init__(self, window_s: float, after_s: float | None) -> None:
        self.window_s, self.after_s = window_s, after_s
        self.lock, self.taken = Lock(), Counter[int]()
        self.n_refused = 0

    def search(self, query: Query, k: int) -> Answer:
        with self.lock:
            window = int(monotonic() / self.window_s)
            self.taken[window] += 1
            if self.taken[window] > 2:
                self.n_refused += 1
                raise refusal(self.after_s)
        return ANSWER


@pytest.mark.parametrize("after_s", [0.05, None])
def test_no_query_fails_where_a_healthy_engine_limits_its_rate(
    after_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "FIRST_BACKOFF_S", 0.02)
    engine = Limited(0.05, after_s)
    system = called(engine, CallPolicy(concurrency=8, retries=3), Secrets({}))
    left, found = list(range(40)), list[Answer | SystemFailedError]()

    def work() -> None:
        while True:
            try:
                n = left.pop()
            except IndexError:
                return
            try:
                found.append(system.search(Query(str(n), "text"), 5))
            except SystemFailedError as error:
                found.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 40
    assert [f for f in found if not isinstance(f, Answer)] == []
    assert engine.n_refused > 0


def test_one_rule_for_calls_without_a_system() -> None:
    time, given = Time(), [refusal(7.0), SystemFailedError("cut", retry=True), None]

    def call() -> str:
        if (error := given.pop(0)) is not None:
            raise error
        return "answer"

    assert again(call, 1, time.clock) == "answer"
    assert time.waits == [7.5, 0.5]
    given[:] = [SystemFailedError("cut", retry=True), SystemFailedError("gone", retry=True)]
    with pytest.raises(SystemFailedError, match="gone"):
        again(call, 1, time.clock)
    given[:] = [SystemFailedError("404")]
    with pytest.raises(SystemFailedError, match="404"):
        again(call, 3, time.clock)
