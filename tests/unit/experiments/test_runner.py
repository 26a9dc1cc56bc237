import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from searchmark.data import Queries
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.experiments.asking import ask
from searchmark.experiments.journal import Call, open_journal
from searchmark.experiments.runner import ask_all
from searchmark.experiments.store import calls_table
from searchmark.systems.calling import called
from searchmark.systems.pacing import Clock
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Hit, Query
from searchmark.systems.secrets import Secrets


class Scripted:
    """Answers from a script; an exception in it is raised. It notes what it was asked."""

    name = "scripted"
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = {}

    def __init__(self, script: Mapping[str, Answer | BaseException]) -> None:
        self.script = dict(script)
        self.asked: list[str] = []

    def search(self, query: Query, k: int) -> Answer:
        self.asked.append(query.query_id)
        given = self.script[query.query_id]
        if isinstance(given, BaseException):
            raise given
        return given


def queries(*ids: str) -> Queries:
    return Queries(pl.DataFrame({"query_id": ids, "text": [f"text {i}" for i in ids]}), {})


ANSWER = Answer((Hit("a", 1.0), Hit("b", None)))


def test_a_query_that_raises_is_an_error_and_the_next_one_is_asked(tmp_path: Path) -> None:
    system = Scripted({"1": ANSWER, "2": KeyError("boom"), "3": Answer(())})
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries("1", "2", "3"), 10, journal)
    assert [c.status for c in calls] == ["ok", "error", "empty"]
    assert calls[1].error == "KeyError: 'boom'"
    assert calls[0].doc_ids == ["a", "b"]
    assert calls[0].scores == [1.0, None]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = Scripted({"1": ANSWER, "2": KeyboardInterrupt()})
    with open_journal(tmp_path / "j") as journal, pytest.raises(KeyboardInterrupt):
        ask_all(first, queries("1", "2", "3"), 10, journal)
    second = Scripted({"2": ANSWER, "3": ANSWER})
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(second, queries("1", "2", "3"), 10, journal)
    assert second.asked == ["2", "3"]
    assert [c.query_id for c in calls] == ["1", "2", "3"]


