"""The decision: candidate against baseline, limits, floors and pinned queries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from searchmark.gate.baseline import Baseline, natural
from searchmark.gate.policy import GatePolicy, limit_of
from searchmark.gate.verdict import (
    TOLERANCE,
    MeasureVerdict,
    PinnedVerdict,
    QueryChange,
    Verdict,
)
from searchmark.measures.spec import Measure
from searchmark.measures.summary import Mean, SystemScores

N_WORST = 10
"""How many of the queries that lost most are named."""


@dataclass(frozen=True, slots=True)
class Background:
    """What a decision knows besides the scores, by query id and by measure as written.

    A measure that is not in `measures` is one where higher is better.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)

    def higher_is_better(self, measure: str) -> bool:
        """Tell the direction of a measure."""
        return measure not in self.measures or self.measures[measure].spec.higher_is_better


@dataclass(frozen=True, slots=True)
class Case:
    """One measure of one scope before it is decided; `drop` is what the policy allows."""

    mean: Mean
    category: str | None
    baseline: float | None
    drop: float | str | None
    floor: float | None
    higher_is_better: bool

    @property
    def limit(self) -> float | None:
        """The largest loss that passes."""
        return None if self.drop is None else limit_of(self.drop, self.baseline)

    @property
    def where(self) -> str:
        """Measure and category, for a sentence."""
        return self.mean.measure + (f" in category {self.category}" if self.category else "")


def decide(
    scores: SystemScores,
    baseline: Baseline,
    policy: GatePolicy,
    background: Background | None = None,
) -> Verdict:
    """Hold a candidate against the baseline, the limits, the floors and the pinned queries."""
    known = background or Background()
    gated = policy.gated([m.measure for m in scores.means])
    changes = list(_changes(scores, baseline, gated, known))
    verdict = Verdict(
        system=scores.system,
        measures=tuple(map(_decided, _cases_of_all(scores, baseline, policy, known))),
        categories=(
            *map(_decided, _cases_of_categories(scores, baseline, policy, known)),
            *_empty_categories(scores, policy, gated),
        ),
        worst_queries=tuple(_worst(changes)),
        n_better={m: sum(c.measure == m and c.loss < -TOLERANCE for c in changes) for m in gated},
        n_worse={m: sum(c.measure == m and c.loss > TOLERANCE for c in changes) for m in gated},
        pinned=tuple(_pinned(scores, baseline, policy, changes)),
        alpha=policy.alpha,
    )
    return replace(verdict, suggestions=tuple(_improvements(verdict)))


def _cases_of_all(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, known: Background
) -> Iterator[Case]:
    gated = policy.gated([m.measure for m in scores.means])
    for mean in scores.means:
        if mean.measure in {*gated, *policy.floors}:
            yield Case(
                mean,
                None,
                baseline.means.get(mean.measure),
                policy.max_drop if mean.measure in gated else None,
                policy.floors.get(mean.measure),
                known.higher_is_better(mean.measure),
            )


def _cases_of_categories(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, known: Background
) -> Iterator[Case]:
    """Yield every category's measures; all are shown, those with a guard or a floor are held."""
    gated = policy.gated([m.measure for m in scores.means])
    for category, means in scores.by_category.items():
        floors = policy.category_floors.get(category, {})
        before = baseline.by_category.get(category, {})
        for mean in means:
            if mean.measure in {*gated, *floors}:
                yield Case(
                    mean,
                    category,
                    before.get(mean.measure),
                    policy.category_max_drop.get(category) if mean.measure in gated else None,
                    floors.get(mean.measure),
                    known.higher_is_better(mean.measure),
                )


def _empty_categories(
    scores: SystemScores, policy: GatePolicy, gated: list[str]
) -> Iterator[MeasureVerdict]:
    """Yield a failure for every limit of a category that nobody belongs to."""
    for category in sorted(set(policy.category_floors) - set(scores.by_category)):
        for measure, floor in policy.category_floors[category].items():
            because = f"{measure} has a floor for category {category}, which no query belongs to"
            yield MeasureVerdict(measure, category, None, None, None, floor, because)
    for category in sorted(set(policy.category_max_drop) - set(scores.by_category)):
        drop = policy.category_max_drop[category]
        because = f"a drop is limited for category {category}, which no query belongs to"
        yield MeasureVerdict(gated[0], category, None, None, limit_of(drop, 0.0), None, because)


