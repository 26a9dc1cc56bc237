"""TREC judgments under the name of a table."""

from pathlib import Path

import pytest

from searchmark.data.qrels import read_qrels


@pytest.mark.parametrize("doc_id", ["a,b", "a"])
@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.csv"])
def test_a_comma_in_an_id_makes_no_header(tmp_path: Path, name: str, doc_id: str) -> None:
    path = tmp_path / name
    path.write_text(f"q1\t0\t{doc_id}\t3\nq1\t0\tc\t0\n", encoding="utf-8")
    assert read_qrels(path).frame.rows() == [("q1", doc_id, 3), ("q1", "c", 0)]


def test_commas_between_columns_make_one(tmp_path: Path) -> None:
    path = tmp_path / "qrels.csv"
    path.write_text("query_id, doc_id, grade, 2\nq1,a,3,x\n", encoding="utf-8")
    assert read_qrels(path).frame.rows() == [("q1", "a", 3)]
