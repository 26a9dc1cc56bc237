"""A hybrid answers a query worse than its best part."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.limits import is_above
from searchmark.diagnosis.worth import Valued, answers_of, best_of, can_be_answered, named, shown

PART_FIX = (
    "Let {best} count more in the fusion (a weight for each arm, or a smaller constant, so that "
    "first places count more), send queries of this kind there alone, or put a reranker behind the "
    "fusion"
)
OTHER_FIX = (
    "Compare {hybrid} with {best}, and run the parts of {hybrid} too, to see which one loses these "
    "documents; or send queries of this kind to {best} alone"
)
"""Where the parts of the hybrid were not run, so that the better system need not be one of them."""


def hybrid_below_best(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find hybrids that lose to one of the systems they join.

    Parameters
    ----------
    query
        One query that has an answer in the corpus.
    setup
        The threshold ``limits.hybrid_drop``.

    Yields
    ------
    Finding
        At most one a hybrid, SEARCH_PIPELINE: MEDIUM where the best single systems are all lexical
        (where the parts are known, the vector arm hurts), LOW otherwise. Its documents are the
        relevant ones that the hybrid ranks lower than a best single system.

    Notes
    -----
    A hybrid is compared with those of its arms that are systems of the setup, and with all single
    systems where none is; it loses where it is more than ``limits.hybrid_drop`` below the best of
    them. `repaired` gives it that value.
    """
    if not can_be_answered(query, setup):
        return
    answers = answers_of(query)
    for answer in answers:
        if answer.ranking.system.kind != "hybrid":
            continue
        parts = _parts(answer, answers)
        best = best_of(parts)
        if best and is_above(best[0].value - answer.value, setup.limits.hybrid_drop):
            yield _finding(answer, parts, query, setup)


def _parts(hybrid: Valued, answers: Sequence[Valued]) -> list[Valued]:
    arms = set(hybrid.ranking.system.arms)
    if arms:
        return [a for a in answers if a.name in arms]
    return [a for a in answers if a.ranking.system.kind != "hybrid"]


def _finding(
    hybrid: Valued, parts: Sequence[Valued], query: QueryEvidence, setup: Evidence
) -> Finding:
    best = best_of(parts)
    top, drop = best[0].value, best[0].value - hybrid.value
    is_lexical = all(a.ranking.system.kind == "lexical" for a in best)
    vector = [a for a in parts if a.ranking.system.kind == "vector"] if is_lexical else []
    has_parts = bool(hybrid.ranking.system.arms)
    hurts = f"; the vector arm hurts ({shown(vector)})" if vector and has_parts else ""
    return Finding(
        rule="hybrid-below-best",
        severity="MEDIUM" if is_lexical else "LOW",
        tag="SEARCH_PIPELINE",
        what=(
            f"{hybrid.name} reaches {setup.measure} {hybrid.value:.3f}, {drop:.3f} below "
            f"{named(best)}{' alone' if has_parts else ''} ({top:.3f}){hurts}"
        ),
        fix=(PART_FIX if has_parts else OTHER_FIX).format(hybrid=hybrid.name, best=named(best)),
        query_id=query.query_id,
        systems=(hybrid.name,),
        documents=_lowered(hybrid, best, query),
        evidence={
            "value": hybrid.value,
            "best": top,
            "best_systems": ", ".join(a.name for a in best),
            "drop": drop,
            "hybrid_drop": setup.limits.hybrid_drop,
            "capability": query.capability.name,
        },
        repaired={hybrid.name: max(hybrid.value, top)},
    )


def _lowered(hybrid: Valued, best: Sequence[Valued], query: QueryEvidence) -> tuple[str, ...]:
    """Return the relevant documents that stand lower in the hybrid, those that earn most first."""
    rank_of = hybrid.ranking.rank_of
    lower = {
        d.doc_id
        for a in best
        for d in a.ranking.within(query.k)
        if d.gain > 0 and d.rank < rank_of.get(d.doc_id, d.rank + 1)
    }
    return tuple(sorted(lower, key=lambda d: (-query.gains[d], d)))