def test_failed_queries_are_asked_again_and_answers_kept(tmp_path: Path) -> None:
    with open_journal(tmp_path / "j") as journal:
        ask_all(Scripted({"1": ANSWER, "2": OSError("down")}), queries("1", "2"), 10, journal)
    system = Scripted({"2": ANSWER})
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries("1", "2"), 10, journal)
    assert system.asked == ["2"]
    assert [c.status for c in calls] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (TimeoutError("slow"), "timeout"),
        (SystemExit(0), "error"),
        (GeneratorExit("odd"), "error"),
        (ValueError("\ud800"), "error"),
        (Answer((Hit("\ud800", 1.0),)), "error"),
        (Answer((Hit("a", float("nan")),)), "error"),
        (Answer((Hit("a", float("inf")),)), "error"),
        (Answer((Hit("a", float("-inf")),)), "error"),
        (Answer((Hit("a", 10**400),)), "error"),
        (Answer((Hit("a", 1.0, 10**400),)), "error"),
        (Answer((Hit("a", "high"),)), "error"),  # type: ignore[arg-type]
        (Answer((Hit("", 1.0),)), "error"),
        (Answer((Hit(7, 1.0),)), "error"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_answer_is_never_an_empty_one(
    given: Answer | BaseException, status: str
) -> None:
    assert ask(Scripted({"1": given}), Query("1", "t"), 5).status == status


def test_more_results_than_asked_for_are_cut() -> None:
    many = Answer(tuple(Hit(str(i), None) for i in range(9)))
    assert ask(Scripted({"1": many}), Query("1", "t"), 4).doc_ids == ["0", "1", "2", "3"]


def test_a_call_holds_plain_values_whatever_a_system_gives(tmp_path: Path) -> None:
    given = Answer((Hit(np.str_("a"), np.float64(0.5)), Hit(np.str_("b"))), np.bool_(True))  # type: ignore[arg-type]
    with open_journal(tmp_path / "j") as journal:
        call = ask_all(Scripted({"1": given}), queries("1"), 5, journal)[0]
    assert (call.doc_ids, call.scores, call.partial) == (["a", "b"], [0.5, None], True)
    assert [type(x) for x in (*call.doc_ids, call.scores[0], call.partial)] == [
        str,
        str,
        float,
        bool,
    ]


def test_what_is_no_answer_at_all_is_a_failure() -> None:
    call = ask(Scripted({"1": ["a"]}), Query("1", "t"), 5)  # type: ignore[dict-item]
    assert call.status == "error"


def test_an_error_is_one_line_even_without_a_message() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise KeyError

    for error, told in (
        (ValueError("a\r\n b\n"), "ValueError: a b"),
        (ValueError(), "ValueError"),
        (MuteError(), "MuteError: its message cannot be shown, KeyError"),
    ):
        assert ask(Scripted({"1": error}), Query("1", "t"), 5).error == told


def test_a_wrong_configuration_stops_the_run(tmp_path: Path) -> None:
    system = Scripted({"1": InputError("no such field"), **dict.fromkeys("2345", ANSWER)})
    for concurrency in (1, 3):
        with (
            open_journal(tmp_path / f"j{concurrency}") as journal,
            pytest.raises(InputError, match="no such field"),
        ):
            limits = CallPolicy(concurrency=concurrency)
            ask_all(system, queries(*"12345"), 5, journal, calls=limits)


def test_a_call_records_what_the_caller_and_the_system_say() -> None:
    hits = (Hit("a", 1.0, tokens=120), Hit("b", 0.5))
    answer = Answer(hits, partial=True, total=77, size=1234, latency_ms=9.5, attempts=3)
    assert ask(Scripted({"1": answer}), Query("1", "t"), 5, warmup=True) == Call(
        "1",
        "ok",
        9.5,
        ["a", "b"],
        [1.0, 0.5],
        attempts=3,
        partial=True,
        tokens=[120.0, None],
        size=1234,
        total=77,
        warmup=True,
    )
    error = SystemFailedError("http://x answered 503")
    error.attempts, error.latency_ms = 4, 2.5
    assert ask(Scripted({"1": error}), Query("1", "t"), 5) == Call(
        "1", "error", 2.5, attempts=4, error="http://x answered 503"
    )


@pytest.mark.parametrize("latency", [-1.0, float("nan"), float("inf")])
def test_a_latency_that_is_none_is_a_failure(latency: float) -> None:
    call = ask(Scripted({"1": Answer((), latency_ms=latency)}), Query("1", "t"), 5)
    assert (call.status, call.error) == ("error", f"ValueError: its latency is {latency} ms")


@pytest.mark.parametrize("tokens", [-1.0, float("nan"), float("inf")])
def test_tokens_that_are_none_are_a_failure(tokens: float) -> None:
    call = ask(Scripted({"1": Answer((Hit("a", 1.0, tokens),))}), Query("1", "t"), 5)
    assert call.status == "error"
    assert call.error == f"ValueError: document 'a' has {tokens} tokens"


@pytest.mark.parametrize("what", ["total", "size"])
@pytest.mark.parametrize("count", [2**63, 2**70, -1, 1e300, 0.5, float("nan"), "12"])
def test_a_count_that_no_table_holds_is_a_failure(what: str, count: float | str) -> None:
    given = Answer((Hit("a", 1.0),), **{what: count})  # type: ignore[arg-type]
    call = ask(Scripted({"1": given}), Query("1", "t"), 5)
    assert call.status == "error"
    assert re.fullmatch(rf"ValueError: its {what} is .+, which is no count", call.error or "")
    assert calls_table([call])[what].to_list() == [None]


@pytest.mark.parametrize("count", [2**63 - 1, 0, 12.0, np.int64(7), None])
def test_a_count_that_a_table_holds_is_kept(count: int | None) -> None:
    call = ask(Scripted({"1": Answer((), total=count, size=count)}), Query("1", "t"), 5)
    assert (call.status, call.total, call.size) == ("empty", count, count)
    assert calls_table([call])["total"].to_list() == [count]


def test_what_other_libraries_call_attempts_is_not_taken_for_ours() -> None:
    class TheirsError(Exception):
        attempts = "3 of 4"

    call = ask(Scripted({"1": TheirsError()}), Query("1", "t"), 5)
    assert (call.status, call.attempts) == ("error", 1)


def test_what_is_asked_is_read_back_the_same_whatever_a_system_gives(tmp_path: Path) -> None:
    # one that could not be written as it is would be another one when the run goes on
    numbers = [1e308, -1e-308, 5e-324, float("inf"), float("nan"), 2**70, 10**400, None]
    script = {str(i): Answer((Hit("a", x), Hit("b", 0.1))) for i, x in enumerate(numbers)}
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(Scripted(script), queries(*script), 5, journal)
    assert [c.status for c in calls] == ["ok"] * 3 + ["error"] * 2 + ["ok", "error", "ok"]
    with open_journal(tmp_path / "j") as journal:
        assert not journal.damaged
        assert journal.calls == {c.query_id: c for c in calls if c.status == "ok"}


def test_the_first_calls_are_warm_up_in_every_attempt(tmp_path: Path) -> None:
    limits = CallPolicy(warmup=2)
    broken = Scripted({**dict.fromkeys("123", ANSWER), "4": KeyboardInterrupt()})
    with open_journal(tmp_path / "j") as journal, pytest.raises(KeyboardInterrupt):
        ask_all(broken, queries(*"12345"), 5, journal, calls=limits)
    with open_journal(tmp_path / "j") as journal:
        system = Scripted(dict.fromkeys("45", ANSWER))
        calls = ask_all(system, queries(*"12345"), 5, journal, calls=limits)
    assert [c.warmup for c in calls] == [True, True, False, True, True]


def test_a_dead_system_is_given_up_and_the_rest_is_not_asked(tmp_path: Path) -> None:
    # one failure, then an answer: the count begins anew; then three in a row
    script = {"1": ANSWER, "2": OSError("x"), "3": ANSWER, **dict.fromkeys("456789", OSError("y"))}
    system, told = Scripted(script), list[tuple[int, int]]()
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(
            system,
            queries(*"123456789"),
            5,
            journal,
            calls=CallPolicy(stop_after=3),
            progress=lambda done, total: told.append((done, total)),
        )
    assert system.asked == list("123456")
    assert [c.status for c in calls] == ["ok", "error", "ok", *["error"] * 3, *["unasked"] * 3]
    assert all(c.is_failure and c.attempts == 0 for c in calls[6:])
    assert calls[6].error == "not asked after 3 failed queries in a row; the last error: OSError: y"
    assert told == [(n, 9) for n in range(7)]
    with open_journal(tmp_path / "j") as journal:  # what was not asked stands in no file
        assert set(journal.calls) == {"1", "3"}


class Meeting(Scripted):
    """Lets no call go on before `n` of them are under way."""

    def __init__(self, script: Mapping[str, Answer | BaseException], n: int) -> None:
        super().__init__(script)
        self.barrier = threading.Barrier(n)

    def search(self, query: Query, k: int) -> Answer:
        self.barrier.wait(20)
        return super().search(query, k)


def test_calls_are_made_side_by_side_and_returned_in_the_order_of_the_queries(
    tmp_path: Path,
) -> None:
    ids = [str(i) for i in range(40)]
    script = {i: Answer((Hit(f"d{i}"),)) for i in ids}
    system = Meeting(script, 4)
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries(*ids), 5, journal, calls=CallPolicy(concurrency=4))
    assert [c.doc_ids for c in calls] == [[f"d{i}"] for i in ids]
    assert sorted(system.asked) == sorted(ids)
    with open_journal(tmp_path / "j") as journal:
        assert len(journal.calls) == 40


