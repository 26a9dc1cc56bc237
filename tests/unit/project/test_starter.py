"""What `searchmark init` makes of a folder."""

import gzip
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from searchmark.errors import InputError
from searchmark.project import starter
from searchmark.project.starter import find_data, starter_text

DOCUMENTS: list[dict[str, Any]] = [
    {
        "_id": "d1",
        "name": "red apple",
        "about": "a sweet fruit that grows on trees; see https://example.com for pictures of it",
        "tags": ["fruit", "red"],
        "url": "https://example.com/apple",
        "price": 1.5,
        "state": "2024-01-02",
    },
    {
        "_id": "d2",
        "name": "grey stone",
        "about": "not a fruit at all, found on the ground of most fields and beside many roads",
        "tags": ["rock"],
        "url": "https://example.com/stone",
        "price": 0.5,
        "state": "2024-01-03",
    },
]
QUERIES = '{"_id": "q1", "text": "apple"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"


def fill(folder: Path, names: tuple[str, str, str], documents: Any = None) -> Path:
    """Write the three files under the given names; those ending in .gz are packed."""
    corpus = "".join(json.dumps(d) + "\n" for d in documents or DOCUMENTS)
    for name, text in zip(names, (corpus, QUERIES, QRELS), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = text.encode()
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder


@pytest.mark.parametrize(
    "names",
    [
        ("corpus.jsonl", "queries.jsonl", "qrels.tsv"),
        ("data/corpus.jsonl", "data/queries.jsonl", "data/qrels.tsv"),
        ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"),
        ("documents.ndjson.gz", "topics.jsonl", "judgments.tsv"),
        ("corpus-2024.jsonl", "queries_small.jsonl", "qrels_small.tsv"),
    ],
)
def test_the_usual_names_are_found(tmp_path: Path, names: tuple[str, str, str]) -> None:
    found = find_data(fill(tmp_path, names))
    assert found.files == dict(zip(("corpus", "queries", "qrels"), names, strict=True))
    assert f"{names[0]} is the corpus, with 2 documents" in found.guesses


def test_the_plain_name_wins_over_a_longer_one(tmp_path: Path) -> None:
    fill(tmp_path, ("corpus-old.jsonl", "queries.jsonl", "qrels.tsv"))
    fill(tmp_path, ("data/corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    assert find_data(tmp_path).files["corpus"] == "data/corpus.jsonl"


def test_fields_are_those_that_read_like_text(tmp_path: Path) -> None:
    found = find_data(fill(tmp_path, ("corpus.jsonl", "queries.jsonl", "qrels.tsv")))
    # the address, the price and the date are no text; about is longer than 60 characters
    assert found.fields == {"name": 3.0, "about": 1.0, "tags": 3.0}


def test_a_corpus_without_text_is_told(tmp_path: Path) -> None:
    fill(tmp_path, ("corpus.jsonl", "queries.jsonl", "qrels.tsv"), [{"_id": "d1", "n": 1}])
    with pytest.raises(InputError, match="no text field"):
        find_data(tmp_path)


def test_only_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    fill(tmp_path, ("corpus.jsonl", "queries.jsonl", "somewhere.tsv"))
    with pytest.raises(InputError) as caught:
        find_data(tmp_path)
    assert "called like the qrels (qrels: qrels, judgments" in str(caught.value)
    assert "topics" not in str(caught.value)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        find_data(tmp_path / "nowhere")


def test_names_that_toml_would_misread_are_quoted(tmp_path: Path) -> None:
    odd = 'pear "\U0001f350".text\x7f'
    documents = [{"_id": "d1", odd: "a sweet fruit"}]
    fill(tmp_path, ("corpus.jsonl", "queries.jsonl", "qrels.tsv"), documents)
    table = tomllib.loads(starter_text(find_data(tmp_path)))
    assert table["systems"]["keyword"]["fields"] == {odd: 3}


def test_without_the_extra_the_file_has_no_dense_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    with_dense = tomllib.loads(starter_text(find_data(tmp_path)))
    assert list(with_dense["systems"]) == ["keyword", "dense", "hybrid"]
    assert with_dense["gate"]["system"] == "hybrid"
    monkeypatch.setattr(starter, "find_spec", lambda name: None)
    found = find_data(tmp_path)
    without = tomllib.loads(starter_text(found))
    assert list(without["systems"]) == ["keyword"]
    assert without["gate"]["system"] == "keyword"
    assert "no dense system: pip install onnxruntime onnx tokenizers" in found.guesses
