"""Full-text search in DuckDB, as a function for `use = "python"`.

It needs duckdb, duckdb-extensions and duckdb-extension-fts, all of one version.
"""

import json
from functools import cache
from pathlib import Path

import duckdb
from duckdb_extensions import import_extension

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus.jsonl"

SEARCH = """
    SELECT doc_id, score
    FROM (SELECT doc_id, fts_main_documents.match_bm25(doc_id, $query) AS score FROM documents)
    WHERE score IS NOT NULL
    ORDER BY score DESC, doc_id DESC
    LIMIT $k
"""


def search(query: str, k: int) -> list[tuple[str, float]]:
    """Return the ids and scores of at most `k` documents that hold any of the words.

    match_bm25 has no query language, and the text is bound, so that any text is safe.
    """
    cursor = index().cursor()  # a connection must not be used by two threads at once
    try:
        return cursor.execute(SEARCH, {"query": query, "k": k}).fetchall()
    finally:
        cursor.close()


@cache
def index() -> duckdb.DuckDBPyConnection:
    """Read the corpus into a table in memory and index it, once."""
    import_extension("fts")
    connection = duckdb.connect(":memory:")
    connection.execute("LOAD fts")
    connection.execute("CREATE TABLE documents (doc_id VARCHAR, title VARCHAR, text VARCHAR)")
    with CORPUS.open(encoding="utf-8") as lines:
        documents = map(json.loads, lines)
        rows = [(d["_id"], d["title"], d["text"]) for d in documents]
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)
    connection.execute("PRAGMA create_fts_index('documents', 'doc_id', 'title', 'text')")
    return connection
