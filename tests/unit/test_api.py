from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import searchmark
from searchmark import evaluate
from searchmark.api import Reading, evaluate_files, hits_of_files
from searchmark.errors import InputError

QRELS = {"007": {"a": 2, "b": 0}, "q2": {"c": 1}}
RUN = {"007": {"b": 3.0, "a": 2.0}, "q2": {"c": 1.0}}

QRELS_FRAME = pl.DataFrame(
    {"query_id": ["007", "007", "q2"], "doc_id": ["a", "b", "c"], "grade": [2, 0, 1]}
)
RUN_FRAME = pl.DataFrame(
    {"qid": ["007", "007", "q2"], "docno": ["b", "a", "c"], "score": [3.0, 2.0, 1.0]}
)


def identity(frame: pl.DataFrame) -> Any:
    return frame


@pytest.mark.parametrize(
    "form",
    [
        identity,
        pl.DataFrame.lazy,
        pl.DataFrame.to_pandas,
        pl.DataFrame.to_arrow,
        lambda f: list(f.iter_rows()),
        lambda f: f.iter_rows(),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "tuples", "iterator"],
)
def test_every_form_gives_the_same_numbers(form: Callable[[pl.DataFrame], Any]) -> None:
    result = evaluate(form(QRELS_FRAME), form(RUN_FRAME), ["RR", "nDCG@10"])
    # RR: 1/2 and 1. The id 007 keeps its zeros.
    assert result["RR"] == 0.75
    assert result.per_query.rows()[0] == ("run", "007", "RR", 0.5)


def test_dicts_and_paths_give_them_too(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("007 0 a 2\n007 0 b 0\nq2 0 c 1\n")
    (tmp_path / "run").write_text("007 Q0 b 1 3 x\n007 Q0 a 2 2 x\nq2 Q0 c 1 1 x\n")
    assert evaluate(QRELS, RUN, ["RR"])["RR"] == 0.75
    assert evaluate(tmp_path / "qrels", str(tmp_path / "run"), ["RR"])["RR"] == 0.75


def test_several_runs_by_name() -> None:
    better = {"007": {"a": 1.0}, "q2": {"c": 1.0}}
    result = evaluate(QRELS, {"one": RUN, "two": better}, ["RR"])
    assert result.means == {"one": {"RR": 0.75}, "two": {"RR": 1.0}}
    with pytest.raises(InputError, match="several runs"):
        _ = result["RR"]


def test_it_shows_itself_as_a_table() -> None:
    result = evaluate(QRELS, {"<b>": RUN}, ["RR"])
    assert "Conventions: profile trec" in repr(result)
    assert "<td" in result._repr_html_()
    assert "&lt;b&gt;" in result._repr_html_()


def test_conventions_and_counts_come_with_the_numbers() -> None:
    result = evaluate(QRELS, {"007": {"a": 1.0}, "extra": {"z": 1.0}}, ["RR"], profile="graded")
    assert result.conventions == {"RR": "RR(rel=1,empty=zero,missing=zero)"}
    assert result["RR"] == 0.5  # q2 is missing and counts as 0
    counts = result.counts["run"]
    assert (counts.n_answered, counts.n_missing, counts.n_unjudged_queries) == (1, 1, 1)


def test_ties_are_told() -> None:
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ["RR"])
    assert result["RR"] == 0.5  # b, then a
    band = result.bands["run"]["RR"]
    assert (band.worst, band.expected, band.best) == (0.5, 0.75, 1.0)


def test_float32_compares_as_pytrec_eval_does() -> None:
    run = {"q": {"a": 1.0000000002, "b": 1.0000000001}}
    assert evaluate({"q": {"a": 1}}, run, ["RR"])["RR"] == 1.0
    assert evaluate({"q": {"a": 1}}, run, ["RR"], scores="float32")["RR"] == 0.5


