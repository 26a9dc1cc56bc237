"""The indexes of bm25s and Tantivy as systems, beside what the libraries answer themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from searchmark.data import Corpus, read_corpus, read_queries
from searchmark.errors import InputError, SystemFailedError
from searchmark.systems import SYSTEMS
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Kind, Query, System

bm25s = pytest.importorskip("bm25s")
tantivy = pytest.importorskip("tantivy")
stemmers = pytest.importorskip("Stemmer")

DOCS = Corpus(
    pl.DataFrame(
        {
            "doc_id": ["d1", "d2", "d3", "d4"],
            "title": ["Cats", "Dogs", "To be", "C++ and C#"],
            "text": ["a cat sleeps", "the dog barks at a cat", "or NOT to be", "what's new (2024)"],
        }
    )
)


@contextmanager
def opened(use: str, folder: Path, corpus: Corpus = DOCS, **keys: Any) -> Iterator[System]:
    kind: Kind = SYSTEMS.load(use)
    config = msgspec.convert(keys, kind.config)
    with Pool({"s": Entry("s", use, config)}, corpus, folder=folder, cache=folder) as pool:
        yield pool.open("s")


def ids(system: System, text: str, k: int = 10) -> list[str]:
    return [h.doc_id for h in system.search(Query("q", text), k).hits]


def problems(use: str, **keys: Any) -> dict[str, str]:
    kind: Kind = SYSTEMS.load(use)
    assert kind.problems is not None
    return {p.key: p.message for p in kind.problems(msgspec.convert(keys, kind.config), "s", {})}


@pytest.fixture(scope="module")
def cranfield(shared: Path) -> tuple[Corpus, list[str]]:
    folder = shared / "data" / "cranfield"
    queries = read_queries(folder / "queries.jsonl").texts
    return read_corpus(folder / "corpus.jsonl"), list(queries)[:60]


# bm25s


def direct(corpus: Corpus, queries: list[str], k: int) -> list[list[tuple[str, float]]]:
    """What a person writes who uses the library by hand."""
    stemmer = stemmers.Stemmer("english")
    keys = {"stopwords": "en", "stemmer": stemmer, "show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(corpus.joined(["title", "text"]), **keys), show_progress=False)
    found = index.retrieve(bm25s.tokenize(queries, **keys), k=k, show_progress=False)
    names = corpus.doc_ids
    return [
        [(names[row], float(score)) for row, score in zip(rows, scores, strict=True) if score > 0]
        for rows, scores in zip(found.documents, found.scores, strict=True)
    ]


def test_bm25s_built_from_the_corpus_ranks_as_the_library_does(
    cranfield: tuple[Corpus, list[str]], tmp_path: Path
) -> None:
    corpus, queries = cranfield
    expected = direct(corpus, queries, 20)
    with opened("bm25s", tmp_path, corpus, stemmer="english") as system:
        for text, pairs in zip(queries, expected, strict=True):
            hits = system.search(Query("q", text), 20).hits
            # rows of equal score may stand in either order: the ids of words differ between calls
            assert [h.score for h in hits] == pytest.approx([s for _, s in pairs], rel=1e-5)
            assert {h.doc_id for h in hits[:10]} == {d for d, _ in pairs[:10]}


@pytest.mark.parametrize("how", ["file", "saved corpus", "key"])
def test_a_saved_bm25s_index_is_read_with_its_ids(tmp_path: Path, how: str) -> None:
    words = bm25s.tokenize(DOCS.texts("text"), return_ids=False, show_progress=False)
    index = bm25s.BM25()
    index.index(words, show_progress=False)
    folder, keys = tmp_path / "index", {"index": "index"}
    if how == "file":
        index.save(folder, show_progress=False)
        (tmp_path / "ids.txt").write_text("d1\nd2\nd3\nd4\n")
        keys["ids"] = "ids.txt"
    elif how == "saved corpus":
        index.save(folder, corpus=[{"id": d} for d in DOCS.doc_ids], show_progress=False)
    else:
        saved = [{"meta": {"name": d}} for d in DOCS.doc_ids]
        index.save(folder, corpus=saved, show_progress=False)
        keys["id"] = "meta.name"
    with opened("bm25s", tmp_path, **keys) as system:
        assert ids(system, "cat") == ["d1", "d2"]  # the shorter text first
        assert ids(system, "dog cat") == ["d2", "d1"]
        first = dict(system.identity)
    assert set(first) == {"index"}
    if how == "file":
        (tmp_path / "ids.txt").write_text("d1\nd2\nd4\nd3\n")
        with opened("bm25s", tmp_path, **keys) as system:
            assert system.identity != first


def test_bm25s_answers_nothing_where_no_word_is_known(tmp_path: Path) -> None:
    with opened("bm25s", tmp_path) as system:
        for text in ["zebra", "", "?!", "the", "--", '"']:
            assert system.search(Query("q", text), 3).hits == ()
        assert ids(system, "cat", 1) == ["d1"]  # 3 words; d2 has 4
    blank = Corpus(pl.DataFrame({"doc_id": ["d1"], "text": ["the"]}))
    with opened("bm25s", tmp_path, blank, fields=["text"]) as system:
        assert system.search(Query("q", "the cat"), 3).hits == ()


def test_bm25s_says_what_is_wrong_with_a_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="there is no such folder"),
        opened("bm25s", tmp_path, index="nowhere"),
    ):
        pass
    (tmp_path / "empty").mkdir()
    with (
        pytest.raises(InputError, match=r"empty: bm25s cannot read this index \("),
        opened("bm25s", tmp_path, index="empty"),
    ):
        pass
    index = bm25s.BM25()
    words = bm25s.tokenize(DOCS.texts("text"), return_ids=False, show_progress=False)
    index.index(words, show_progress=False)
    index.save(tmp_path / "index", show_progress=False)
    (tmp_path / "ids").write_text("d1\nd2\n")
    with (
        pytest.raises(InputError, match="2 ids for the 4 documents"),
        opened("bm25s", tmp_path, index="index", ids="ids"),
    ):
        pass
    (tmp_path / "index" / "corpus.jsonl").write_text('{"id": "d1"}\n{"name": "d2"}\n')
    with (
        pytest.raises(InputError, match=r"corpus\.jsonl:2: no id stands here"),
        opened("bm25s", tmp_path, index="index"),
    ):
        pass


PARTS = {
    "no vocabulary": ("vocab.index.json", lambda _: {}, "its vocabulary is not that"),
    "another vocabulary": ("vocab.index.json", lambda _: {"cat": 999}, "its vocabulary"),
    "no number": ("vocab.index.json", lambda v: v | {"cat": "1"}, "its vocabulary"),
    "NaN": ("data.csc.index.npy", lambda a: a * np.nan, "no finite number"),
    "too many documents": ("indices.csc.index.npy", lambda a: a + 4, "beyond its 4"),
    "negative": ("indices.csc.index.npy", lambda a: a - 4, "beyond its 4"),
    "too few rows": ("indices.csc.index.npy", lambda a: a[:-1], "different lengths"),
    "other words": ("indptr.csc.index.npy", lambda a: a[::-1], "different lengths"),
}


@pytest.mark.parametrize("what", PARTS)
def test_parts_of_different_bm25s_indexes_are_told(tmp_path: Path, what: str) -> None:
    index = bm25s.BM25()
    words = bm25s.tokenize(DOCS.texts("text"), return_ids=False, show_progress=False)
    index.index(words, show_progress=False)
    saved = [{"id": d} for d in DOCS.doc_ids]
    index.save(tmp_path / "index", corpus=saved, show_progress=False)
    name, change, told = PARTS[what]
    path = tmp_path / "index" / name
    if path.suffix == ".npy":
        np.save(path, change(np.load(path)))
    else:
        path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(InputError, match=told), opened("bm25s", tmp_path, index="index"):
        pass


def test_ids_that_are_not_utf8_are_told(tmp_path: Path) -> None:
    index = bm25s.BM25()
    words = bm25s.tokenize(DOCS.texts("text"), return_ids=False, show_progress=False)
    index.index(words, show_progress=False)
    index.save(tmp_path / "index", show_progress=False)
    (tmp_path / "ids").write_bytes(b"d1\nd2\nd3\n\xff\n")
    with (
        pytest.raises(InputError, match=r"ids: is not UTF-8.*save it as UTF-8"),
        opened("bm25s", tmp_path, index="index", ids="ids"),
    ):
        pass
    text = "\ufeffd1\r\nd\u20282\r\nd3\r\nd4\r\n"  # as Windows writes it; an id holds what it likes
    (tmp_path / "ids").write_bytes(text.encode())
    with opened("bm25s", tmp_path, index="index", ids="ids") as system:
        assert ids(system, "cat") == ["d1", "d\u20282"]


def test_keys_of_bm25s_that_make_no_index_are_problems() -> None:
    assert problems("bm25s") == {}
    assert "'english'" in problems("bm25s", stemmer="englisch")["stemmer"]
    assert set(problems("bm25s", fields=[], b=2, k1=-1, pattern="(", ids="x", id="a..b")) == {
        "fields", "b", "k1", "pattern", "ids", "id"
    }  # fmt: skip


# Tantivy


def tantivy_index(corpus: Corpus, path: Path | None) -> Any:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("doc_id", stored=True, tokenizer_name="raw")
    schema.add_text_field("title", tokenizer_name="en_stem")
    schema.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(schema.build(), str(path) if path else None)
    writer = index.writer(64_000_000, 1)
    rows = zip(corpus.doc_ids, corpus.texts("title"), corpus.texts("text"), strict=True)
    for doc_id, title, text in rows:
        writer.add_document(tantivy.Document(doc_id=doc_id, title=title, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


@pytest.mark.parametrize("saved", [True, False])
def test_tantivy_ranks_as_the_library_does(
    cranfield: tuple[Corpus, list[str]], tmp_path: Path, saved: bool
) -> None:
    corpus, queries = cranfield
    folder = tmp_path / "index"
    folder.mkdir()
    library = tantivy_index(corpus, folder)
    searcher = library.searcher()
    keys: dict[str, Any] = {"fields": {"title": 2.0, "text": 1.0}}
    with opened("tantivy", tmp_path, corpus, **keys, **({"index": "index"} if saved else {})) as s:
        for text in queries:
            plain = "".join(c if c.isalnum() else " " for c in text).lower()
            asked = library.parse_query(plain, ["title", "text"], field_boosts=keys["fields"])
            found = searcher.search(asked, 20)
            pairs = [(searcher.doc(at).get_first("doc_id"), score) for score, at in found.hits]
            answer = s.search(Query("q", text), 20)
            assert [(h.doc_id, h.score) for h in answer.hits] == pairs
            assert answer.total == found.count
        assert set(s.identity) == ({"index"} if saved else set())


SIGNS = [
    ('"cat" AND', ["d1", "d2", "d4"]),  # d4 holds the word "and"
    ("title:(cats", ["d1", "d2"]),
    ("dog:cat", ["d2", "d1"]),
    ("-dog", ["d2"]),
    ("cat)^3 [a TO", ["d1", "d2", "d3"]),
    ("cats\\", ["d1", "d2"]),
    ("dog's", ["d2", "d4"]),  # the word s of "what's"
    ("cat/dog", ["d2", "d1"]),
    ("*", []),
    ("", []),
    ("NOT", ["d3"]),
]


@pytest.mark.parametrize(("text", "expected"), SIGNS)
def test_tantivy_takes_a_query_for_its_words_alone(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    with opened("tantivy", tmp_path) as system:
        assert set(ids(system, text)) == set(expected)


def test_tantivy_can_give_the_text_to_its_parser(tmp_path: Path) -> None:
    with opened("tantivy", tmp_path, parse="strict") as system:
        assert ids(system, "cat -dog") == ["d1"]
        with pytest.raises(SystemFailedError, match="the query parser of Tantivy said: Syntax"):
            ids(system, "cat AND")
    with opened("tantivy", tmp_path, parse="lenient") as system:
        assert set(ids(system, "cat AND")) == {"d1", "d2", "d4"}
    with opened("tantivy", tmp_path, operator="and") as system:
        assert ids(system, "cat dog") == ["d2"]
        with pytest.raises(SystemFailedError, match="half a surrogate pair"):
            ids(system, "cat \ud800")


def test_tantivy_says_what_is_wrong_with_an_index(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for index in ("nowhere", "empty"):
        with pytest.raises(InputError, match=index), opened("tantivy", tmp_path, index=index):
            pass
    (tmp_path / "index").mkdir()
    tantivy_index(DOCS, tmp_path / "index")
    with (
        pytest.raises(InputError, match=r"`name` is not defined.*'fields'"),
        opened("tantivy", tmp_path, index="index", fields=["name"]),
    ):
        pass
    with (
        opened("tantivy", tmp_path, index="index", id="title") as system,
        pytest.raises(SystemFailedError, match="stored field 'title' is None"),
    ):
        ids(system, "cat")
    assert json.loads((tmp_path / "index" / "meta.json").read_text())["segments"]


def test_keys_of_tantivy_that_make_no_index_are_problems() -> None:
    assert problems("tantivy") == {}
    assert set(problems("tantivy", fields={"text": 0}, id="text")) == {"fields.text", "id"}
    assert set(problems("tantivy", fields=[])) == {"fields"}
