"""The verdict: candidate against baseline and floors, with reasons and the queries behind it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from searchmark.gate.baseline import Baseline, natural
from searchmark.gate.policy import GatePolicy
from searchmark.measures.summary import Mean, SystemScores

TOLERANCE = 1e-9
"""Sums in another order differ in the last digits; a drop of exactly the limit passes."""

N_WORST = 10
"""How many of the queries that lost most are named."""


@dataclass(frozen=True, slots=True)
class MeasureVerdict:
    """One measure of one scope: a category of the query set, or all queries (None).

    `limit` is the largest drop that passes, None where only a floor is held; delta = candidate -
    baseline.
    """

    measure: str
    category: str | None
    baseline: float | None
    candidate: float | None
    limit: float | None
    floor: float | None
    because: str | None

    @property
    def ok(self) -> bool:
        """Whether nothing stands against it."""
        return self.because is None

    @property
    def delta(self) -> float | None:
        """Candidate minus baseline, where both have a value."""
        if self.baseline is None or self.candidate is None:
            return None
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query whose value moved."""

    query_id: str
    text: str
    measure: str
    baseline: float
    candidate: float

    @property
    def delta(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True)
class Verdict:
    """Pass or fail with reasons; `worst_queries` lost most, one row a query.

    `n_better` and `n_worse` count the queries that moved, by measure. `notes` say what was allowed.
    """

    system: str
    measures: tuple[MeasureVerdict, ...]
    categories: tuple[MeasureVerdict, ...]
    worst_queries: tuple[QueryChange, ...]
    n_better: Mapping[str, int]
    n_worse: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def because(self) -> tuple[str, ...]:
        """Every reason against the candidate."""
        return tuple(v.because for v in (*self.measures, *self.categories) if v.because)

    @property
    def passed(self) -> bool:
        """Whether nothing stands against the candidate."""
        return not self.because


def decide(
    scores: SystemScores,
    baseline: Baseline,
    policy: GatePolicy,
    texts: Mapping[str, str] | None = None,
) -> Verdict:
    """Hold a candidate against the baseline and the floors; `texts` are those of the queries."""
    gated = policy.gated([m.measure for m in scores.means])
    everything = [m for m in scores.means if m.measure in {*gated, *policy.floors}]
    changes = list(_changes(scores, baseline, gated, texts or {}))
    return Verdict(
        system=scores.system,
        measures=tuple(_of_all(m, baseline, policy, gated) for m in everything),
        categories=tuple(_of_categories(scores, baseline, policy, gated)),
        worst_queries=tuple(_worst(changes)),
        n_better={m: sum(c.measure == m and c.delta > TOLERANCE for c in changes) for m in gated},
        n_worse={m: sum(c.measure == m and c.delta < -TOLERANCE for c in changes) for m in gated},
    )


def _of_all(mean: Mean, baseline: Baseline, policy: GatePolicy, gated: list[str]) -> MeasureVerdict:
    return _measure_verdict(
        mean,
        None,
        baseline.means.get(mean.measure),
        policy.max_drop if mean.measure in gated else None,
        policy.floors.get(mean.measure),
    )


def _of_categories(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, gated: list[str]
) -> Iterator[MeasureVerdict]:
    """Yield every category's measures; categories are shown, but only floors fail by them."""
    for category, means in scores.by_category.items():
        floors = policy.category_floors.get(category, {})
        before = baseline.by_category.get(category, {})
        for mean in means:
            if mean.measure in {*gated, *floors}:
                yield _measure_verdict(
                    mean, category, before.get(mean.measure), None, floors.get(mean.measure)
                )
    for category in sorted(set(policy.category_floors) - set(scores.by_category)):
        for measure, floor in policy.category_floors[category].items():
            because = f"{measure} has a floor for category {category}, which no query belongs to"
            yield MeasureVerdict(measure, category, None, None, None, floor, because)


def _measure_verdict(
    mean: Mean, category: str | None, before: float | None, limit: float | None, floor: float | None
) -> MeasureVerdict:
    because = _reason(mean, category, before, limit, floor)
    return MeasureVerdict(mean.measure, category, before, mean.value, limit, floor, because)


def _reason(
    mean: Mean, category: str | None, before: float | None, limit: float | None, floor: float | None
) -> str | None:
    where = f" in category {category}" if category else ""
    if limit is None and floor is None:
        return None
    if mean.value is None:
        return f"{mean.measure}{where} has no value: no query counts for it"
    if floor is not None and mean.value < floor - TOLERANCE:
        return f"{mean.measure}{where} is {mean.value:.4f}, under its floor of {floor:g}"
    if limit is not None and before is not None and before - mean.value > limit + TOLERANCE:
        return (
            f"{mean.measure}{where} fell by {before - mean.value:.4f} "
            f"({before:.4f} -> {mean.value:.4f}), more than the {limit:g} allowed"
        )
    return None


def _changes(
    scores: SystemScores, baseline: Baseline, gated: list[str], texts: Mapping[str, str]
) -> Iterator[QueryChange]:
    """Yield each query and measure with a value in both."""
    for measure in gated:
        before = baseline.per_query.get(measure, {})
        for query_id, value in scores.per_query.get(measure, {}).items():
            if query_id in before:
                yield QueryChange(
                    query_id, texts.get(query_id, ""), measure, before[query_id], value
                )


def _worst(changes: list[QueryChange]) -> list[QueryChange]:
    """Return each losing query once, with its largest loss, the largest losses first."""
    losses: dict[str, QueryChange] = {}
    for change in changes:
        if change.delta < -TOLERANCE:
            held = losses.get(change.query_id)
            if held is None or change.delta < held.delta:
                losses[change.query_id] = change
    ordered = sorted(losses.values(), key=lambda c: (c.delta, natural(c.query_id)))
    return ordered[:N_WORST]
