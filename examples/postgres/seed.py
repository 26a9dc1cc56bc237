"""Fill the table that the example searches, in the database of DATABASE_URL: python seed.py."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from psycopg.errors import DuplicateTable

from searchmark.errors import SearchmarkError
from searchmark.retrieval.encoders import load_encoder

HERE = Path(__file__).resolve().parent
TABLE = "searchmark_example"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the corpus, embed it, and write one row a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=HERE.parent / "data" / "corpus.jsonl")
    parser.add_argument("--replace", action="store_true", help=f"drop the table {TABLE} first")
    given = parser.parse_args(arguments)
    address = os.environ.get("DATABASE_URL") or sys.exit("set DATABASE_URL to your database")
    try:
        with given.corpus.open(encoding="utf-8") as lines:
            documents = [json.loads(line) for line in lines]
        with connected(address) as connection:  # all of it, or nothing
            fill(connection, documents, replace=given.replace)
    except psycopg.Error as error:
        sys.exit(f"the database refuses: {first_line(error)}")
    except (SearchmarkError, OSError) as error:
        sys.exit(str(error))
    except ValueError:
        sys.exit(f"{given.corpus} is no file of JSON lines")
    print(f"{len(documents):,} documents are in the table {TABLE}")  # noqa: T201


def connected(address: str) -> psycopg.Connection:
    """Return a connection, or end with a sentence that holds no password."""
    try:
        return psycopg.connect(address)
    except psycopg.OperationalError as error:
        sys.exit(
            f"the database at DATABASE_URL does not answer ({first_line(error)}): "
            "start it, or correct the address"
        )
    except psycopg.ProgrammingError:
        sys.exit("DATABASE_URL has to be as postgresql://me@localhost/search")


def first_line(error: psycopg.Error) -> str:
    """Return what happened without the hints."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def fill(
    connection: psycopg.Connection, documents: Sequence[dict[str, str]], *, replace: bool
) -> None:
    """Make the table and write the documents into it."""
    if replace:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    try:
        connection.execute((HERE / "schema.sql").read_bytes())
    except DuplicateTable:
        sys.exit(f"there is a table {TABLE} already; --replace drops it and makes it anew")
    with connection.cursor() as cursor:
        columns = "doc_id, title, body, embedding"
        with cursor.copy(f"COPY {TABLE} ({columns}) FROM STDIN") as copy:
            for row in rows(documents):
                copy.write_row(row)
    connection.execute(f"ANALYZE {TABLE}")


def rows(documents: Sequence[dict[str, str]]) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield id, title, body and the vector as pgvector reads it."""
    texts = [f"{d['title']} {d['text']}".strip() for d in documents]
    vectors = load_encoder("all-MiniLM-L6-v2").encode(texts)
    for document, vector in zip(documents, vectors, strict=True):
        written = "[" + ",".join(map(str, vector)) + "]" if vector.any() else None
        yield document["_id"], document["title"], document["text"], written


if __name__ == "__main__":
    main()
