"""A hard filter is violated."""

from collections.abc import Iterator, Sequence
from math import log2

from searchmark.data.filters import allowed
from searchmark.diagnosis.evidence import Evidence, QueryEvidence, Ranking
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import cut

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
        f"{len(broken[r.name])} of the first {len(r.within(query.k))} of {r.name}" for r in rankings
    )
    yield Finding(
        rule="filter-violated",
        severity="HIGH" if best_rank <= setup.limits.top_ranks else "MEDIUM",
        tag="SEARCH_PIPELINE",
        what=(
            f"the query demands {wanted}; {counts} break that, the best placed at rank "
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


def _described(query: QueryEvidence, doc_ids: Sequence[str], setup: Evidence) -> Iterator[str]:
    documents = setup.documents
    known = [d for d in doc_ids[:SHOWN] if d in documents]
    rows = documents.corpus.frame[[documents.row_of[d] for d in known]]
    held: dict[str, list[str]] = {d: [] for d in known}
    for wanted in query.filters:
        for doc_id, passes in zip(known, allowed(rows, [wanted]), strict=True):
            if not passes:
                text = documents.text(doc_id, wanted.field)
                held[doc_id].append(
                    f"has {wanted.field} {cut(text)}" if text else f"has no {wanted.field}"
                )
    for doc_id in doc_ids[:SHOWN]:
        reasons = " and ".join(held.get(doc_id, ["is not in the corpus"]))
        yield f"{documents.label(doc_id)} {reasons}"
    if len(doc_ids) > SHOWN:
        yield f"and {len(doc_ids) - SHOWN} more"


def _repaired(ranking: Ranking, query: QueryEvidence) -> float | None:
    """Return nDCG@k of the ranking without the results that break a filter."""
    if ranking.value is None or not query.has_answer:
        return None
    broken = set(ranking.broken_filters)
    kept = [d for d in ranking.documents if d.rank not in broken][: query.k]
    dcg = sum(d.gain / log2(rank + 1) for rank, d in enumerate(kept, 1))
    return min(1.0, max(ranking.value, dcg / query.ideal))
