"""Judged documents that the corpus does not hold."""

from collections.abc import Iterator
from math import log2

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import are

SHOWN = 3

NOBODY = "no system can answer it"


def judged_not_in_corpus(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find relevant documents that no system can return, as they are not in the corpus.

    Parameters
    ----------
    query
        One query. Absent documents that earn nothing do no harm; they are named where every judged
        document is absent, for then the ids do not fit.
    setup
        Not looked at.

    Yields
    ------
    Finding
        At most one: MEDIUM where all relevant documents are absent, so that the query cannot be
        answered, LOW otherwise. `repaired` is nDCG@k without these judgments.
    """
    absent = set(query.absent)
    relevant = [d for d, gain in query.gains.items() if gain > 0]
    lost = tuple(d for d in relevant if d in absent)
    strangers = not relevant and len(absent) > 0 and absent >= query.judged.keys()
    if not lost and not strangers:
        return
    named = lost or query.absent
    yield Finding(
        rule="judged-not-in-corpus",
        severity="MEDIUM" if lost and len(lost) == len(relevant) else "LOW",
        tag="JUDGMENTS",
        what=_what(named, len(relevant)),
        fix="Compare the ids of the judgments with those of the corpus; add the documents or drop "
        "their judgments",
        query_id=query.query_id,
        documents=named,
        evidence={
            "n_absent": len(query.absent),
            "n_relevant_absent": len(lost),
            "n_relevant": len(relevant),
        },
        repaired=_repaired(query, absent),
    )


def _what(named: tuple[str, ...], n_relevant: int) -> str:
    shown = ", ".join(named[:SHOWN])
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    if not n_relevant:
        return f"none of the judged documents is in the corpus: {shown}{more}"
    if n_relevant == 1:
        return f"the only relevant document is not in the corpus ({shown}), so {NOBODY}"
    sentence = (
        f"{len(named)} of {n_relevant} relevant documents {are(len(named))} not in the corpus "
        f"({shown}{more})"
    )
    return f"{sentence}, so {NOBODY}" if len(named) == n_relevant else sentence


def _repaired(query: QueryEvidence, absent: set[str]) -> dict[str, float]:
    """Return system -> its value against the best ranking of documents that are there."""
    gains = (g for d, g in query.gains.items() if g > 0 and d not in absent)
    best = sorted(gains, reverse=True)[: query.k]
    ideal = sum(gain / log2(rank + 1) for rank, gain in enumerate(best, 1))
    if not ideal:
        return {}
    return {
        r.name: min(1.0, r.value * max(1.0, query.ideal / ideal))
        for r in query.rankings
        if r.value is not None
    }
