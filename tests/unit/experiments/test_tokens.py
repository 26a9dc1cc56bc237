"""Tokens that a system tells, all the way from its answer to the measures that need them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.errors import SystemFailedError
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.stored import stored_answers
from searchmark.project import Project, read_project
from searchmark.systems import SYSTEMS
from searchmark.systems.protocol import Answer, Context, Hit, Kind, Query, System

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["Tokens@2", "SNR@2"]
[systems.told]
use = "told"
"""

ANSWERS: dict[str, Answer] = {}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """No keys."""


class Told:
    name, tags = "told", frozenset[str]()
    identity: Mapping[str, str] = {}

    def search(self, query: Query, k: int) -> Answer:
        if query.query_id not in ANSWERS:
            raise SystemFailedError("down")
        return ANSWERS[query.query_id]


@contextmanager
def opened(name: str, config: Any, context: Context) -> Iterator[System]:
    yield Told()


TOLD = Kind(Config, opened)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    load, names = SYSTEMS.load, SYSTEMS.names
    monkeypatch.setattr(SYSTEMS, "load", lambda name: TOLD if name == "told" else load(name))
    monkeypatch.setattr(SYSTEMS, "names", lambda: [*names(), "told"])
    ANSWERS.clear()
    rows = "".join(f'{{"_id": "{d}", "title": "t"}}\n' for d in "abc")
    (tmp_path / "c.jsonl").write_text(rows)
    (tmp_path / "q.jsonl").write_text('{"_id": "1", "text": "x"}\n{"_id": "2", "text": "y"}\n')
    (tmp_path / "r.qrels").write_text("1 0 a 2\n2 0 b 2\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    return read_project(tmp_path)


def test_what_results_cost_reaches_the_measures_and_the_bundle(project: Project) -> None:
    ANSWERS["1"] = Answer((Hit("a", 2.0, 100), Hit("c", 1.0, 40), Hit("b", 0.5, 7)))
    ANSWERS["2"] = Answer((Hit("c", 2.0, 600), Hit("c", 1.5, 600), Hit("b", 1.0, 50)))
    outcome = run_experiment(project).outcomes[0]
    found = outcome.scores.per_query
    # query 2 gives c twice, which counts once at its first place: c, b
    assert found["Tokens@2"] == {"1": 140.0, "2": 650.0}
    # query 1: R@2 and nDCG@2 are 1; c's 40 tokens waste 1.4 * 0.4
    assert found["SNR@2"]["1"] == pytest.approx(100 - 0.56)
    # query 2: R@2 is 1, nDCG@2 is 1/log2(3) = 0.6309298; 600 tokens waste 1.4 * 5 + 4.5 * 1
    assert found["SNR@2"]["2"] == pytest.approx(70 + 30 * 0.6309297535714575 - 11.5)
    table = pl.read_parquet(outcome.folder / "run.parquet")
    assert table["tokens"].to_list() == [100.0, 40.0, 7.0, 600.0, 600.0, 50.0]
    stored = stored_answers(outcome.folder)
    assert stored is not None
    assert stored.calls == outcome.calls


def test_without_tokens_the_run_has_no_such_column(project: Project, tmp_path: Path) -> None:
    text = PROJECT.replace('"Tokens@2", "SNR@2"', '"Tokens(tokens=10)@2"')
    (tmp_path / "searchmark.toml").write_text(text)
    ANSWERS["1"] = ANSWERS["2"] = Answer((Hit("a"), Hit("b"), Hit("c")))
    outcome = run_experiment(read_project(tmp_path)).outcomes[0]
    assert [*outcome.scores.per_query.values()] == [{"1": 20.0, "2": 20.0}]
    assert "tokens" not in pl.read_parquet(outcome.folder / "run.parquet").columns


def test_a_system_that_is_down_is_told_as_such_not_as_one_without_tokens(project: Project) -> None:
    experiment = run_experiment(project)
    with pytest.raises(SystemFailedError, match="down"):
        experiment.check()


def test_empty_answers_cost_nothing(project: Project) -> None:
    ANSWERS["1"] = ANSWERS["2"] = Answer(())
    outcome = run_experiment(project).outcomes[0]
    assert outcome.scores.per_query["Tokens@2"] == {"1": 0.0, "2": 0.0}