def test_given_ranks_can_be_the_truth() -> None:
    run = pl.DataFrame(
        {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [0.1, 0.9], "rank": [1, 2]}
    )
    assert evaluate({"q": {"a": 1}}, run, ["RR"], order="rank")["RR"] == 1.0
    # without ranks, the order in which documents are given
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 0.1, "b": 0.9}}, ["RR"], order="rank")["RR"] == 1.0


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, 7, "of type int: no path, dict, table or tuples"),
        (QRELS, [("q", "d")], "no path, dict, table or tuples"),
        (QRELS, {}, "no run to evaluate"),
        (QRELS, {"q": {"d": "high"}}, "no number"),
        (QRELS, {"q": {"d": float("nan")}}, "NaN"),
        ({"q": {"d": 1.5}}, RUN, "no integer"),
        ({"q": [1]}, RUN, "no dict of document"),
        ({7: {"d": 1}}, RUN, "an id that is no text"),
        (pl.DataFrame({"a": [1]}), RUN, "no column for the query id"),
        ([("q", "d", 1), ("q", "d", 2)], RUN, "judged twice"),
        (QRELS, [("q", "d", 1.0), ("q", "d", 2.0), ("007", "a", 1.0), ("007", "a", 1.0)], "twice"),
        ("no/such/file", RUN, "no such file"),
        ({}, RUN, "there are no judgments"),
        ([], RUN, "there are no judgments"),
        ({"q": {}}, RUN, "there are no judgments"),
        ({"q": {"d": 2**70}}, RUN, "the grade .* in row 1 of the judgments is no integer"),
        ({"q": {"d": None}}, RUN, "row 1 of the judgments has no grade"),
        ({None: {"d": 1}}, RUN, "an id that is no text"),
        (QRELS, {None: {"a": 1.0}}, "an id that is no text"),
        (QRELS, {"q": {None: 1.0}}, "row 1 of the run has no doc_id"),
        (QRELS, {"q": {"\ud800": 1.0}}, "an id that is no text"),
        (QRELS, {"q": {b"a": 1.0}}, "an id that is no text"),
        (QRELS, [("q", "a", 1.0), (2, "a", 1.0)], "an id that is no text"),
        (QRELS, {"\ud800": RUN}, "cannot be printed"),
        (QRELS, {"q": {"d": 1j}}, "holds object: no number"),
        (QRELS, {"q": {"d": np.array([1, 2])}}, "holds array: no number"),
        (QRELS, {"q": {"d": date(2020, 1, 1)}}, "holds date: no number"),
        (QRELS, {"q": {"d": True}}, "holds boolean: no number"),
        ({"q": {"d": date(2020, 1, 1)}}, RUN, "holds date: no integer"),
        (QRELS, RUN_FRAME.with_columns(docno=pl.Series([1.0, 2.0, 3.0])), "holds float64: no text"),
        (QRELS, RUN_FRAME.with_columns(docno=pl.Series([["a"]] * 3)), "holds list: no text"),
        (QRELS, RUN_FRAME.with_columns(score=pl.Series([[1]] * 3)), "holds list: no number"),
        (QRELS, RUN_FRAME.with_columns(rank=pl.Series([0.9, 0.1, 1.0])), "rank 0.9 in row 1"),
        (QRELS, RUN_FRAME.with_columns(score=pl.Series([1j] * 3)), "holds object: no number"),
        (QRELS, RUN_FRAME.lazy().select("gone"), "is no table that can be read"),
        (
            QRELS,
            pd.DataFrame([["q", "a", 1, 2]], columns=["qid", "did", "score", "score"]),
            "table",
        ),
        (QRELS, pd.DataFrame({"qid": ["q", 2], "did": ["a", "b"], "score": [1, 2]}), "no table"),
        (QRELS, pd.DataFrame({"qid": ["q"], "did": ["a"], "score": [2**70]}), "no table"),
        (QRELS, pd.Series([1, 2]), "no table"),
        (QRELS, pl.Series([1, 2]), "no path, dict, table or tuples"),
        (QRELS, pa.chunked_array([[1, 2]]), "no table"),
        (QRELS, {"007": {"a": 1.0}, "q2": None}, "of query 'q2' is no dict"),
        (QRELS, {1: RUN, "1": RUN}, "two runs are called '1'"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(qrels: Any, run: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(qrels, run, ["RR"])


def test_it_is_the_package_s_own_name() -> None:
    assert searchmark.evaluate is evaluate
    assert searchmark.Result.__name__ == "Result"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"order": "x"}, "order='x' is unknown; known: rank, score"),
        ({"order": None}, "order=None is unknown"),
        ({"scores": "x"}, "scores='x' is unknown; known: float32, float64"),
        ({"profile": None}, "unknown profile 'None'; known: answerable, graded, trec"),
        ({"profile": []}, "unknown profile"),
        ({"measures": None}, "measures=None names no measures"),
        ({"measures": [5]}, "the measure 5 is no text"),
        ({"measures": [None]}, "the measure None is no text"),
        ({"measures": []}, "there are no measures"),
    ],
)
def test_wrong_arguments_are_one_sentence(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(QRELS, RUN, **given)


def test_a_single_measure_may_be_a_text() -> None:
    assert evaluate(QRELS, RUN, "RR").means == {"run": {"RR": 0.75}}


def test_a_measure_written_in_two_ways_is_one_column() -> None:
    result = evaluate(QRELS, RUN, ["MAP", "AP", "map", "RR"])
    assert list(result.means["run"]) == ["AP", "RR"]
    assert result["MAP"] == result["AP"]
    with pytest.raises(InputError, match="'nope' was not measured; known: AP, RR"):
        _ = result["nope"]


def test_what_cannot_be_compared_is_one_sentence() -> None:
    result = evaluate(QRELS, {"A": RUN, "B": RUN}, ["RR"])
    wrong: Any = 3
    with pytest.raises(InputError, match="no system is called '3'; known: A, B"):
        result.compare(wrong)
    with pytest.raises(InputError, match="settings=3 are none"):
        result.compare(settings=wrong)


def test_a_query_without_documents_was_answered_with_nothing() -> None:
    judged = {"q1": {"a": 1}, "q2": {"a": 1}}
    # AP 0 and 1, as pytrec_eval has it; a query that is not in the dict is left out
    result = evaluate(judged, {"q1": {}, "q2": {"a": 1.0}, "other": {}}, ["AP"])
    assert result["AP"] == 0.5
    counts = result.counts["run"]
    assert (counts.n_answered, counts.n_missing, counts.n_unjudged_queries) == (2, 0, 1)
    assert evaluate(judged, {"q2": {"a": 1.0}}, ["AP"])["AP"] == 1.0
    # in the general path too: ranks decide
    assert evaluate(judged, {"q1": {}, "q2": {"a": 1.0}}, ["AP"], order="rank")["AP"] == 0.5


def test_a_run_that_found_nothing_is_a_run() -> None:
    for first in ({}, {"007": {}, "q2": {}}):
        result = evaluate(QRELS, {"A": first, "B": RUN}, ["RR"], profile="graded")
        assert result.means == {"A": {"RR": 0.0}, "B": {"RR": 0.75}}
    assert evaluate(QRELS, {"A": {}, "B": RUN_FRAME}, ["RR"]).means["A"] == {"RR": None}
    assert evaluate(QRELS, [], ["RR"])["RR"] is None


@pytest.mark.parametrize(
    "run",
    [
        {"q": {"b": 1, "a": 0.5}},
        {"q": {"b": 1, "a": np.float32(0.5)}},
        [("q", "b", 1), ("q", "a", 0.5)],
    ],
)
def test_whole_numbers_and_others_may_be_mixed(run: Any) -> None:
    assert evaluate({"q": {"a": 1, "c": 1.0}}, run, ["RR"])["RR"] == 0.5


def test_whole_number_ids_of_a_table_are_text() -> None:
    frame = pl.DataFrame({"query_id": [7], "doc_id": [1], "score": [1.0]})
    assert evaluate({"7": {"1": 1}}, frame, ["RR"])["RR"] == 1.0


def test_no_run_is_lost_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q 0 a 1\n")
    Path("old.run").write_text("q Q0 a 1 2 bm25\n")
    Path("bm25").write_text("q Q0 b 1 2 bm25\nq Q0 a 2 1 bm25\n")
    paths = [Path("old.run"), Path("bm25"), Path("bm25")]
    hits = hits_of_files(Path("qrels"), paths, Reading())
    # the second has the tag and the path of others' names
    means = evaluate_files(hits, ["RR", "recip_rank"]).means
    assert means == {"bm25": {"RR": 1.0}, "bm25 (2)": {"RR": 0.5}, "bm25 (3)": {"RR": 0.5}}
