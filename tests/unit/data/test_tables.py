"""Corpus, queries and the records under them: every format gives the same table."""

from pathlib import Path

import polars as pl
import pytest

from searchmark.data import read_corpus, read_queries
from searchmark.data.filters import Filter
from searchmark.errors import InputError

JSONL = (
    '{"_id": "007", "title": "Bond", "text": "a spy", "tags": ["x", "y"], "n": 1, "leaf": true}\n'
    '{"_id": "http://a b/ö", "title": "Web", "text": "page", "tags": [], "n": 2.5, "leaf": false}\n'
)


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_ids_are_kept_as_they_are_written(tmp_path: Path) -> None:
    corpus = read_corpus(put(tmp_path / "c.jsonl", JSONL))
    assert corpus.doc_ids == ["007", "http://a b/ö"]
    assert corpus.frame.columns[:3] == ["doc_id", "title", "text"]


def test_columns_take_the_type_their_values_share(tmp_path: Path) -> None:
    frame = read_corpus(put(tmp_path / "c.jsonl", JSONL)).frame
    assert frame.schema["tags"] == pl.List(pl.String)
    assert frame.schema["n"] == pl.Float64
    assert frame.schema["leaf"] == pl.Boolean


def test_mixed_values_are_kept_as_text_not_lost(tmp_path: Path) -> None:
    text = '{"_id": "a", "v": {"k": 1}}\n{"_id": "b", "v": "plain"}\n{"_id": "c", "v": [1, 2]}\n'
    assert read_corpus(put(tmp_path / "c.jsonl", text)).texts("v") == ['{"k":1}', "plain", "[1,2]"]


def test_lists_are_joined_and_gaps_are_empty(tmp_path: Path) -> None:
    text = '{"_id": "a", "name": "N", "tags": ["x", "y"]}\n{"_id": "b"}\n'
    corpus = read_corpus(put(tmp_path / "c.jsonl", text))
    assert corpus.texts("tags") == ["x y", ""]
    assert corpus.joined(["name", "tags"]) == ["N x y", ""]


def test_an_unknown_field_lists_the_nearest(tmp_path: Path) -> None:
    corpus = read_corpus(put(tmp_path / "c.jsonl", JSONL))
    with pytest.raises(InputError, match="no field 'titel'; did you mean 'title'"):
        corpus.texts("titel")


def test_csv_tsv_json_and_parquet_give_the_same_documents(tmp_path: Path) -> None:
    rows = [("007", "Bond, James", "a spy"), ("b", 'says "hi"', "two\n\nlines")]
    frame = pl.DataFrame(rows, schema=["id", "title", "text"], orient="row")
    frame.write_csv(tmp_path / "c.csv")
    frame.write_csv(tmp_path / "c.tsv", separator="\t")
    frame.write_parquet(tmp_path / "c.parquet")
    frame.write_json(tmp_path / "c.json")
    for name in ("c.csv", "c.tsv", "c.parquet", "c.json"):
        table = read_corpus(tmp_path / name).frame.select("doc_id", "title", "text")
        assert table.rows() == rows, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"c\.jsonl: the corpus is empty"),
        ("\n\n", r"c\.jsonl: the corpus is empty"),
        ('{"_id": "a"}\n{"_id": ', r"c\.jsonl:2: not valid JSON"),
        ('{"_id": "a"}\n\n[1]\n', r"c\.jsonl:3: a JSON list, not an object"),
        ('{"_id": "a"}\n{"title": "t"}\n', r"c\.jsonl:2: the document id is missing"),
        ('{"_id": 1.5}\n', r"c\.jsonl:1: the document id is 1\.5, not text"),
        ('{"_id": "a"}\n{"_id": "b"}\n{"_id": "a"}\n', r"c\.jsonl:3: .*'a' occurs twice.*line 1"),
        ('{"name": "a"}\n', r"c\.jsonl:1: no column for the document id \(looked for doc_id"),
    ],
)
def test_a_bad_corpus_is_one_sentence_with_the_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_corpus(put(tmp_path / "c.jsonl", text))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.csv", "id,title\na,b,c\n", r"c\.csv:2: 3 columns where the header has 2"),
        ("c.csv", 'id,title\na,"b\n', r"c\.csv"),
        ("c.csv", "id,id\na,b\n", r"c\.csv:1: a column name occurs twice"),
        ("c.parquet", "no parquet", r"c\.parquet: not a readable Parquet file"),
        ("c.xml", "<a/>", r"c\.xml: cannot tell the format"),
        ("c.json", '{"a": 1}', r"c\.json: not a JSON array of objects"),
    ],
)
def test_a_bad_table_is_one_sentence(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_corpus(put(tmp_path / name, text))


def test_whole_number_ids_in_json_are_text(tmp_path: Path) -> None:
    assert read_corpus(put(tmp_path / "c.jsonl", '{"_id": 12}\n')).doc_ids == ["12"]


def test_queries_have_their_columns_and_filters(tmp_path: Path) -> None:
    text = (
        '{"_id": "q1", "text": "on base", "category": "filtered", '
        '"filters": {"network": "base", "amount": {"<=": 5}}}\n'
        '{"_id": "q2", "text": "plain", "note": "n"}\n'
    )
    queries = read_queries(put(tmp_path / "q.jsonl", text))
    assert queries.query_ids == ["q1", "q2"]
    assert queries.categories == ["filtered", None]
    assert queries.filters == {"q1": (Filter("network", "=", "base"), Filter("amount", "<=", 5))}
    assert queries.frame["note"].to_list() == [None, "n"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"_id": "q1", "text": " "}\n', r"q\.jsonl:1: the query 'q1' has no text"),
        ('{"_id": "q1", "text": "a"}\n{"_id": "q2"}\n', r"q\.jsonl:2: the query 'q2' has no text"),
        ('{"_id": "q1"}\n', r"no column for the query text"),
        ('{"_id": "q1", "text": "a"}\n{"_id": "q1", "text": "b"}\n', r"q\.jsonl:2: .*twice"),
        ('{"_id": "q1", "text": "a", "filters": [1]}\n', r"q\.jsonl:1: the filters of query 'q1'"),
        ('{"_id": "q1", "text": "a", "filters": {"n": {"~": 1}}}\n', r"unknown operator '~'"),
        ("", r"the query set is empty"),
    ],
)
def test_bad_queries_are_one_sentence_with_the_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_queries(put(tmp_path / "q.jsonl", text))
