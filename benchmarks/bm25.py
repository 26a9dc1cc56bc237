"""Keyword search beside bm25s: seconds to index texts, milliseconds to answer a query.

    .venv/bin/python benchmarks/bm25.py [documents, 100000 by default]

Both start from texts, drop stop words, stem with Snowball, and return the best 100 documents of an
OR query, one query at a time on one thread; the rounds alternate and the best one counts. The
synthetic texts have 20-99 words each, Zipf-distributed over 200,000, and the queries take four
words of a document, frequent ones included: a hard case.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import bm25s
import numpy as np
import Stemmer

from searchmark.retrieval.bm25f import BM25F
from searchmark.retrieval.ordering import priority, top

CRANFIELD = Path(__file__).resolve().parents[2] / "shared" / "data" / "cranfield"
DEPTH = 100
ROUNDS = 3

Search = Callable[[str], object]


class Timing(NamedTuple):
    """Seconds to build an index, milliseconds a query."""

    index: float
    query: float


def build_ours(texts: Sequence[str]) -> Search:
    """Index with Searchmark."""
    index = BM25F.build({"text": texts}, weights={"text": 1})
    order = priority([f"{i:09}" for i in range(len(texts))])
    return lambda query: top(index.scores(query, candidates="or"), order, DEPTH)


def build_theirs(texts: Sequence[str]) -> Search:
    """Index with bm25s."""
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(
        bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )

    def search(query: str) -> object:
        tokens = bm25s.tokenize(
            query, stopwords="en", stemmer=stemmer, show_progress=False, return_ids=False
        )
        return index.retrieve(tokens, k=DEPTH, show_progress=False)

    return search


def measure(
    build: Callable[[Sequence[str]], Search], texts: list[str], queries: list[str]
) -> Timing:
    """Time one build and every query once."""
    start = perf_counter()
    search = build(texts)
    built = perf_counter()
    for query in queries:
        search(query)
    return Timing(built - start, (perf_counter() - built) * 1000 / len(queries))


def compare(name: str, texts: list[str], queries: list[str]) -> None:
    """Print the best of some rounds for both, and the ratio."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(measure(build_ours, texts, queries))
        theirs.append(measure(build_theirs, texts, queries))
    print(f"{name}: {len(texts)} documents, {len(queries)} queries")
    for field, unit in (("index", "s"), ("query", "ms")):
        mine, other = (min(getattr(t, field) for t in side) for side in (ours, theirs))
        print(f"  {field:5} {mine:8.3f} {unit:2}  bm25s {other:8.3f} {unit:2}  {other / mine:.2f}x")


def synthetic(n_docs: int) -> tuple[list[str], list[str]]:
    """Make texts of made-up words, and queries from four words of a text."""
    rng = np.random.default_rng(7)
    weights = 1 / np.arange(1, 200_001) ** 1.07
    lengths = rng.integers(20, 100, n_docs)
    numbers = rng.choice(len(weights), lengths.sum(), p=weights / weights.sum())
    words = [[f"w{n}" for n in part] for part in np.split(numbers, np.cumsum(lengths)[:-1])]
    picked = rng.choice(n_docs, min(n_docs, 200), replace=False)
    return [" ".join(w) for w in words], [" ".join(rng.choice(words[i], 4)) for i in picked]


def main() -> None:
    """Compare on Cranfield, where it is there, and on made-up texts."""
    if CRANFIELD.is_dir():
        texts, queries = (
            [json.loads(line) for line in (CRANFIELD / name).read_bytes().splitlines()]
            for name in ("corpus.jsonl", "queries.jsonl")
        )
        compare(
            "Cranfield", [f"{d['title']} {d['text']}" for d in texts], [q["text"] for q in queries]
        )
    compare("synthetic", *synthetic(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))


if __name__ == "__main__":
    main()