def test_ctrl_c_in_a_call_stops_all_threads_and_keeps_what_was_answered(tmp_path: Path) -> None:
    ids = [str(i) for i in range(400)]
    script = {i: Answer(()) for i in ids} | {"20": KeyboardInterrupt()}
    system = Scripted(script)
    with open_journal(tmp_path / "j") as journal, pytest.raises(KeyboardInterrupt):
        ask_all(system, queries(*ids), 5, journal, calls=CallPolicy(concurrency=4))
    with open_journal(tmp_path / "j") as journal:
        assert set(journal.calls) <= set(ids) - {"20"}
        assert len(journal.calls) >= 17  # of those before it all but three that were under way


def test_a_real_ctrl_c_ends_calls_that_wait_to_be_tried_again(tmp_path: Path) -> None:
    """Sixteen threads wait an hour each; the program has to end at once all the same."""
    script = f"""
import os, signal, threading
import polars as pl
from pathlib import Path
from searchmark.data import Queries
from searchmark.errors import SystemFailedError
from searchmark.experiments.journal import Call, open_journal
from searchmark.experiments.runner import ask_all
from searchmark.systems.calling import called
from searchmark.systems.pacing import Clock
from searchmark.systems.policy import CallPolicy
from searchmark.systems.secrets import Secrets

waiting = threading.Barrier(17)

class Down:
    name, tags, identity = "down", frozenset(), {{}}
    def search(self, query, k):
        raise SystemFailedError("down", retry=True)

def wait(event, seconds):
    waiting.wait(20)
    return event.wait(3600)

def interrupt():
    waiting.wait(20)
    os.kill(os.getpid(), signal.SIGINT)

limits = CallPolicy(concurrency=16, retries=5)
system = called(Down(), limits, Secrets({{}}), clock=Clock(wait=wait))
ids = [str(i) for i in range(100)]
queries = Queries(pl.DataFrame({{"query_id": ids, "text": ids}}), {{}})
threading.Thread(target=interrupt, daemon=True).start()
with open_journal(Path({str(tmp_path / "j")!r})) as journal:
    try:
        ask_all(system, queries, 5, journal, calls=limits)
    except KeyboardInterrupt:
        print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


class Batching(Scripted):
    """Answers batches too; a batch that holds one of `refused` fails as a whole."""

    def __init__(self, script: Mapping[str, Answer | BaseException], refused: str = "") -> None:
        super().__init__(script)
        self.refused, self.batches = refused, list[str]()

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | BaseException]:
        self.batches.append("".join(q.query_id for q in queries))
        if any(q.query_id in self.refused for q in queries):
            raise OSError("too much")
        return [self.script[q.query_id] for q in queries]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_batches_and_one_by_one_where_a_batch_fails(tmp_path: Path, concurrency: int) -> None:
    script = {**dict.fromkeys("1234567", ANSWER), "2": OSError("no"), "3": Answer((Hit("", 1.0),))}
    system = Batching(script, refused="5")
    limits = CallPolicy(batch=3, concurrency=concurrency)
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries(*"1234567"), 5, journal, calls=limits)
    assert sorted(system.batches) == ["123", "456"]
    assert sorted(system.asked) == ["4", "5", "6", "7"]  # a batch of one is no batch
    assert [c.status for c in calls] == ["ok", "error", "error", "ok", "ok", "ok", "ok"]
    assert [c.batch for c in calls] == [3, 3, 3, 1, 1, 1, 1]
    assert calls[0].latency_ms == calls[1].latency_ms  # of the whole call
    assert [c.attempts for c in calls] == [1, 1, 1, 2, 2, 2, 1]  # in vain with 5, then alone


def test_one_bad_query_in_every_batch_is_no_dead_system(tmp_path: Path) -> None:
    # 4 batches, each of which its first query spoils; one by one all but those go well
    ids = "a12b34c56d78"
    script = {**dict.fromkeys(ids, ANSWER), **dict.fromkeys("abcd", OSError("bad"))}
    inner = Batching(script, refused="abcd")
    limits = CallPolicy(batch=3, stop_after=3)
    with open_journal(tmp_path / "j") as journal:
        system = called(inner, limits, Secrets({}))
        calls = ask_all(system, queries(*ids), 5, journal, calls=limits)
    assert inner.batches == ["a12", "b34", "c56", "d78"]
    assert inner.asked == list(ids)  # of each batch at once, or else three failed ones make a row
    assert [c.status for c in calls] == ["error", "ok", "ok"] * 4


def test_attempts_of_a_batch_that_failed_are_counted_with_those_of_its_queries(
    tmp_path: Path,
) -> None:
    # the batch is sent 1 + 2 times in vain; then alone, query 1 once more, query 2 1 + 2 times
    lost = SystemFailedError("lost", retry=True)

    class Lossy(Batching):
        def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | BaseException]:
            super().search_many([], k)
            raise lost

    inner = Lossy({"1": ANSWER, "2": lost})
    limits = CallPolicy(batch=2, retries=2)
    clock = Clock(wait=lambda event, seconds: False)
    with open_journal(tmp_path / "j") as journal:
        system = called(inner, limits, Secrets({}), clock=clock)
        calls = ask_all(system, queries(*"12"), 5, journal, calls=limits)
    assert len(inner.batches) == 3
    assert inner.asked == ["1", "2", "2", "2"]
    assert [(c.status, c.attempts) for c in calls] == [("ok", 4), ("error", 6)]


class Slow(Batching):
    """A batch of it takes too long."""

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | BaseException]:
        self.batches.append("".join(q.query_id for q in queries))
        raise SystemTimeoutError("no answer within 2 s")


def test_queries_of_a_batch_that_took_too_long_are_not_asked_again(tmp_path: Path) -> None:
    # alone each would be given the whole time limit once more, and retries are 0
    inner, told = Slow(dict.fromkeys("12345", ANSWER)), list[tuple[int, int]]()
    limits = CallPolicy(batch=3)
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(
            called(inner, limits, Secrets({})),
            queries(*"12345"),
            5,
            journal,
            calls=limits,
            progress=lambda done, total: told.append((done, total)),
        )
    assert (inner.batches, inner.asked) == (["123", "45"], [])
    assert [(c.status, c.attempts, c.batch) for c in calls] == [
        *[("timeout", 1, 3)] * 3,
        *[("timeout", 1, 2)] * 2,
    ]
    assert calls[0].error == (
        "no answer within 2 s, for a batch of 3 queries; a smaller batch or a greater timeout_s "
        "may help"
    )
    assert told == [(0, 5), (3, 5), (5, 5)]


@pytest.mark.parametrize("with_limits", [True, False])
def test_batches_that_take_too_long_are_failures_in_a_row(
    tmp_path: Path, with_limits: bool
) -> None:
    inner = Slow(dict.fromkeys("123456789", ANSWER))
    limits = CallPolicy(batch=2, stop_after=3)
    system = called(inner, limits, Secrets({})) if with_limits else inner
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries(*"123456789"), 5, journal, calls=limits)
    assert inner.batches == ["12", "34", "56"]  # three calls, though six queries
    assert [c.status for c in calls] == ["timeout"] * 6 + ["unasked"] * 3


def test_a_batch_that_fails_is_told_to_the_breaker(tmp_path: Path) -> None:
    # the batch fails, and 1 and 2 alone: three failures in a row
    inner = Batching(dict.fromkeys("123456", OSError("down")), refused="123456")
    with open_journal(tmp_path / "j") as journal:
        limits = CallPolicy(batch=3, stop_after=3)
        calls = ask_all(inner, queries(*"123456"), 5, journal, calls=limits)
    assert (inner.batches, inner.asked) == (["123"], ["1", "2"])
    assert [c.status for c in calls] == ["error"] * 2 + ["unasked"] * 4


def test_a_system_without_batches_is_asked_one_by_one(tmp_path: Path) -> None:
    system = Scripted(dict.fromkeys("123", ANSWER))
    with open_journal(tmp_path / "j") as journal:
        ask_all(system, queries(*"123"), 5, journal, calls=CallPolicy(batch=10))
    assert system.asked == ["1", "2", "3"]


def test_what_is_under_way_when_a_system_is_given_up_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("searchmark.experiments.workers.GRACE_S", 0.05)
    let_go = threading.Event()

    class Hanging(Scripted):
        def search(self, query: Query, k: int) -> Answer:
            if query.query_id == "1":
                let_go.wait(20)
            return super().search(query, k)

    system = Hanging({"1": ANSWER, **dict.fromkeys("23456789", OSError("down"))})
    with open_journal(tmp_path / "j") as journal:
        limits = CallPolicy(concurrency=2, stop_after=3)
        calls = ask_all(system, queries(*"123456789"), 5, journal, calls=limits)
    let_go.set()
    assert calls[0].status == "unasked"
    assert [c.status for c in calls].count("error") >= 3
