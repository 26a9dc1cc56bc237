"""Evidence as rules see it, from a project that really ran."""

import math
from pathlib import Path

import pytest

from searchmark.diagnosis.evidence import Evidence
from searchmark.errors import InputError, ProjectError
from searchmark.experiments.diagnosing import run_evidence, serving_system
from searchmark.project import read_project

CORPUS = """{"_id": "d1", "title": "Red shoes", "text": "shoes that are red", "color": "red"}
{"_id": "d2", "title": "Blue shoes", "text": "shoes that are blue", "color": "blue"}
{"_id": "d3", "title": "Hats", "text": "hats for rain", "color": "red"}
"""
QUERIES = """{"_id": "a", "text": "red shoes", "category": "names", "filters": {"color": "red"}}
{"_id": "b", "text": "rain hat"}
{"_id": "c", "text": "umbrella"}
{"_id": "left out", "text": "nobody judged this"}
"""
QRELS = "a 0 d1 3\na 0 d2 1\nb 0 d3 2\nc 0 d1 0\n"
RUN = "a Q0 d2 1 9 x\na Q0 d3 2 8 x\na Q0 d1 3 7 x\nc Q0 d2 1 5 x\n"
PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR", "nDCG@2"]

[systems.file]
use = "run"
path = "x.run"
tags = ["vector"]

[systems.words]
use = "bm25"
fields = ["title", "text"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", QUERIES),
        ("qrels.txt", QRELS),
        ("x.run", RUN),
        ("searchmark.toml", PROJECT),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def evidence(folder: Path, k: int | None = None) -> Evidence:
    return run_evidence(read_project(folder), k=k)


def test_values_parts_and_ideal_are_those_of_the_measure(folder: Path) -> None:
    query = evidence(folder).by_id["a"]
    ranking = query.ranking("file")
    # grade 3 earns 7, grade 1 earns 1; at k = 2 the file has only grade 1 at rank 1
    assert query.k == 2
    assert query.ideal == pytest.approx(7 / 1 + 1 / math.log2(3))
    assert query.ideal_parts == pytest.approx((7, 1 / math.log2(3)))
    assert ranking.value == pytest.approx(1 / (7 + 1 / math.log2(3)))
    assert [(d.doc_id, d.rank, d.grade, d.gain) for d in ranking.documents] == [
        ("d2", 1, 1, 1.0),
        ("d3", 2, None, 0.0),
        ("d1", 3, 3, 7.0),
    ]
    assert ranking.documents[2].part == pytest.approx(7 / 2)  # log2(3 + 1)
    # d2 is blue; the filter asks for red
    assert ranking.broken_filters == (1,)


def test_another_cutoff(folder: Path) -> None:
    found = evidence(folder, k=3)
    assert found.measure == "nDCG@3"
    # now the grade 3 at rank 3 counts: (1 + 7/2) / (7 + 1/log2(3))
    assert found.by_id["a"].ranking("file").value == pytest.approx(4.5 / (7 + 1 / math.log2(3)))
    with pytest.raises(InputError, match="k = 101 looks deeper than depth = 100"):
        evidence(folder, k=101)


def test_what_a_query_without_answer_and_a_missing_one_are(folder: Path) -> None:
    found = evidence(folder)
    assert [q.query_id for q in found.queries] == ["a", "b", "c"]
    assert found.n_unjudged_queries == 1
    assert not found.by_id["c"].has_answer
    assert found.by_id["c"].ranking("file").value == 1.0  # by convention, as `run` shows it
    missing = found.by_id["b"].ranking("file")
    assert (missing.status, missing.value, missing.documents) == ("missing", 0.0, ())
    # (1 / 7.63093 + 0 + 1) / 3
    assert found.mean("file") == pytest.approx((0.1310458 + 0 + 1) / 3, abs=1e-6)


def test_systems_have_the_tags_and_fields_of_the_project(folder: Path) -> None:
    file, words = evidence(folder).systems
    assert (file.name, file.kind, file.fields) == ("file", "vector", None)
    assert (words.name, words.kind, words.fields) == ("words", "lexical", ("title", "text"))


def test_complete_judgments_make_unlisted_documents_a_true_zero(folder: Path) -> None:
    text = "complete = true\n" + PROJECT
    (folder / "searchmark.toml").write_text(text)
    found = evidence(folder)
    assert [d.grade for d in found.by_id["a"].ranking("file").documents] == [1, 0, 3]
    assert found.n_unjudged_queries == 0  # known to have no answer


def test_a_query_that_does_not_exist_is_told_before_anything_runs(folder: Path) -> None:
    project = read_project(folder)
    with pytest.raises(InputError, match="there is no query 'aa'; did you mean 'a'"):
        run_evidence(project, queries=["aa"])
    with pytest.raises(InputError, match="nobody judged the query 'left out'"):
        run_evidence(project, queries=["left out"])
    assert not (folder / ".searchmark").exists()


def test_limits_that_cannot_be_are_told_together(folder: Path) -> None:
    text = PROJECT + '\n[diagnosis]\nfail = 0.6\ngap = 1.5\nk = 0\noff = ["pairwise"]\n'
    (folder / "searchmark.toml").write_text(text)
    with pytest.raises(ProjectError) as caught:
        read_project(folder)
    told = {p.key: p.message for p in caught.value.problems}
    assert told == {
        "diagnosis.fail": "0.6 is above succeed = 0.5",
        "diagnosis.gap": "1.5 is not from 0 to 1",
        "diagnosis.k": "0 is not 1 or more",
        "diagnosis.off[0]": "no rule is called 'pairwise'; did you mean 'pairwise-gap'?",
    }


def test_a_tag_that_no_rule_knows_is_refused(folder: Path) -> None:
    (folder / "searchmark.toml").write_text(PROJECT.replace('"vector"', '"vectors"'))
    with pytest.raises(ProjectError, match="did you mean 'vector'"):
        read_project(folder)


def test_the_system_of_the_gate_serves(folder: Path) -> None:
    assert serving_system(read_project(folder), evidence(folder)) is None
    (folder / "searchmark.toml").write_text(PROJECT + '\n[gate]\nsystem = "words"\n')
    project = read_project(folder)
    assert serving_system(project, run_evidence(project)) == "words"
    assert serving_system(project, run_evidence(project, ["file"])) is None


def test_gains_of_great_grades_are_shares_of_the_top_one(folder: Path) -> None:
    (folder / "qrels.txt").write_text("a 0 d1 2000\na 0 d2 1999\n")
    query = evidence(folder).by_id["a"]
    # 2^-1 of the top gain at rank 1, over 1 + 1/2 / log2(3)
    assert query.gains == {"d1": 1.0, "d2": 0.5}
    assert query.ranking("file").value == pytest.approx(0.5 / (1 + 0.5 / math.log2(3)))
    assert query.ideal == pytest.approx(1 + 0.5 / math.log2(3))
