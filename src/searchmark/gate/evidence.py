"""How sure a change is: the paired differences of a measure, their interval, test and power."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from searchmark.gate.policy import DEFAULT_ALPHA
from searchmark.gate.verdict import TOLERANCE
from searchmark.measures.score import GEOMETRIC_FLOOR
from searchmark.measures.spec import Aggregate
from searchmark.stats.bootstrap import mean_interval
from searchmark.stats.correction import holm
from searchmark.stats.power import POWER, detectable
from searchmark.stats.randomization import least_p, randomization_tests
from searchmark.stats.spread import Spread, spread_of


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """What each query gained, baseline to candidate, and which of them belong together.

    A gain is negative where the query got worse, also where lower is better. Of a geometric mean
    it is the gain in the logarithm. Queries stand in the order of their ids. `loss` is how much
    worse the measure's number got over these queries; `n_alone` others have a value on one side.
    """

    query_ids: tuple[str, ...]
    gains: NDArray[np.float64]
    clusters: tuple[str | None, ...]
    aggregate: Aggregate = "mean"
    loss: float = 0.0
    n_alone: int = 0

    @property
    def spread(self) -> Spread:
        """How much the gains scatter, over how many queries or clusters, and how many moved."""
        return spread_of(self.gains, self.clusters)

    @property
    def n_moved(self) -> int:
        """How many queries changed."""
        return int(np.count_nonzero(self.gains))

    @property
    def scale(self) -> float:
        """By what a mean over the queries is multiplied to give the measure's number."""
        return float(len(self.gains)) if self.aggregate == "sum" else 1.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the pairs say: an interval of the gain, a p-value, and the loss they would show.

    `n_units` counts what is drawn: clusters, or queries where they have none. `n_moved` counts the
    queries that changed, `n_alone` those with a value on one side only, which no pair holds. `loss`
    is how much worse the pairs got. `n_needed` is how many units must get worse, at least, before a
    loss can be significant; `is_testable` is False where the drawn signs cannot show one at all.
    """

    n_queries: int = 0
    n_units: int = 0
    n_moved: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    detectable: float | None = None
    standard_error: float | None = None
    n_needed: int = 0
    n_alone: int = 0
    loss: float | None = None
    is_testable: bool = True


def pair(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    clusters: Mapping[str, str] | None = None,
    within: Collection[str] | None = None,
    higher_is_better: bool = True,
    aggregate: Aggregate = "mean",
) -> Pairs:
    """Return the pairs of the queries with a value in both; `within` leaves out all others."""
    either = {q for q in before.keys() | after.keys() if within is None or q in within}
    ids = sorted(q for q in either if q in before and q in after)
    old, new = (np.array([values[q] for q in ids], np.float64) for values in (before, after))
    if aggregate == "geometric":
        old, new = (np.log(np.maximum(values, GEOMETRIC_FLOOR)) for values in (old, new))
    gains = new - old if higher_is_better else old - new
    gains[np.abs(gains) <= TOLERANCE] = 0.0  # rounding is no change
    labels = tuple((clusters or {}).get(q) for q in ids)
    found = Pairs(tuple(ids), gains, labels, aggregate, n_alone=len(either) - len(ids))
    if not ids:
        return found
    if aggregate != "geometric":
        return replace(found, loss=-found.scale * float(gains.mean()))
    lost = float(np.exp(old.mean()) - np.exp(new.mean()))
    return replace(found, loss=lost if higher_is_better else -lost)


def weigh(cases: Sequence[Pairs], alpha: float | None) -> list[Evidence]:
    """Return the evidence of cases that are decided together.

    With `alpha` each is tested for a loss, and Holm's correction is over those in which any query
    moved: where none did, nothing could become significant, whatever the correction.
    """
    found = [_described(case) for case in cases]
    family = sum(e.n_moved > 0 for e in found)
    level = DEFAULT_ALPHA if alpha is None else alpha / max(family, 1)
    found = [_with_power(e, case, level) for e, case in zip(found, cases, strict=True)]
    if alpha is None:
        return found
    p = _p_of_losses(cases)
    return [
        replace(e, p=raw, p_adjusted=adjusted)
        for e, raw, adjusted in zip(found, p, holm(p), strict=True)
    ]


def _described(case: Pairs) -> Evidence:
    n = len(case.gains)
    if not n:
        return Evidence(n_alone=case.n_alone)
    evidence = Evidence(n, case.spread.n_units, case.n_moved, loss=case.loss, n_alone=case.n_alone)
    if case.aggregate == "geometric" or not case.n_moved or case.n_alone:
        # of a ratio of means, or of nothing, there is no interval of a difference; and one of the
        # pairs is not that of a difference which other queries had a part in
        return evidence
    # gains of 0 and 1 would else pass for a share of right answers, which a difference is not
    interval = mean_interval(case.gains, case.clusters, method="bca")
    if interval.low is None or interval.high is None:
        return evidence
    return replace(evidence, low=case.scale * interval.low, high=case.scale * interval.high)


def _with_power(evidence: Evidence, case: Pairs, level: float) -> Evidence:
    n_needed = math.ceil(-math.log2(level))  # all of k fall by chance once in 2^k times
    evidence = replace(evidence, n_needed=n_needed, is_testable=level >= least_p())
    if evidence.n_units < n_needed or not evidence.is_testable:
        return evidence
    found = smallest_loss(case, level)
    error = None if found is None else standard_error(case)
    return replace(evidence, detectable=found, standard_error=error)


def smallest_loss(case: Pairs, level: float) -> float | None:
    """Return the loss that would be significant at `level` in four of five cases, if known."""
    error = standard_error(case)
    if error is None:
        return None
    n = case.spread.n_units
    # a one-sided test is a two-sided one at twice the level, as far as losses go
    return detectable(error * math.sqrt(n), n, alpha=2 * level, power=POWER)


def standard_error(case: Pairs) -> float | None:
    """Return by how much the change of another such set of queries would differ from this one.

    None where too few queries moved for their variance to speak for another change, and for a
    geometric mean.
    """
    spread = case.spread
    if case.aggregate == "geometric" or spread.is_thin or spread.deviation <= TOLERANCE:
        return None
    return spread.deviation / math.sqrt(spread.n_units) * case.scale


def _p_of_losses(cases: Sequence[Pairs]) -> list[float | None]:
    """Test each case for a loss; those over the same queries share the drawn signs."""
    found: list[float | None] = [None] * len(cases)
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, case in enumerate(cases):
        if case.n_moved:
            groups.setdefault(case.query_ids, []).append(i)
    for members in groups.values():
        table = np.stack([cases[i].gains for i in members], axis=1)
        clusters = cases[members[0]].clusters
        tests = randomization_tests(table, clusters=clusters, alternative="less")
        for i, test in zip(members, tests, strict=True):
            found[i] = test.p
    return found
