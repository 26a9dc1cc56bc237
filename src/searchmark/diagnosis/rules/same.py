"""Two systems that return the same."""

from collections.abc import Iterator
from itertools import combinations

from searchmark.diagnosis.evidence import Evidence, Part
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import listed

SAME = 0.95
"""Systems are the same when they return the same for this share of the queries."""

FEW = 5
"""With fewer queries than this they may be the same by chance."""


def same_results(setup: Evidence) -> Iterator[Finding]:
    """Find pairs of systems that return the same documents in the same order within k.

    Parameters
    ----------
    setup
        All queries and systems.

    Yields
    ------
    Finding
        One for each pair, LOW, where at least 95% of the queries that either one returns anything
        for, and at least 5 queries, have the same results. Calls that failed, are missing or were
        answered in part do not count.
        Systems that answer every query perfectly have to agree, and are no finding.
    """
    for a, b in combinations(setup.systems, 2):
        if _is_perfect(a.name, setup) and _is_perfect(b.name, setup):
            continue
        n_same, n_queries = _compare(a.name, b.name, setup)
        if n_queries >= FEW and n_same >= SAME * n_queries:
            yield Finding(
                rule="same-results",
                severity="LOW",
                tag="SEARCH_PIPELINE",
                what=(
                    f"{a.name} and {b.name} return the same first {setup.k} for {n_same} of "
                    f"{n_queries} queries"
                ),
                fix=_fix(a, b),
                systems=(a.name, b.name),
                evidence={"n_same": n_same, "n_queries": n_queries, "limit": SAME},
            )


def _is_perfect(system: str, setup: Evidence) -> bool:
    values = setup.values(system).values()
    return bool(values) and min(values) >= 1 - 1e-9


def _compare(a: str, b: str, setup: Evidence) -> tuple[int, int]:
    """Return for how many queries both return the same, and of how many."""
    n_same = n_queries = 0
    for query in setup.queries:
        left, right = query.ranking(a), query.ranking(b)
        broken = not (left.is_ranked and right.is_ranked)
        if broken or not (left.documents or right.documents):
            continue
        n_queries += 1
        shown = ([d.doc_id for d in r.within(setup.k)] for r in (left, right))
        n_same += next(shown) == next(shown)
    return n_same, n_queries


def _fix(a: Part, b: Part) -> str:
    for hybrid, arm in ((a, b), (b, a)):
        if arm.name in hybrid.arms:
            others = listed([name for name in hybrid.arms if name != arm.name]) or "the rest"
            return (
                f"Serve {arm.name} alone, or give {others} more weight: {hybrid.name} gains "
                f"nothing from {others}"
            )
    return f"Drop {a.name} or {b.name}, or see whether both are configured alike by mistake"
