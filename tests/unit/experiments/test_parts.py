"""A system that is made of one other: what its digest covers, and that a new name reaches it."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rollup import roll_up
from searchmark.experiments.diagnosing import run_evidence
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.restart import suggest_project
from searchmark.project import read_project

PROJECT = """corpus = "corpus.jsonl"
queries = "queries.tsv"
qrels = "qrels"

[systems.words]
use = "bm25"
k1 = {k1}
fallback = false

[systems.best]
use = "rerank"
of = "words"
callable = "sm_parts:score"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "corpus.jsonl").write_text(
        '{"id": "d1", "title": "red", "text": ""}\n{"id": "d2", "title": "red red", "text": ""}\n'
    )
    (tmp_path / "queries.tsv").write_text("id\ttext\nq1\tred\nq2\tred shoe\n")
    (tmp_path / "qrels").write_text("q1 0 d2 1\nq2 0 d1 1\n")
    (tmp_path / "sm_parts.py").write_text("def score(q, texts): return [len(t) for t in texts]")
    (tmp_path / "searchmark.toml").write_text(PROJECT.format(k1=1.2))
    yield tmp_path
    sys.modules.pop("sm_parts", None)


def digest(folder: Path, k1: float) -> str:
    (folder / "searchmark.toml").write_text(PROJECT.format(k1=k1))
    outcome = run_experiment(read_project(folder), ["best"]).outcomes[0]
    assert outcome.calls[0].doc_ids == ["d2", "d1"]  # 7 characters before 3
    return outcome.digest


def test_a_changed_first_stage_is_another_reranker(folder: Path) -> None:
    first = digest(folder, 1.2)
    assert digest(folder, 1.2) == first
    assert digest(folder, 1.3) != first


def test_a_renamed_first_stage_is_renamed_in_the_reranker(folder: Path) -> None:
    project = read_project(folder)
    setup = run_evidence(project)
    finding = Finding(
        "pairwise-gap", "MEDIUM", "INDEX_MAPPING", "wrong", "mend it.", "q2", systems=("words",)
    )
    found = suggest_project(project, roll_up([finding], setup), setup)
    assert found.renamed == {"words": "words-v2"}
    systems = tomllib.loads(found.text)["systems"]
    assert set(systems) == {"words-v2", "best"}
    assert systems["best"]["of"] == "words-v2"
