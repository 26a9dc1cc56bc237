"""Full-text search in SQLite's FTS5, as a function for `use = "python"`."""

import json
import re
import sqlite3
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus.jsonl"

SEARCH = """
    SELECT doc_id, -bm25(documents, 0, 2, 1) AS score
    FROM documents
    WHERE documents MATCH ?
    ORDER BY score DESC, doc_id DESC
    LIMIT ?
"""
"""bm25() is lower for better documents; its weights are those of doc_id, title and text."""


def search(query: str, k: int) -> list[tuple[str, float]]:
    """Return the ids and scores of at most `k` documents that hold any of the words."""
    asked = expression(query)
    if not asked:
        return []
    return index().execute(SEARCH, (asked, k)).fetchall()


def expression(query: str) -> str:
    """Return any text in FTS5's language: each word in quotes, so that AND, * or - mean nothing."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))


@cache
def index() -> sqlite3.Connection:
    """Read the corpus into a table in memory, once."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "CREATE VIRTUAL TABLE documents "
        "USING fts5(doc_id UNINDEXED, title, text, tokenize = 'porter unicode61')"
    )
    with CORPUS.open(encoding="utf-8") as lines:
        documents = map(json.loads, lines)
        rows = [(d["_id"], d["title"], d["text"]) for d in documents]
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)
    return connection
