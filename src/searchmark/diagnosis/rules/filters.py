"""A hard filter is violated."""

from collections.abc import Iterator
from math import log2
from typing import TYPE_CHECKING

from searchmark.data.filters import allowed
from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import counted

if TYPE_CHECKING:
    from searchmark.data.filters import Filter

SHOWN = 3
"""So many documents are described; all are named."""


def filter_violated(query: QueryEvidence, setup: Evidence) -> Iterator[Finding]:
    """Find results within k that break what the query demands of a field.

    Parameters
    ----------
    query
        One query; only one with hard filters is looked at.
    setup
        The documents, and ``limits.top_ranks``.

    Yields
    ------
    Finding
        At most one, naming all systems: HIGH where such a result stands at rank 1 to
        ``limits.top_ranks``, MEDIUM otherwise. `repaired` is nDCG@k without these results.
    """
    broken = {r.name: ranks for r in query.rankings if (ranks := _within(r, query.k))}
    if not broken:
        return
    best_rank = min(min(ranks) for ranks in broken.values())
    rankings = [r for r in query.rankings if r.name in broken]
    documents = tuple(
        dict.fromkeys(r.documents[rank - 1].doc_id for r in rankings for rank in broken[r.name])
    )
    wanted = " and ".join(map(str, query.filters))
    counts = ", ".join(
        f"{len(broken[r.name])} of {counted(len(r.within(query.k)), 'result')} of {r.name}"
        for r in rankings
    )
    yield Finding(
        rule="filter-violated",
        severity="HIGH" if best_rank <= setup.limits.top_ranks else "MEDIUM",
        tag="SEARCH_PIPELINE",
        what=(
            f"the query demands {wanted}; {counts} within {query.k} break that, the first at rank "
            f"{best_rank}: {'; '.join(_described(query, documents, setup))}"
        ),
        fix="Apply the demand as a hard filter before ranking, in every part of a hybrid too",
        query_id=query.query_id,
        systems=tuple(broken),
        documents=documents,
        evidence={
            "n_broken": sum(map(len, broken.values())),
            "best_rank": best_rank,
            "top_ranks": setup.limits.top_ranks,
        },
        repaired={r.name: v for r in rankings if (v := _repaired(r, query)) is not None},
    )


def _within(ranking: Ranking, k: int) -> tuple[int, ...]:
    last = min(k, len(ranking.documents))
    return tuple(rank for rank in ranking.broken_filters if rank <= last)


def _described(query: QueryEvidence, documents: tuple[str, ...], setup: Evidence) -> Iterator[str]:
    for doc_id in documents[:SHOWN]:
        held = [_held(doc_id, f, setup) for f in query.filters if not _passes(doc_id, f, setup)]
        yield f"{setup.documents.label(doc_id)} {' and '.join(held)}"
    if len(documents) > SHOWN:
        yield f"and {len(documents) - SHOWN} more"


def _passes(doc_id: str, wanted: "Filter", setup: Evidence) -> bool:
    row = setup.documents.row_of.get(doc_id)
    if row is None:
        return False
    return bool(allowed(setup.documents.corpus.frame[row : row + 1], [wanted])[0])


def _held(doc_id: str, wanted: "Filter", setup: Evidence) -> str:
    if doc_id not in setup.documents:
        return "is not in the corpus"
    text = setup.documents.text(doc_id, wanted.field)
    return f"has {wanted.field} {text}" if text else f"has no {wanted.field}"


def _repaired(ranking: Ranking, query: QueryEvidence) -> float | None:
    """Return nDCG@k of the ranking without the results that break a filter."""
    if ranking.value is None or not query.has_answer:
        return None
    broken = set(ranking.broken_filters)
    kept = [d for d in ranking.documents if d.rank not in broken][: query.k]
    dcg = sum(d.gain / log2(rank + 1) for rank, d in enumerate(kept, 1))
    return min(1.0, max(ranking.value, dcg / query.ideal))
