"""Make the index and the search pipeline of the example at OPENSEARCH_URL: python seed.py."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opensearchpy import ConnectionError as NoConnectionError
from opensearchpy import OpenSearch, RequestError, TransportError, helpers

from searchmark.errors import SearchmarkError
from searchmark.retrieval.encoders import load_encoder

HERE = Path(__file__).resolve().parent
INDEX, PIPELINE = "searchmark-example", "searchmark-hybrid"
WITHOUT = "on an engine without vectors or search pipelines say --words-only"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the corpus, embed it, and index one document a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=HERE.parent / "data" / "corpus.jsonl")
    parser.add_argument("--replace", action="store_true", help=f"delete the index {INDEX} first")
    parser.add_argument("--words-only", action="store_true", help="neither vectors nor pipeline")
    given = parser.parse_args(arguments)
    address = os.environ.get("OPENSEARCH_URL") or sys.exit(
        "set OPENSEARCH_URL to your engine's address"
    )
    try:
        with given.corpus.open(encoding="utf-8") as lines:
            documents = [json.loads(line) for line in lines]
        with OpenSearch(address, http_auth=user()) as client:
            fill(client, documents, replace=given.replace, words_only=given.words_only)
    except NoConnectionError as error:  # its text may hold the address, and that a password
        sys.exit(
            f"the engine at OPENSEARCH_URL does not answer ({type(error).__name__}): "
            "start it, or correct the address"
        )
    except TransportError as error:
        sys.exit(f"the engine refuses: status {error.status_code}, {error.error}")
    except (helpers.errors.BulkIndexError, SearchmarkError, OSError) as error:
        sys.exit(str(error))
    except ValueError:
        sys.exit("OPENSEARCH_URL has to be as http://localhost:9200, the corpus JSON lines")
    print(f"{len(documents):,} documents are in the index {INDEX}")  # noqa: T201


def fill(
    client: OpenSearch, documents: Sequence[dict[str, str]], *, replace: bool, words_only: bool
) -> None:
    """Make the pipeline and the index, and put the documents into it."""
    made = read("index.json")
    if words_only:
        del made["settings"], made["mappings"]["properties"]["vector"]
    else:
        make_pipeline(client)
    if replace:
        client.indices.delete(index=INDEX, ignore_unavailable=True)
    try:
        client.indices.create(index=INDEX, body=made)
    except RequestError as error:
        sys.exit(told(error.error, words_only=words_only))
    helpers.bulk(client, rows(documents, words_only=words_only), refresh=True)


def make_pipeline(client: OpenSearch) -> None:
    """Put the search pipeline up, where the engine knows such."""
    try:
        client.search_pipeline.put(id=PIPELINE, body=read("pipeline.json"))
    except TransportError as error:
        if error.status_code not in (400, 404, 405):
            raise
        sys.exit(f"the search pipeline {PIPELINE} cannot be made: {error.error}; {WITHOUT}")


def told(error: str, *, words_only: bool) -> str:
    """Say why there is no index."""
    if error == "resource_already_exists_exception":
        return f"there is an index {INDEX} already; --replace deletes it and makes it anew"
    return f"the index {INDEX} cannot be made: {error}" + ("" if words_only else f"; {WITHOUT}")


def user() -> tuple[str, str] | None:
    """Return who asks, where the environment says so."""
    if "OPENSEARCH_USER" not in os.environ:
        return None
    return os.environ["OPENSEARCH_USER"], os.environ["OPENSEARCH_PASSWORD"]


def read(name: str) -> dict[str, Any]:
    """Return what a file beside this one holds."""
    found: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return found


def rows(documents: Sequence[dict[str, str]], *, words_only: bool) -> Iterator[dict[str, Any]]:
    """Yield what the bulk call takes: the document under its own id."""
    texts = [f"{d['title']} {d['text']}".strip() for d in documents]
    vectors = None if words_only else load_encoder("all-MiniLM-L6-v2").encode(texts)
    for i, document in enumerate(documents):
        row = {"_index": INDEX, "_id": document["_id"]}
        row |= {"title": document["title"], "text": document["text"]}
        if vectors is not None and vectors[i].any():  # an empty text has none
            row["vector"] = vectors[i].tolist()
        yield row


if __name__ == "__main__":
    main()
