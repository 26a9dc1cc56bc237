"""What a query set can see: the smallest difference it detects, and what others would take."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.spec import Measure
from searchmark.measures.summary import Sensitivity, SystemScores
from searchmark.stats.means import NO_GROUPS, Groups
from searchmark.stats.power import detectable, queries_needed
from searchmark.stats.resampling import grouped

Floats = NDArray[np.float64]

DIFFERENCES = (0.01, 0.02, 0.05)
"""True differences for which it is told how many queries would show them."""

N_MOVED = 10
"""Queries that must differ, or else half of them, before the spread of a pair counts."""

_SAME = 1e-12


def sensitivities(
    systems: Sequence[SystemScores], measures: Sequence[Measure], groups: Groups = NO_GROUPS
) -> tuple[Sensitivity, ...]:
    """Return what can be seen of each measure that is a mean, over all queries and by category.

    Left out is what nothing can be said of: fewer than two queries, or systems that never differ.
    """
    categories = sorted(set(groups.category.values()))
    found = []
    for measure in measures:
        if measure.spec.aggregate != "mean":
            continue
        values = [s.per_query[measure.written] for s in systems]
        for category in (None, *categories):
            chosen = [
                {q: x for q, x in v.items() if category in (None, groups.category.get(q))}
                for v in values
            ]
            one = _sensitivity(measure.written, category, chosen, groups.cluster)
            if one is not None:
                found.append(one)
    return tuple(found)


def _sensitivity(
    measure: str,
    category: str | None,
    values: Sequence[Mapping[str, float]],
    cluster: Mapping[str, str],
) -> Sensitivity | None:
    spreads = [s for s in _spreads(values, cluster) if s.deviation > 0]
    if not spreads:
        return None
    # two that differ in a query or two say nothing of how others would differ
    speaking = [s for s in spreads if s.n_moved >= min(N_MOVED, s.n_queries / 2)]
    closest = min(speaking or spreads, key=lambda s: s.deviation)
    n_queries, n_units, deviation = closest.n_queries, closest.n_units, closest.deviation
    smallest = detectable(deviation, n_units)
    if smallest is None:
        return None
    each = n_queries / n_units
    needed = [(d, queries_needed(deviation, d)) for d in DIFFERENCES]
    return Sensitivity(
        measure,
        category,
        n_queries,
        n_units if n_units < n_queries else None,
        "pairs" if len(values) > 1 else "one system",
        deviation,
        smallest,
        tuple((d, ceil(n * each)) for d, n in needed if n is not None),
    )


class _Spread(NamedTuple):
    """How the differences of two systems spread: over how many queries, of which so many moved."""

    n_queries: int
    n_units: int
    n_moved: int
    deviation: float


def _spreads(
    values: Sequence[Mapping[str, float]], cluster: Mapping[str, str]
) -> Iterator[_Spread]:
    """Yield the spread of differences of each pair; of one system's values, as of two of them."""
    if len(values) == 1:
        spread = _spread(values[0], cluster)
        yield spread._replace(deviation=sqrt(2) * spread.deviation)
    for a, b in combinations(values, 2):
        yield _spread({q: b[q] - x for q, x in a.items() if q in b}, cluster)


def _spread(differences: Mapping[str, float], cluster: Mapping[str, str]) -> _Spread:
    """Return the deviation of a unit of evidence: a query, or a cluster scaled to count as one."""
    ids = sorted(differences)
    gains = np.array([differences[q] for q in ids])
    labels = [cluster.get(q) for q in ids] if cluster else None
    moved = int(np.count_nonzero(np.abs(gains) > _SAME))
    if len(gains) < 2:
        return _Spread(len(gains), len(gains), moved, 0.0)
    sums, sizes = grouped((gains - gains.mean())[:, None], labels)
    n_units = len(sizes)
    if n_units < 2:
        return _Spread(len(gains), n_units, moved, 0.0)
    # the mean's error from the clusters' influences, and what one unit would need to have for it
    error = sqrt(float((sums**2).sum()) * n_units / (n_units - 1)) / len(gains)
    deviation = error * sqrt(n_units)
    return _Spread(len(gains), n_units, moved, deviation if deviation > _SAME else 0.0)
