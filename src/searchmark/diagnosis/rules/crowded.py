"""Near-duplicates crowd the top."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.documents import Terms, jaccard
from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding

LEAST = 3
"""Two alike are no crowd."""

SHOWN = 3


def near_duplicates(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find results of which half or more say the same.

    Parameters
    ----------
    query
        One query.
    setup
        The documents, and ``limits.duplicate``.

    Yields
    ------
    Finding
        At most one, LOW, naming the systems where at least half of the results within k, and at
        least 3, are near-duplicates of one another: any two have at least the share
        ``limits.duplicate`` of their terms in common.
    """
    found: dict[str, list[str]] = {}
    for ranking in query.rankings:
        shown = [d.doc_id for d in ranking.within(query.k)]
        if crowd := _crowd(shown, setup):
            found[ranking.name] = crowd
    if not found:
        return
    documents = tuple(dict.fromkeys(d for crowd in found.values() for d in crowd))
    shares = ", ".join(
        f"{len(crowd)} of the first {len(query.ranking(name).within(query.k))} of {name}"
        for name, crowd in found.items()
    )
    named = ", ".join(setup.documents.label(d) for d in documents[:SHOWN])
    more = f" and {len(documents) - SHOWN} more" if len(documents) > SHOWN else ""
    yield Finding(
        rule="near-duplicates",
        severity="LOW",
        tag="SEARCH_PIPELINE",
        what=f"{shares} are near-duplicates of one another: {named}{more}",
        fix="Collapse near-duplicates to one result each, or diversify the first page",
        query_id=query.query_id,
        systems=tuple(found),
        documents=documents,
        evidence={
            "n_alike": max(map(len, found.values())),
            "limit": setup.limits.duplicate,
        },
    )


def _crowd(shown: Sequence[str], setup: Evidence) -> list[str]:
    """Return the largest group of documents alike that begins anywhere; nothing if too small."""
    needed = max(LEAST, (len(shown) + 1) // 2)
    limit = setup.limits.duplicate
    terms = [setup.documents.all_terms(d) for d in shown]
    best: list[int] = []
    for first in range(len(shown) - needed + 1):
        size = len(terms[first])
        # the smaller set over the larger one is the most that two can be alike
        fit = [
            i
            for i in range(first + 1, len(shown))
            if size >= limit * len(terms[i]) and len(terms[i]) >= limit * size
        ]
        if len(fit) + 1 >= max(needed, len(best) + 1):
            best = max(best, _group(first, fit, terms, limit), key=len)
    return [shown[i] for i in best] if len(best) >= needed else []


def _group(first: int, fit: Sequence[int], terms: Sequence[Terms], limit: float) -> list[int]:
    """Return a document with those of the others that are like every one before them."""
    group = [first]
    for i in fit:
        if all(jaccard(terms[i], terms[j]) >= limit for j in group):
            group.append(i)
    return group
