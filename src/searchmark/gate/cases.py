"""The cases of a decision: each gated measure, of all queries and of each category."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from searchmark.gate.baseline import Baseline
from searchmark.gate.policy import GatePolicy, limit_of
from searchmark.gate.verdict import TOLERANCE
from searchmark.measures.spec import Aggregate, Measure
from searchmark.measures.summary import Mean, SystemScores
from searchmark.stats.means import NO_GROUPS, Groups


@dataclass(frozen=True, slots=True)
class Background:
    """What a decision knows besides the scores, by query id and by measure as written.

    A query without a cluster in `groups` is one of its own; a measure that is not in `measures` is
    a mean, and higher is better.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    groups: Groups = NO_GROUPS

    def higher_is_better(self, measure: str) -> bool:
        """Tell the direction of a measure."""
        return measure not in self.measures or self.measures[measure].spec.higher_is_better

    def within(self, category: str) -> frozenset[str]:
        """Return the queries of a category."""
        return frozenset(q for q, c in self.groups.category.items() if c == category)

    def most_lost(self, mean: Mean, baseline: float | None) -> float | None:
        """Return the largest loss there could be; None for a measure without a worst value."""
        if baseline is None or mean.measure not in self.measures:
            return None
        spec = self.measures[mean.measure].spec
        worst = spec.low if spec.higher_is_better else spec.high
        if worst is None:
            return None
        return abs(baseline - worst * (mean.n_queries if spec.aggregate == "sum" else 1))

    def aggregate(self, measure: str) -> Aggregate:
        """Return how a measure's values become one number."""
        return self.measures[measure].spec.aggregate if measure in self.measures else "mean"


@dataclass(frozen=True, slots=True)
class Case:
    """One measure of one scope before it is decided.

    `drop` is what the policy allows, `most` the largest loss there could be, where that is known.
    """

    mean: Mean
    category: str | None
    baseline: float | None
    drop: float | str | None
    floor: float | None
    higher_is_better: bool
    most: float | None = None

    @property
    def limit(self) -> float | None:
        """The largest loss that passes."""
        return None if self.drop is None else limit_of(self.drop, self.baseline)

    @property
    def loss(self) -> float | None:
        """How much worse the candidate is; negative where it is better."""
        if self.baseline is None or self.mean.value is None:
            return None
        delta = self.mean.value - self.baseline
        return -delta if self.higher_is_better else delta

    @property
    def is_beyond(self) -> bool:
        """Whether the loss is larger than the limit."""
        return (
            self.loss is not None and self.limit is not None and self.loss > self.limit + TOLERANCE
        )

    @property
    def can_break(self) -> bool:
        """Whether a loss beyond the limit could be at all."""
        return self.most is None or self.limit is None or self.limit < self.most - TOLERANCE

    @property
    def where(self) -> str:
        """Measure and category, for a sentence."""
        return self.mean.measure + (f" in category {self.category}" if self.category else "")


def cases_of_all(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, known: Background
) -> Iterator[Case]:
    """Yield the measures that are held to a limit or a floor over all queries."""
    gated = policy.gated([m.measure for m in scores.means])
    for mean in scores.means:
        if mean.measure in {*gated, *policy.floors}:
            accepted = baseline.means.get(mean.measure)
            yield Case(
                mean,
                None,
                accepted,
                policy.max_drop if mean.measure in gated else None,
                policy.floors.get(mean.measure),
                known.higher_is_better(mean.measure),
                known.most_lost(mean, accepted),
            )


def cases_of_categories(
    scores: SystemScores, baseline: Baseline, policy: GatePolicy, known: Background
) -> Iterator[Case]:
    """Yield every category's measures; all are shown, those with a guard or a floor are held."""
    gated = policy.gated([m.measure for m in scores.means])
    for category, means in scores.by_category.items():
        floors = policy.category_floors.get(category, {})
        before = baseline.by_category.get(category, {})
        for mean in means:
            if mean.measure in {*gated, *floors}:
                accepted = before.get(mean.measure)
                yield Case(
                    mean,
                    category,
                    accepted,
                    policy.category_max_drop.get(category) if mean.measure in gated else None,
                    floors.get(mean.measure),
                    known.higher_is_better(mean.measure),
                    known.most_lost(mean, accepted),
                )
