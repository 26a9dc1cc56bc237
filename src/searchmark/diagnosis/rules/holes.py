"""Unjudged documents at the top."""

from collections.abc import Iterator
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import listed

MOST = 0.5
"""From this share of unjudged results on the value says little."""


class _Holes(NamedTuple):
    ranking: Ranking
    unjudged: tuple[str, ...]
    share: float
    at_top: bool


def holes_at_top(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find results within k that nobody judged.

    Parameters
    ----------
    query
        One query; where the judgments are complete nothing is unjudged.
    setup
        The documents, and ``limits.holes``.

    Yields
    ------
    Finding
        At most one, naming the systems where more than the share ``limits.holes`` of the results is
        unjudged, or the first one is, and the documents to judge. MEDIUM from half of the results
        on, LOW otherwise.
    """
    if query.complete:
        return
    limit = setup.limits.holes
    found = [h for r in query.rankings if (h := _holes(r, query.k)).share > limit or h.at_top]
    if not found:
        return
    documents = tuple(dict.fromkeys(d for h in found for d in h.unjudged))
    worst = max(found, key=lambda h: h.share)
    tops = [h.ranking.name for h in found if h.at_top]
    shares = ", ".join(
        f"{len(h.unjudged)} of the first {len(h.ranking.within(query.k))} of {h.ranking.name}"
        for h in found
    )
    yield Finding(
        rule="holes-at-top",
        severity="MEDIUM" if worst.share >= MOST else "LOW",
        tag="JUDGMENTS",
        what=(f"nobody judged {shares}{_tops(tops)}; the values are not to be trusted before that"),
        fix="Judge the documents that are named, then run again",
        query_id=query.query_id,
        systems=tuple(h.ranking.name for h in found),
        documents=documents,
        evidence={
            "share": worst.share,
            "limit": limit,
            "n_documents": len(documents),
            "n_top_unjudged": len(tops),
        },
    )


def _holes(ranking: Ranking, k: int) -> _Holes:
    shown = ranking.within(k)
    unjudged = tuple(d.doc_id for d in shown if d.grade is None)
    share = len(unjudged) / len(shown) if shown else 0.0
    return _Holes(ranking, unjudged, share, bool(shown) and shown[0].grade is None)


def _tops(systems: list[str]) -> str:
    return f" (rank 1 of {listed(systems)} among them)" if systems else ""
