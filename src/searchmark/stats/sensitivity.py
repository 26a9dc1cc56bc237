"""What a query set can see: the smallest difference it detects, and what others would take."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, sqrt

import numpy as np

from searchmark.measures.spec import Measure
from searchmark.measures.summary import Sensitivity, SystemScores
from searchmark.stats.means import NO_GROUPS, Groups
from searchmark.stats.power import detectable, queries_needed
from searchmark.stats.rounding import differences_of
from searchmark.stats.spread import Spread, spread_of

DIFFERENCES = (0.01, 0.02, 0.05)
"""True differences for which it is told how many queries would show them."""

_FINEST = 1e-6
"""Differences are told down to this share of the deviation."""


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
        values = [(s.system, s.per_query[measure.written]) for s in systems]
        for category in (None, *categories):
            chosen = [
                (
                    system,
                    {q: x for q, x in of.items() if category in (None, groups.category.get(q))},
                )
                for system, of in values
            ]
            one = _sensitivity(measure.written, category, chosen, groups.cluster)
            if one is not None:
                found.append(one)
    return tuple(found)


def _sensitivity(
    measure: str,
    category: str | None,
    values: Sequence[tuple[str, Mapping[str, float]]],
    cluster: Mapping[str, str],
) -> Sensitivity | None:
    spreads = [(pair, s) for pair, s in _spreads(values, cluster) if s.deviation > 0]
    if not spreads:
        return None
    # two that differ in a query or two say nothing of how others would differ
    speaking = [(pair, s) for pair, s in spreads if not s.is_thin]
    pair, closest = min(speaking or spreads, key=lambda found: found[1].deviation)
    smallest = detectable(closest.deviation, closest.n_units)
    if smallest is None:
        return None
    return Sensitivity(
        measure,
        category,
        closest.n_queries,
        closest.n_units if closest.n_units < closest.n_queries else None,
        "one system" if pair is None else "pairs",
        closest.deviation,
        smallest,
        tuple(_needed(closest)),
        pair,
    )


def _needed(spread: Spread) -> Iterator[tuple[float, int]]:
    """Yield how many queries show each of `DIFFERENCES`, where anyone could judge so many."""
    for difference in DIFFERENCES:
        if difference > _FINEST * spread.deviation:
            n = queries_needed(spread.deviation, difference)
            if n is not None:
                yield difference, ceil(n * spread.n_queries / spread.n_units)


def _spreads(
    values: Sequence[tuple[str, Mapping[str, float]]], cluster: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str] | None, Spread]]:
    """Yield the spread of differences of each pair; of one system's values, as of two of them."""
    if len(values) == 1:
        only = values[0][1]
        spread = _spread(sorted(only), only, dict.fromkeys(only, 0.0), cluster)
        yield None, spread._replace(deviation=sqrt(2) * spread.deviation)
    for (name_a, a), (name_b, b) in combinations(values, 2):
        yield (name_a, name_b), _spread(sorted(a.keys() & b.keys()), b, a, cluster)


def _spread(
    ids: Sequence[str],
    values: Mapping[str, float],
    others: Mapping[str, float],
    cluster: Mapping[str, str],
) -> Spread:
    gains = differences_of(*(np.array([of[q] for q in ids], np.float64) for of in (others, values)))
    return spread_of(gains, [cluster.get(q) for q in ids] if cluster else None)
