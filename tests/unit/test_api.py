from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import searchmark
from searchmark import evaluate
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
    ],
)
def test_what_cannot_be_read_is_one_sentence(qrels: Any, run: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(qrels, run, ["RR"])


def test_it_is_the_package_s_own_name() -> None:
    assert searchmark.evaluate is evaluate
    assert searchmark.Result.__name__ == "Result"