def _decided(case: Case) -> MeasureVerdict:
    return MeasureVerdict(
        measure=case.mean.measure,
        category=case.category,
        baseline=case.baseline,
        candidate=case.mean.value,
        limit=case.limit,
        floor=case.floor,
        because=_reason(case),
        higher_is_better=case.higher_is_better,
    )


def _reason(case: Case) -> str | None:
    if case.drop is None and case.floor is None:
        return None
    now, before, limit = case.mean.value, case.baseline, case.limit
    if now is None:
        return f"{case.where} has no value: no query counts for it"
    sign = 1.0 if case.higher_is_better else -1.0
    if case.floor is not None and sign * (case.floor - now) > TOLERANCE:
        side = "under its floor of" if case.higher_is_better else "over the most allowed,"
        return f"{case.where} is {now:.4f}, {side} {case.floor:g}"
    if limit is not None and before is not None and sign * (before - now) > limit + TOLERANCE:
        verb = "fell" if case.higher_is_better else "rose"
        return (
            f"{case.where} {verb} by {abs(before - now):.4f} "
            f"({before:.4f} -> {now:.4f}), more than the {_written(case)} allowed"
        )
    return None


def _written(case: Case) -> str:
    """Return the limit as the policy gives it; of a share also what it comes to."""
    return f"{case.drop} ({case.limit:.4f})" if isinstance(case.drop, str) else f"{case.drop:g}"


def _changes(
    scores: SystemScores, baseline: Baseline, gated: list[str], known: Background
) -> Iterator[QueryChange]:
    """Yield each query and measure with a value in both."""
    for measure in gated:
        before = baseline.per_query.get(measure, {})
        up = known.higher_is_better(measure)
        for query_id, value in scores.per_query.get(measure, {}).items():
            if query_id in before:
                text = known.texts.get(query_id, "")
                yield QueryChange(query_id, text, measure, before[query_id], value, up)


def _worst(changes: list[QueryChange]) -> list[QueryChange]:
    """Return each losing query once, with its largest loss, the largest losses first."""
    losses: dict[str, QueryChange] = {}
    for change in changes:
        if change.loss > TOLERANCE:
            held = losses.get(change.query_id)
            if held is None or change.loss > held.loss:
                losses[change.query_id] = change
    ordered = sorted(losses.values(), key=lambda c: (-c.loss, natural(c.query_id)))
    return ordered[:N_WORST]


def _pinned(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, changes: list[QueryChange]
) -> Iterator[PinnedVerdict]:
    gated = policy.gated([m.measure for m in scores.means])
    for query_id in dict.fromkeys(policy.pinned):
        own = tuple(c for c in changes if c.query_id == query_id)
        # a measure that leaves out queries without an answer no longer counts this one
        lost = [
            m
            for m in gated
            if query_id in baseline.per_query.get(m, {})
            and query_id not in scores.per_query.get(m, {})
        ]
        text = own[0].text if own else ""
        yield PinnedVerdict(query_id, text, own, _pinned_reason(query_id, own, lost))


def _pinned_reason(query_id: str, changes: tuple[QueryChange, ...], lost: list[str]) -> str | None:
    """Say in which measures a pinned query got worse; one that counts in none holds nothing."""
    if not changes and not lost:
        return f"pinned query {query_id} has no value in any gated measure, so nothing holds it"
    worse = [
        f"{c.measure} {c.baseline:.4f} -> {c.candidate:.4f}" for c in changes if c.loss > TOLERANCE
    ]
    worse += [f"{m} has no value any more" for m in lost]
    return f"pinned query {query_id} got worse: {', '.join(worse)}" if worse else None


def _improvements(verdict: Verdict) -> Iterator[str]:
    """Suggest to accept what got better by more than the limit: else it can be lost unseen."""
    better = [
        f"{v.measure} by {-v.loss:.4f}"
        for v in verdict.measures
        if v.limit is not None and v.loss is not None and -v.loss > v.limit + TOLERANCE
    ]
    if better and verdict.passed:
        yield (
            f"better by more than the limit: {', '.join(better)}; keep it with "
            "'searchmark baseline accept', or a later loss of as much passes unseen"
        )
