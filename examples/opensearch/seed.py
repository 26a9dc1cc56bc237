"""Make the index and the search pipeline of the example at OPENSEARCH_URL: python seed.py."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch, RequestError, helpers

from searchmark.retrieval.encoders import load_encoder

HERE = Path(__file__).resolve().parent
INDEX, PIPELINE = "searchmark-example", "searchmark-hybrid"


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
    with given.corpus.open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    with OpenSearch(address, http_auth=user()) as client:
        made = read("index.json")
        if given.words_only:
            del made["settings"], made["mappings"]["properties"]["vector"]
        else:
            client.search_pipeline.put(id=PIPELINE, body=read("pipeline.json"))
        if given.replace:
            client.indices.delete(index=INDEX, ignore_unavailable=True)
        try:
            client.indices.create(index=INDEX, body=made)
        except RequestError as error:
            sys.exit(told(error.error))
        helpers.bulk(client, rows(documents, words_only=given.words_only), refresh=True)
    print(f"{len(documents):,} documents are in the index {INDEX}")  # noqa: T201


def told(error: str) -> str:
    """Say why there is no index."""
    if error == "resource_already_exists_exception":
        return f"there is an index {INDEX} already; --replace deletes it and makes it anew"
    return f"the index {INDEX} cannot be made: {error}"


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
