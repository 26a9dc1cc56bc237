import json
from pathlib import Path

import polars as pl

from searchmark.data import Hits, Qrels, Run, find_hits, prepare
from searchmark.data.corpus import Corpus
from searchmark.data.filters import Filter
from searchmark.data.queries import Queries
from searchmark.data.run import with_rank
from searchmark.data.violations import with_violations
from searchmark.experiments.experiment import hits_of, run_experiment
from searchmark.experiments.journal import Call
from searchmark.experiments.store import calls_table, digest_of, run_table
from searchmark.project import read_project

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["nDCG@3", "P@2"]
complete = true
[systems.words]
use = "bm25"
"""


def make(folder: Path, **changed: str) -> Path:
    files = {
        "c.jsonl": '{"_id": "a", "title": "red"}\n{"_id": "b", "title": "red blue"}\n',
        "q.jsonl": '{"_id": "1", "text": "red"}\n{"_id": "2", "text": "blue"}\n',
        "r.qrels": "1 0 a 2\n2 0 b 1\n",
        "searchmark.toml": PROJECT,
    }
    folder.mkdir(exist_ok=True)
    for name, text in {**files, **changed}.items():
        (folder / name).write_text(text)
    return folder


def test_the_same_inputs_give_the_same_digest_and_the_same_bytes(tmp_path: Path) -> None:
    one = run_experiment(read_project(make(tmp_path / "one"))).outcomes[0]
    two = run_experiment(read_project(make(tmp_path / "two"))).outcomes[0]
    assert one.digest == two.digest
    for name in ("run.parquet", "scores.parquet"):
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()


def test_every_input_changes_the_digest(tmp_path: Path) -> None:
    changes = {
        "nothing": {},
        "corpus": {"c.jsonl": '{"_id": "a", "title": "x"}\n{"_id": "b", "title": "y"}\n'},
        "queries": {"q.jsonl": '{"_id": "1", "text": "red"}\n{"_id": "2", "text": "red"}\n'},
        "qrels": {"r.qrels": "1 0 a 3\n2 0 b 1\n"},
        "measures": {"searchmark.toml": PROJECT.replace("nDCG@3", "nDCG(dcg=log2)@3")},
        "depth": {"searchmark.toml": "depth = 3\n" + PROJECT},
        "system": {"searchmark.toml": PROJECT + "k1 = 1.0\n"},
    }
    digests = {
        what: run_experiment(read_project(make(tmp_path / what, **files))).outcomes[0].digest
        for what, files in changes.items()
    }
    assert len(set(digests.values())) == len(changes)


def test_a_bundle_says_what_it_was_made_of(tmp_path: Path) -> None:
    outcome = run_experiment(read_project(make(tmp_path / "p"))).outcomes[0]
    manifest = json.loads((outcome.folder / "manifest.json").read_text())
    assert manifest["digest"] == outcome.digest
    assert manifest["configuration"]["k1"] == 1.2
    assert set(manifest["inputs"]) == {"corpus", "queries", "qrels"}
    scores = pl.read_parquet(outcome.folder / "scores.parquet")
    assert scores.columns == ["system", "query_id", "measure", "value"]
    # query 1: a (grade 2) and b match red; a is shorter, so a, b: nDCG 1, P@2 1/2
    assert scores.rows()[0] == ("words", "1", "nDCG@3", 1.0)
    calls = pl.read_parquet(outcome.folder / "calls.parquet")
    assert calls["status"].to_list() == ["ok", "ok"]


def test_tables_of_no_calls_have_their_columns() -> None:
    assert run_table([]).columns == ["query_id", "doc_id", "rank", "score"]
    assert "latency_ms" in calls_table([]).columns


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": {"x": 1, "y": 2}}) == digest_of({"b": {"y": 2, "x": 1}, "a": 1})


def hits_for(calls: list[Call], tmp_path: Path) -> Hits:
    from searchmark.experiments.inputs import read_inputs

    return hits_of(calls, read_inputs(read_project(make(tmp_path / "p"))))


def test_an_empty_answer_is_an_answer_and_a_failure_is_none(tmp_path: Path) -> None:
    calls = [Call("1", "empty", 1.0), Call("2", "error", 1.0, error="x")]
    hits = hits_for(calls, tmp_path)
    assert hits.answered.tolist() == [True, False]
    assert hits.failed.tolist() == [False, True]


def test_a_query_that_was_never_asked_is_missing_and_no_failure(tmp_path: Path) -> None:
    hits = hits_for([Call("1", "missing", 0.0), Call("2", "empty", 1.0)], tmp_path)
    assert hits.answered.tolist() == [False, True]
    assert hits.failed.tolist() == [False, False]


def test_a_document_returned_twice_counts_once_at_its_first_place(tmp_path: Path) -> None:
    calls = [Call("1", "ok", 1.0, ["b", "b", "a"], [3.0, 2.0, 1.0]), Call("2", "empty", 1.0)]
    hits = hits_for(calls, tmp_path)
    assert hits.rank.tolist() == [2]  # a, judged, behind b
    assert hits.n_retrieved.tolist() == [2, 0]
    assert hits.n_duplicates == 1


def test_the_order_of_an_answer_counts_not_its_scores(tmp_path: Path) -> None:
    calls = [Call("1", "ok", 1.0, ["b", "a"], [0.1, 0.9]), Call("2", "empty", 1.0)]
    assert hits_for(calls, tmp_path).rank.tolist() == [2]


def test_documents_that_break_a_filter_are_found_by_query_and_rank() -> None:
    corpus = Corpus(pl.DataFrame({"doc_id": ["a", "b"], "net": ["x", "y"]}))
    queries = Queries(
        pl.DataFrame({"query_id": ["1", "2"], "text": ["t", "t"]}),
        {"1": (Filter("net", "=", "x"),)},
    )
    run = Run.from_dict({"1": {"b": 3.0, "a": 2.0, "unknown": 1.0}, "2": {"b": 1.0}})
    judged = prepare(Qrels.from_dict({"1": {"a": 1}, "2": {"b": 1}}))
    hits = with_violations(find_hits(run, judged), with_rank(run.frame), queries, corpus)
    assert hits.has_filters is not None
    assert hits.violations is not None
    assert hits.has_filters.tolist() == [True, False]
    # b is on net y; a document outside the corpus satisfies nothing
    assert [v.tolist() for v in hits.violations] == [[0, 0], [1, 3]]


def test_what_queries_can_show_is_reckoned_where_somebody_shows_it(tmp_path: Path) -> None:
    # nDCG@3 is 1 for both queries, which shows nothing; P@2 is 1 (a and b) and 1/2 (b alone)
    project = read_project(make(tmp_path, **{"r.qrels": "1 0 a 2\n1 0 b 1\n2 0 b 1\n"}))
    shown = run_experiment(project).evaluation
    assert [s.measure for s in shown.sensitivity] == ["P@2"]
    assert run_experiment(project, sensitivity=False).evaluation.sensitivity == ()
