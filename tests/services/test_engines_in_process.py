"""SQLite FTS5, DuckDB FTS and Qdrant through the python adapter, as the examples have them."""

import json
import runpy
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from string import punctuation

import duckdb
import pytest

from searchmark.data import read_corpus, read_queries
from searchmark.data.queries import Queries
from searchmark.project import read_project
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Query, System

HOSTILE = [
    "",
    "   ",
    "'; DROP TABLE documents; --",
    'wing" OR * NEAR( -flow NOT {x} : ^',
    "AND OR NOT NEAR",
    "title:wing doc_id:1",
    "$query ? %s\n\t\\",
    "wing\0flow",
    "検索 🔎 ünïcødé",
]

NO_SIGNS = str.maketrans(dict.fromkeys(punctuation, " "))

OpenExample = Callable[..., tuple[System, Queries]]


@pytest.fixture(scope="module")
def open_example(cranfield_part: Path, repository: Path) -> Iterator[OpenExample]:
    """Copy an example beside the part of Cranfield; open one of its systems."""
    with ExitStack() as stack:
        pools: dict[str, tuple[Pool, Queries]] = {}

        def open_(example: str, system: str) -> tuple[System, Queries]:
            if example not in pools:
                folder = shutil.copytree(
                    repository / "examples" / example, cranfield_part / example
                )
                project = read_project(folder)
                pool = Pool(
                    project.systems,
                    read_corpus(project.corpus),
                    folder=folder,
                    cache=folder / ".searchmark" / "cache",
                )
                pools[example] = (stack.enter_context(pool), read_queries(project.queries))
            pool, queries = pools[example]
            return pool.open(system), queries

        yield open_


def ask(system: System, text: str, k: int = 20) -> Answer:
    return system.search(Query("q", text), k)


def found(answer: Answer) -> list[tuple[str, float | None]]:
    return [(hit.doc_id, hit.score) for hit in answer.hits]


def documents(cranfield_part: Path) -> list[dict[str, str]]:
    text = (cranfield_part / "data" / "corpus.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_sqlite_gives_what_its_table_gives(open_example: OpenExample, cranfield_part: Path) -> None:
    system, queries = open_example("sqlite-fts5", "sqlite")
    table = sqlite3.connect(":memory:")
    table.execute(
        "CREATE VIRTUAL TABLE d USING fts5(id UNINDEXED, title, text, tokenize='porter unicode61')"
    )
    rows = [(d["_id"], d["title"], d["text"]) for d in documents(cranfield_part)]
    table.executemany("INSERT INTO d VALUES (?, ?, ?)", rows)
    for text in queries.texts:
        words = text.translate(NO_SIGNS).split()
        assert all(word.isalnum() for word in words)  # nothing here needs quotes
        direct = table.execute(
            "SELECT id, bm25(d, 0, 2, 1) AS b FROM d WHERE d MATCH ? ORDER BY b, id DESC LIMIT 20",
            (" OR ".join(words),),
        ).fetchall()
        assert found(ask(system, text)) == [(doc_id, -b) for doc_id, b in direct]
        assert direct
    table.close()


def test_duckdb_gives_what_its_index_gives(open_example: OpenExample, cranfield_part: Path) -> None:
    system, queries = open_example("duckdb", "duckdb")
    table = duckdb.connect(":memory:")
    table.execute("LOAD fts")
    table.execute("CREATE TABLE d (id VARCHAR, title VARCHAR, body VARCHAR)")
    rows = [(d["_id"], d["title"], d["text"]) for d in documents(cranfield_part)]
    table.executemany("INSERT INTO d VALUES (?, ?, ?)", rows)
    table.execute("PRAGMA create_fts_index('d', 'id', 'title', 'body')")
    for text in queries.texts:
        written = text.replace("'", "''")
        direct = table.execute(
            f"SELECT id, fts_main_d.match_bm25(id, '{written}') AS s FROM d "
            "WHERE s IS NOT NULL ORDER BY s DESC, id DESC LIMIT 20"
        ).fetchall()
        assert found(ask(system, text)) == [(doc_id, pytest.approx(s)) for doc_id, s in direct]
        assert direct
    table.close()


def test_qdrant_gives_the_exact_cosine(open_example: OpenExample) -> None:
    system, queries = open_example("qdrant", "qdrant")
    exact, _ = open_example("qdrant", "dense")
    for text in queries.texts:
        expected, answer = ask(exact, text), ask(system, text)
        scores = [hit.score for hit in expected.hits]
        assert [hit.score for hit in answer.hits] == pytest.approx(scores, abs=2e-6)
        assert same_but_for_ties(expected, answer)


def same_but_for_ties(expected: Answer, answer: Answer) -> bool:
    """Compare rankings; documents whose exact scores differ by less than 2e-6 may swap places."""
    scores = {hit.doc_id: hit.score or 0.0 for hit in expected.hits}
    last = min(scores.values())
    in_order = [scores.get(hit.doc_id, last) for hit in answer.hits]
    return all(b - a < 2e-6 for a, b in pairwise(in_order))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("example", ["sqlite-fts5", "duckdb", "qdrant"])
def test_any_text_is_a_query(open_example: OpenExample, example: str, text: str) -> None:
    system, queries = open_example(example, example.removesuffix("-fts5"))
    before = ask(system, queries.texts[0])
    for hit in ask(system, text, 5).hits:
        assert hit.doc_id
    after = ask(system, queries.texts[0])
    if example == "qdrant":  # products of matrices, whose last bits are not the same each time
        assert same_but_for_ties(before, after)
        assert [h.score for h in after.hits] == pytest.approx([h.score for h in before.hits])
    else:
        assert found(after) == found(before)


def test_words_between_signs_are_found_all_the_same(open_example: OpenExample) -> None:
    for example in ("sqlite-fts5", "duckdb"):
        system, _ = open_example(example, example.removesuffix("-fts5"))
        plain = found(ask(system, "wing slipstream"))
        assert plain
        assert found(ask(system, '"wing" -- * (slipstream)')) == plain


def test_a_collection_that_is_there_is_searched_and_left_alone(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repository / "examples" / "qdrant" / "qdrant_search.py"
    found = runpy.run_path(str(path))
    server = found["QdrantClient"](":memory:")
    asked = []

    def connect(url: str, *, api_key: str | None) -> object:
        asked.append((url, api_key))
        return server

    monkeypatch.setenv("QDRANT_URL", "http://qdrant.test:6333")
    monkeypatch.setenv("QDRANT_API_KEY", "key-1")
    for start in (found, runpy.run_path(str(path))):
        monkeypatch.setitem(start["index"].__wrapped__.__globals__, "QdrantClient", connect)
        assert start["search"]("flat tyre", 1)[0][0] == "puncture"
    assert asked == [("http://qdrant.test:6333", "key-1")] * 2
    assert server.count(found["COLLECTION"]).count == 24
