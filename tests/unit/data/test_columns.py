"""Typed tables: what cannot be meant is told with its file and place, never altered or dropped."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data.judged import prepare
from searchmark.data.qrels import Qrels, read_qrels
from searchmark.data.queries import read_queries
from searchmark.data.reading import hits_in_file
from searchmark.errors import InputError

JUDGED = prepare(Qrels.from_dict({"q": {"a": 1}}))
RUN: dict[str, list[Any]] = {"query_id": ["q", "q"], "doc_id": ["b", "a"], "score": [2.0, 1.0]}
QRELS: dict[str, list[Any]] = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "grade": [1, 0]}


def parquet(path: Path, columns: dict[str, list[Any]]) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def lines(path: Path, columns: dict[str, list[Any]]) -> Path:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("order", ["score", "rank"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"score": ["2", "x"]}, r"the score 'x' in row 2 of the run is no number"),
        ({"score": [[1.0], [2.0]]}, r"the column 'score' of the run holds list: no number"),
        ({"score": [date(2020, 1, 1)] * 2}, r"the column 'score' of the run holds date: no number"),
        ({"score": [2.0, None]}, r"row 2 of the run has no score"),
        ({"doc_id": [["b"], ["a"]]}, r"the column 'doc_id' of the run holds list: no text"),
        ({"doc_id": [1.0, 2.0]}, r"the column 'doc_id' of the run holds float64: no text"),
        ({"rank": [0.9, 0.1]}, r"the rank 0\.9 in row 1 of the run is no integer"),
        ({"rank": [True, False]}, r"the column 'rank' of the run holds boolean: no integer"),
    ],
)
def test_a_parquet_run_of_other_types_names_its_column(
    tmp_path: Path, order: Any, change: dict[str, list[Any]], says: str
) -> None:
    path = parquet(tmp_path / "r.parquet", {**RUN, **change})
    with pytest.raises(InputError, match=rf"r\.parquet: {says}"):
        hits_in_file(path, JUDGED, order=order)


@pytest.mark.parametrize("change", [{"rank": [2.0, 1.0]}, {"rank": [2, 1], "doc_id": ["b", "a"]}])
@pytest.mark.parametrize("write", [parquet, lines])
def test_whole_ranks_are_ranks_however_they_are_stored(
    tmp_path: Path, write: Any, change: dict[str, list[Any]]
) -> None:
    path = write(tmp_path / f"r.{'parquet' if write is parquet else 'jsonl'}", {**RUN, **change})
    assert hits_in_file(path, JUDGED, order="rank")[1].rank.tolist() == [1]
    assert hits_in_file(path, JUDGED)[1].rank.tolist() == [2]


def test_without_scores_ranks_make_them(tmp_path: Path) -> None:
    columns = {"query_id": ["q", "q"], "doc_id": ["b", "a"], "rank": [2, 1]}
    path = parquet(tmp_path / "r.parquet", columns)
    assert hits_in_file(path, JUDGED)[1].rank.tolist() == [1]


def test_whole_number_ids_are_text(tmp_path: Path) -> None:
    judged = prepare(Qrels.from_dict({"7": {"1": 1}}))
    path = parquet(tmp_path / "r.parquet", {"query_id": [7], "doc_id": [1], "score": [0.5]})
    assert hits_in_file(path, judged)[1].rank.tolist() == [1]


@pytest.mark.parametrize("rank", [0.9, True, "0.9", "1e0", None, [1]])
def test_a_rank_that_is_no_integer_names_its_line(tmp_path: Path, rank: Any) -> None:
    path = lines(tmp_path / "r.jsonl", {**RUN, "rank": [1, rank]})
    with pytest.raises(InputError, match=r"r\.jsonl:2: the rank '.*' is no integer"):
        hits_in_file(path, JUDGED, order="rank")


@pytest.mark.parametrize(
    ("grade", "says"),
    [
        (1.5, "the grade '1.5' is no integer"),
        (1e300, "the grade is too large for a 64-bit integer"),
        (True, "the grade 'True' is no integer"),
        ("high", "the grade 'high' is no integer"),
    ],
)
def test_a_wrong_grade_names_its_line_or_row(tmp_path: Path, grade: Any, says: str) -> None:
    path = lines(tmp_path / "q.jsonl", {**QRELS, "grade": [1, grade]})
    with pytest.raises(InputError, match=rf"q\.jsonl:2: {says}"):
        read_qrels(path)
    path = parquet(tmp_path / "q.parquet", {**QRELS, "grade": [grade, grade]})
    with pytest.raises(InputError, match=rf"q\.parquet: {says} \(row 1\)"):
        read_qrels(path)


def test_a_wrong_score_in_json_names_its_row(tmp_path: Path) -> None:
    rows = [{"query_id": "q", "doc_id": "a", "score": s} for s in (1, "x")]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"r\.json: the score 'x' is no number \(row 2\)"):
        hits_in_file(path, JUDGED)


@pytest.mark.parametrize("name", ["category", "cluster", "capability", "split"])
@pytest.mark.parametrize("value", [["a"], {"a": 1}])
def test_a_list_where_one_text_belongs_names_its_line(
    tmp_path: Path, name: str, value: Any
) -> None:
    columns = {"_id": ["p", "q"], "text": ["x", "y"], name: ["one", value]}
    path = lines(tmp_path / "q.jsonl", columns)
    with pytest.raises(InputError, match=rf"q\.jsonl:2: the {name} of query 'q' is .*, not text"):
        read_queries(path)


def test_a_number_is_a_category(tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", {"_id": ["p"], "text": ["x"], "category": [3]})
    assert read_queries(path).categories == ["3"]
