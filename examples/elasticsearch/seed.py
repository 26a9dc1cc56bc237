"""Make the index of the example at ELASTICSEARCH_URL, and fill it: python seed.py."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elasticsearch import ApiError, BadRequestError, Elasticsearch, TransportError, helpers

from searchmark.errors import SearchmarkError
from searchmark.retrieval.encoders import load_encoder

HERE = Path(__file__).resolve().parent
INDEX = "searchmark-example"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the corpus, embed it, and index one document a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=HERE.parent / "data" / "corpus.jsonl")
    parser.add_argument("--replace", action="store_true", help=f"delete the index {INDEX} first")
    given = parser.parse_args(arguments)
    address = os.environ.get("ELASTICSEARCH_URL") or sys.exit(
        "set ELASTICSEARCH_URL to your engine's address"
    )
    key = os.environ.get("ELASTICSEARCH_API_KEY")
    try:
        with given.corpus.open(encoding="utf-8") as lines:
            documents = [json.loads(line) for line in lines]
        with Elasticsearch(address, api_key=key) as client:
            fill(client, documents, replace=given.replace)
    except TransportError as error:  # its text may hold the address, and that a password
        sys.exit(
            f"the engine at ELASTICSEARCH_URL does not answer ({type(error).__name__}): "
            "start it, or correct the address"
        )
    except ApiError as error:
        sys.exit(f"the engine refuses: status {error.meta.status}, {error.message}")
    except (helpers.BulkIndexError, SearchmarkError, OSError) as error:
        sys.exit(str(error))
    except ValueError:
        sys.exit("ELASTICSEARCH_URL has to be as http://localhost:9200, the corpus JSON lines")
    print(f"{len(documents):,} documents are in the index {INDEX}")  # noqa: T201


def fill(client: Elasticsearch, documents: Sequence[dict[str, str]], *, replace: bool) -> None:
    """Make the index and put the documents into it."""
    made = json.loads((HERE / "index.json").read_text(encoding="utf-8"))
    if replace:
        client.indices.delete(index=INDEX, ignore_unavailable=True)
    try:
        client.indices.create(index=INDEX, mappings=made["mappings"])
    except BadRequestError as error:
        sys.exit(told(error.error))
    helpers.bulk(client, rows(documents), refresh=True)


def told(error: str) -> str:
    """Say why there is no index."""
    if error == "resource_already_exists_exception":
        return f"there is an index {INDEX} already; --replace deletes it and makes it anew"
    return f"the index {INDEX} cannot be made: {error}"


def rows(documents: Sequence[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield what the bulk call takes: the document under its own id."""
    texts = [f"{d['title']} {d['text']}".strip() for d in documents]
    vectors = load_encoder("all-MiniLM-L6-v2").encode(texts)
    for document, vector in zip(documents, vectors, strict=True):
        row: dict[str, Any] = {"_index": INDEX, "_id": document["_id"]}
        row |= {"title": document["title"], "text": document["text"]}
        if vector.any():  # an empty text has none
            row["vector"] = vector.tolist()
        yield row


if __name__ == "__main__":
    main()
