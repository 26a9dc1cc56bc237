"""What `making` leaves out: scores, failures, latencies, broken filters of single rankings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from searchmark.diagnosis.evidence import QueryEvidence


def revised(query: QueryEvidence, name: str, /, **changes: Any) -> QueryEvidence:
    """Return a query with one system's ranking changed."""
    return replace(
        query,
        rankings=tuple(replace(r, **changes) if r.name == name else r for r in query.rankings),
    )


def scored(query: QueryEvidence, system: str, scores: Sequence[float | None]) -> QueryEvidence:
    """Return a query with one system's scores, which then mean the same from query to query."""
    ranking = query.ranking(system)
    placed = zip(ranking.documents, scores, strict=True)
    documents = tuple(d._replace(score=score) for d, score in placed)
    part = ranking.system._replace(is_scored=True)
    return revised(query, system, documents=documents, system=part)
