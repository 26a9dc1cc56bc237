"""Small setups by hand: judgments and rankings in, the evidence that rules look at out."""

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import polars as pl

from searchmark.data import Corpus
from searchmark.diagnosis.capabilities import Capability
from searchmark.diagnosis.documents import Documents
from searchmark.diagnosis.evidence import Evidence, Kind, Part, Placed, QueryEvidence, Ranking
from searchmark.diagnosis.limits import Limits

Rankings = Mapping[str, tuple[Kind, Sequence[str]]]


def query(
    judged: Mapping[str, int],
    rankings: Rankings,
    *,
    k: int = 5,
    text: str = "weather forecast",
    query_id: str = "q1",
    capability: str = "semantic",
    complete: bool = False,
    values: Mapping[str, float | None] | None = None,
    status: Mapping[str, str] | None = None,
    arms: Mapping[str, tuple[str, ...]] | None = None,
    fields: Mapping[str, tuple[str, ...]] | None = None,
) -> QueryEvidence:
    """Build one query: system -> its kind and what it returns, best first.

    Gains are ``2 ** grade - 1``. A system's value is its nDCG@k; `values` gives it by hand instead,
    for numbers that lie on a threshold.
    """
    gains = {d: 2.0 ** max(g, 0) - 1 for d, g in judged.items()}
    ideal = dcg(sorted(gains.values(), reverse=True), k)

    def ranking(name: str, kind: Kind, doc_ids: Sequence[str]) -> Ranking:
        placed = tuple(
            Placed(
                doc_id,
                rank,
                1.0 / rank,
                judged.get(doc_id, 0 if complete else None),
                gains.get(doc_id, 0.0),
                gains.get(doc_id, 0.0) / log2(rank + 1),
            )
            for rank, doc_id in enumerate(doc_ids, 1)
        )
        value = dcg([p.gain for p in placed], k) / ideal if ideal else 1.0
        part = Part(name, kind, (arms or {}).get(name, ()), (fields or {}).get(name))
        state = (status or {}).get(name, "ok" if placed else "empty")
        return Ranking(part, (values or {}).get(name, value), placed, state)

    return QueryEvidence(
        query_id=query_id,
        text=text,
        capability=Capability(capability, "by hand"),
        k=k,
        judged=judged,
        gains=gains,
        ideal=ideal,
        rankings=tuple(ranking(s, kind, doc_ids) for s, (kind, doc_ids) in rankings.items()),
        complete=complete,
    )


def dcg(gains: Sequence[float], k: int) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


def evidence(
    *queries: QueryEvidence,
    corpus: Sequence[Mapping[str, Any]] | None = None,
    **limits: Any,
) -> Evidence:
    """Build a setup of queries that the same systems answered.

    Without a corpus all documents of the queries are in it, with their ids as text.
    """
    ids = {
        d
        for q in queries
        for d in (*q.judged, *(p.doc_id for r in q.rankings for p in r.documents))
    }
    rows = corpus if corpus is not None else [{"doc_id": d, "text": d} for d in sorted(ids)]
    frame = pl.DataFrame(rows, schema=None if rows else {"doc_id": pl.String, "text": pl.String})
    return Evidence(
        queries=queries,
        systems=tuple(r.system for r in queries[0].rankings),
        documents=Documents(Corpus(frame)),
        limits=Limits(**limits),
        k=queries[0].k,
        measure=f"nDCG@{queries[0].k}",
    )
