"""Intervals for the means of a system: of all queries, and of each category."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from searchmark.measures.score import GEOMETRIC_FLOOR
from searchmark.measures.spec import Measure
from searchmark.measures.summary import Mean, SystemScores
from searchmark.stats.bootstrap import LEVEL, mean_interval
from searchmark.stats.interval import Interval


class Groups(NamedTuple):
    """What queries belong to: query id -> category, query id -> cluster, of those that have one."""

    category: Mapping[str, str] = {}
    cluster: Mapping[str, str] = {}


NO_GROUPS = Groups()


def with_intervals(
    scores: SystemScores,
    measures: Sequence[Measure],
    groups: Groups = NO_GROUPS,
    *,
    level: float = LEVEL,
) -> SystemScores:
    """Return the scores with an interval for every mean that has one."""
    by_name = {m.written: m for m in measures}

    def sure(mean: Mean, category: str | None) -> Mean:
        values = scores.per_query[mean.measure]
        if category is not None:
            values = {q: x for q, x in values.items() if groups.category.get(q) == category}
        if _is_convention(mean, values):
            note = f"no query has anything relevant, so each counts {mean.value:g} by convention"
            return mean._replace(interval="none", interval_note=note)
        found = _interval(values, by_name[mean.measure], groups.cluster, level)
        if found is None:
            return mean
        low, high = _around(mean.value, found)
        return mean._replace(low=low, high=high, interval=found.method, interval_note=found.note)

    return SystemScores(
        system=scores.system,
        means=tuple(sure(m, None) for m in scores.means),
        by_category={
            category: tuple(sure(m, category) for m in means)
            for category, means in scores.by_category.items()
        },
        per_query=scores.per_query,
        n_failed=scores.n_failed,
        invalid=scores.invalid,
    )


def _is_convention(mean: Mean, values: Mapping[str, float]) -> bool:
    """Tell whether the mean is the same whatever is returned: no sample, so without an interval."""
    return 0 < mean.n_empty == len(values) and len(set(values.values())) == 1


def _around(value: float | None, found: Interval) -> tuple[float | None, float | None]:
    """Return the ends with the mean between them, which rounding may have put outside."""
    if value is None or found.low is None or found.high is None:
        return found.low, found.high
    return min(found.low, value), max(found.high, value)


def _interval(
    values: Mapping[str, float], measure: Measure, cluster: Mapping[str, str], level: float
) -> Interval | None:
    """Return the interval of the mean of some queries; None for sums, and where there are none."""
    if not values or measure.spec.aggregate == "sum":
        return None
    numbers = np.array(list(values.values()))
    labels = [cluster.get(q) for q in values] if cluster else None
    if measure.spec.aggregate != "geometric":
        # only of a measure from 0 to 1 can zeros and ones be shares
        is_share = (measure.spec.low, measure.spec.high) == (0.0, 1.0)
        return mean_interval(numbers, labels, level=level, method="auto" if is_share else "bca")
    # the geometric mean is the mean of logarithms, and so is its interval; a logarithm of 0 or 1
    # is no wrong or right answer, so that it must never be taken for a share
    logarithms = np.log(np.maximum(numbers, GEOMETRIC_FLOOR))
    found = mean_interval(logarithms, labels, level=level, method="bca")
    if found.low is None or found.high is None:
        return found
    return found._replace(low=float(np.exp(found.low)), high=float(np.exp(found.high)))
