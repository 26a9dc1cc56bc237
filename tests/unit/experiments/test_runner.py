from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from searchmark.data import Queries
from searchmark.errors import InputError
from searchmark.experiments.asking import ask
from searchmark.experiments.journal import open_journal
from searchmark.experiments.runner import ask_all
from searchmark.systems.protocol import Answer, Hit, Query


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


def test_a_wrong_configuration_stops_the_run() -> None:
    with pytest.raises(InputError):
        ask(Scripted({"1": InputError("no such field")}), Query("1", "t"), 5)
