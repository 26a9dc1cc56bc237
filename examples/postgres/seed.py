"""Fill the table that the example searches, in the database of DATABASE_URL: python seed.py."""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg

from searchmark.retrieval.encoders import load_encoder

HERE = Path(__file__).resolve().parent
CRANFIELD = HERE / "../../../shared/data/cranfield/corpus.jsonl"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the corpus, embed it, and write one row a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CRANFIELD)
    parser.add_argument("--limit", type=int, help="take only the first so many documents")
    given = parser.parse_args(arguments)
    with given.corpus.open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines][: given.limit]
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute((HERE / "schema.sql").read_bytes())
        with connection.cursor() as cursor:
            columns = "doc_id, title, body, embedding"
            with cursor.copy(f"COPY documents ({columns}) FROM STDIN") as copy:
                for row in rows(documents):
                    copy.write_row(row)
        connection.execute("ANALYZE documents")
    print(f"{len(documents):,} documents are in the table")  # noqa: T201


def rows(documents: Sequence[dict[str, str]]) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield id, title, body and the vector as pgvector reads it."""
    texts = [f"{d['title']} {d['text']}".strip() for d in documents]
    vectors = load_encoder("all-MiniLM-L6-v2").encode(texts)
    for document, vector in zip(documents, vectors, strict=True):
        written = "[" + ",".join(map(str, vector)) + "]" if vector.any() else None
        yield document["_id"], document["title"], document["text"], written


if __name__ == "__main__":
    main()
