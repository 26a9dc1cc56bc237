"""Ids that are in no corpus are shown so that a note stays one short line without secrets."""

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.experiments.asking import ask
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.outcome import stranger_notes
from searchmark.experiments.soundness import ranks_flaw, shown
from searchmark.project import read_project
from searchmark.systems.calling import called
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Hit, Query
from searchmark.systems.secrets import Secrets

CORPUS = Corpus(pl.DataFrame({"doc_id": ["known"], "text": ["a"]}))


def note(*ids: str, secrets: Secrets | None = None) -> str:
    call = SimpleNamespace(doc_ids=("known", *ids))
    outcomes = [SimpleNamespace(system="api", calls=[call])]
    (found,) = stranger_notes(CORPUS, outcomes, secrets or Secrets())  # type: ignore[arg-type]
    return found


def test_a_plain_id_is_shown_as_it_is() -> None:
    assert note("b-12", "c") == "api: results that are not in the corpus: 2, 'b-12' first."


@pytest.mark.parametrize(
    ("strange", "shown"),
    [
        ("x" * 200_000, "x" * 79 + "…"),
        ("a\nb\r\nc\td", "a b c d"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\u202eb\0", r"a\u202eb"),
    ],
)
def test_a_strange_one_gives_no_orders_and_is_cut(strange: str, shown: str) -> None:
    assert note(strange) == f"api: results that are not in the corpus: 1, '{shown}' first."


def test_a_secret_in_an_id_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_TOKEN", "Zq8-Wv3-Kd6-Yt9")
    assert "'doc ${ENGINE_TOKEN}/1'" in note("doc Zq8-Wv3-Kd6-Yt9/1")
    # what stands at the cut is hidden too
    assert "Zq8" not in note("x" * 70 + "Zq8-Wv3-Kd6-Yt9")


def test_nothing_is_told_where_all_are_known() -> None:
    call = SimpleNamespace(doc_ids=("known",))
    outcomes = [SimpleNamespace(system="api", calls=[call])]
    assert list(stranger_notes(CORPUS, outcomes, Secrets())) == []  # type: ignore[arg-type]


def test_messages_about_answers_show_ids_in_the_same_way() -> None:
    secrets = Secrets({"ENGINE_TOKEN": "Zq8-Wv3-Kd6-Yt9"})
    strange = "doc Zq8-Wv3-Kd6-Yt9\n\x1b[2J" + "x" * 5000
    told = ranks_flaw([strange], [float("nan")], [None], secrets)
    assert told is not None
    assert told.startswith(r"the score of document 'doc ${ENGINE_TOKEN} \x1b[2Jxxx")
    assert told.endswith("x…' is nan; give a finite number, or None where there is no score")
    assert len(told) < 200
    assert (
        ranks_flaw([strange], [1.0], [-1.0], secrets)
        == f"document {shown(strange, secrets)} has -1.0 tokens"
    )


PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR"]
[systems.cli]
use = "command"
argv = ["sh", "-c", 'printf "[\\"plain hunter word\\"]"', "{query}"]
env = { PLACE = "${ENGINE_PLACE}" }
ids = "[]"
"""


def test_a_run_hides_what_only_its_project_names_as_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # its name says nothing; the project file uses it, and so it is kept out of what is told
    monkeypatch.setenv("ENGINE_PLACE", "plain hunter word")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "a"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    notes = run_experiment(read_project(tmp_path)).evaluation.notes
    told = "cli: results that are not in the corpus: 1, '${ENGINE_PLACE}' first."
    assert [line for line in notes if "corpus" in line] == [told]


def test_a_refused_answer_hides_it_too() -> None:
    secrets = Secrets({"ENGINE_PLACE": "plain hunter word"})
    secrets.expand("${ENGINE_PLACE}", key="url")
    answer = Answer((Hit("plain hunter word", float("nan")),))
    inner = SimpleNamespace(name="api", search=lambda query, k: answer)
    system = called(inner, CallPolicy(), secrets)  # type: ignore[arg-type]
    call = ask(system, Query("q", "text"), 5)
    assert (call.error or "").startswith(
        "ValueError: the score of document '${ENGINE_PLACE}' is nan"
    )
