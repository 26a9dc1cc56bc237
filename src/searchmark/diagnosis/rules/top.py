"""An irrelevant document leads an answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, Kind, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.limits import is_below
from searchmark.diagnosis.worth import (
    Valued,
    answers_of,
    can_be_answered,
    gains_of,
    named,
    shown,
    value_with,
)

TUNING: Mapping[Kind, str] = {
    "lexical": "See which words and fields match such documents: lower the weight of those fields, "
    "ask for more of the query's words, damp repeated ones",
    "vector": "See which text of such documents is near the query: embed fewer or other fields, "
    "cut long texts into pieces, or put a reranker behind the first results",
    "hybrid": "See which part brings such documents to the top, and tune that one, its weight, or "
    "the constant of the fusion",
    "": "See which words, fields and boosts bring such documents to the top, and lower their "
    "weight",
}
"""What to try where other systems avoid the document, by the kind of those that do not."""

SHARED_FIX = (
    "Put in a reranker that reads query and document together, or another model: none of these "
    "systems tells such documents from the relevant ones"
)


class _Top(NamedTuple):
    """Who has a document at the top: those with a low value, all, and those that avoid it."""

    faulty: list[Valued]
    sharing: list[Valued]
    avoiding: list[Valued]


def irrelevant_at_top(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find documents judged irrelevant that stand at the very top of a low answer.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The thresholds ``limits.top_ranks`` and ``limits.top_value``.

    Yields
    ------
    Finding
        One a document with grade 0 or less within the first `top_ranks` (and k) of a system whose
        value is below `top_value`: MEDIUM QUERY_TUNING where another system avoids it, LOW
        MODEL_SELECTION where all share it. Its systems are those with a value below `top_value`.

    Notes
    -----
    A system that returned nothing, or whose call failed, neither shares a document nor avoids it.
    Where only one system returned anything there is nobody to share it with; nothing then speaks
    against the model, and the finding is MEDIUM QUERY_TUNING. `repaired` is the value with that
    document out of the ranking and those below it one rank higher.
    """
    if not can_be_answered(query, setup):
        return
    answers = [a for a in answers_of(query) if a.ranking.documents]
    depth = min(setup.limits.top_ranks, query.k)
    low = [a for a in answers if is_below(a.value, setup.limits.top_value)]
    for doc_id in _irrelevant(low, depth):
        yield _finding(doc_id, _top(doc_id, answers, low, depth), query, setup)


def _irrelevant(low: Sequence[Valued], depth: int) -> list[str]:
    """Return the documents to tell of: by the best rank any system gives them, then by id."""
    ranks: dict[str, int] = {}
    for answer in low:
        for placed in answer.ranking.within(depth):
            if placed.grade is not None and placed.grade <= 0:
                ranks[placed.doc_id] = min(placed.rank, ranks.get(placed.doc_id, placed.rank))
    return sorted(ranks, key=lambda d: (ranks[d], d))


def _top(doc_id: str, answers: Sequence[Valued], low: Sequence[Valued], depth: int) -> _Top:
    top = {a.name for a in answers if a.ranking.rank_of.get(doc_id, depth + 1) <= depth}
    return _Top(
        faulty=[a for a in low if a.name in top],
        sharing=[a for a in answers if a.name in top],
        avoiding=[a for a in answers if a.name not in top],
    )


def _finding(doc_id: str, top: _Top, query: QueryEvidence, setup: Evidence) -> Finding:
    is_shared = len(top.sharing) > 1 and not top.avoiding
    kinds = {a.ranking.system.kind for a in top.faulty}
    kind: Kind = kinds.pop() if len(kinds) == 1 else ""
    worst = min(top.faulty, key=lambda a: a.value)
    return Finding(
        rule="irrelevant-at-top",
        severity="LOW" if is_shared else "MEDIUM",
        tag="MODEL_SELECTION" if is_shared else "QUERY_TUNING",
        what=_what(doc_id, top, query, setup),
        fix=SHARED_FIX if is_shared else TUNING[kind],
        query_id=query.query_id,
        systems=tuple(a.name for a in top.faulty),
        documents=(doc_id,),
        evidence={
            "grade": query.judged.get(doc_id, 0),
            "rank": min(a.ranking.rank_of[doc_id] for a in top.faulty),
            "top_ranks": setup.limits.top_ranks,
            "value": worst.value,
            "top_value": setup.limits.top_value,
            "n_sharing": len(top.sharing),
            "n_avoiding": len(top.avoiding),
            "shared_by": ", ".join(a.name for a in top.sharing),
        },
        repaired={a.name: _without(doc_id, a, query) for a in top.faulty},
    )


def _what(doc_id: str, top: _Top, query: QueryEvidence, setup: Evidence) -> str:
    places = ", ".join(f"rank {a.ranking.rank_of[doc_id]} of {a.name}" for a in top.sharing)
    sentence = (
        f"{setup.documents.label(doc_id)}, grade {query.judged.get(doc_id, 0)}, stands at "
        f"{places} ({setup.measure}: {shown(top.faulty)})"
    )
    if top.avoiding:
        verb = "avoids" if len(top.avoiding) == 1 else "avoid"
        return f"{sentence}; {named(top.avoiding)} {verb} it"
    return f"{sentence}; every system shares it" if len(top.sharing) > 1 else sentence


def _without(doc_id: str, answer: Valued, query: QueryEvidence) -> float:
    """Return nDCG@k with one document out of the ranking and the rest moved up."""
    gains = gains_of(answer.ranking, query.k + 1)
    del gains[answer.ranking.rank_of[doc_id] - 1]
    return value_with(answer, gains, query)
