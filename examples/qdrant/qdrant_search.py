"""Search by meaning in Qdrant, as a function for `use = "python"`.

Without QDRANT_URL the client's ":memory:" stands for a server.
"""

import json
import os
from functools import cache
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

from searchmark.retrieval.encoders import Encoder, load_encoder

CORPUS = Path(__file__).resolve().parent.parent / "data" / "corpus.jsonl"
COLLECTION = "searchmark_example"


def search(query: str, k: int) -> list[tuple[str, float]]:
    """Return the ids and cosines of the `k` nearest documents."""
    vector = encoder().encode([query])[0]
    if not vector.any():  # a text without words resembles nothing
        return []
    found = index().query_points(COLLECTION, query=vector.tolist(), limit=k).points
    return [(point.payload["doc_id"], point.score) for point in found]


@cache
def encoder() -> Encoder:
    """Load the model once: the same for documents and queries."""
    return load_encoder("all-MiniLM-L6-v2")


@cache
def index() -> QdrantClient:
    """Connect, and fill the collection where there is none; one that is there is left alone."""
    url = os.environ.get("QDRANT_URL")
    if url:
        client = QdrantClient(url, api_key=os.environ.get("QDRANT_API_KEY"))
    else:
        client = QdrantClient(":memory:")
    if not client.collection_exists(COLLECTION):
        fill(client)
    return client


def fill(client: QdrantClient) -> None:
    """Embed the corpus and store it. Qdrant's own ids are numbers, ours go with the point."""
    with CORPUS.open(encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    vectors = encoder().encode([f"{d['title']} {d['text']}".strip() for d in documents])
    points = [
        PointStruct(id=number, vector=vector.tolist(), payload={"doc_id": document["_id"]})
        for number, (document, vector) in enumerate(zip(documents, vectors, strict=True))
        if vector.any()
    ]
    size = VectorParams(size=vectors.shape[1], distance=Distance.COSINE)
    client.create_collection(COLLECTION, size)
    try:
        client.upsert(COLLECTION, points)
    except Exception:
        client.delete_collection(COLLECTION)  # half of it would be taken for the whole next time
        raise
