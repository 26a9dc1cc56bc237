"""Systems compared with each other: every pair, every measure, and how far each can be trusted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from searchmark.stats.paired import ALPHA

Correction = Literal["holm", "bh", "none"]
Words = Literal["better", "worse", "cannot tell", "same"]
Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""System -> measure -> query id -> value; a query without a value is not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to compare.

    `test` decides (see `searchmark.stats.tests.TESTS`), `correction` is made over all comparisons
    of a call ("holm", "bh" for Benjamini and Hochberg, or "none"), `alpha` is the level, `level`
    the intervals'. `resamples` None computes intervals instead of drawing for them.
    """

    test: str = "randomization"
    correction: Correction = "holm"
    alpha: float = ALPHA
    level: float = 0.95
    permutations: int = 100_000
    resamples: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One measure of two systems over the queries that both have a value for.

    `a` is the reference, `b` the candidate, `delta` = b - a of the means, `low` to `high` its
    interval (not corrected for other comparisons). `p` is what `test` says, `p_adjusted` after
    the family's correction, `p_by_test` what all tests say. `effect` is `delta` over the standard
    deviation of the differences (Cohen's d_z). `wins` counts the queries where b is better,
    `losses` those where a is: where lower is better, a win is a lower value. `detectable` is the
    smallest difference that these queries show in four of five cases, by the spread seen here,
    with `alpha` and no correction. `n_clusters` is None where queries stand alone. What is
    undefined is None, and `note` says why.
    """

    a: str
    b: str
    measure: str
    n_queries: int
    mean_a: float | None
    mean_b: float | None
    delta: float | None
    low: float | None
    high: float | None
    interval_method: str
    test: str
    p: float | None
    p_adjusted: float | None
    p_by_test: Mapping[str, float | None]
    effect: float | None
    wins: int
    ties: int
    losses: int
    detectable: float | None
    note: str | None = None
    alpha: float = ALPHA
    higher_is_better: bool = True
    n_clusters: int | None = None

    @property
    def words(self) -> Words:
        """What can be said of b beside a: "better", "worse", "cannot tell", "same"."""
        if self.n_queries and self.ties == self.n_queries:
            return "same"
        if self.delta is None or self.p_adjusted is None or self.p_adjusted >= self.alpha:
            return "cannot tell"
        return "better" if (self.delta > 0) == self.higher_is_better else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The comparisons that were made together, and what was done about their number.

    `sentence` says in plain words what was corrected. `detectable` maps a measure to the largest
    `detectable` of its comparisons: a smaller difference may go unseen. `notes` are sentences
    that the reader needs, such as on queries that only one system has.
    """

    comparisons: tuple[Comparison, ...]
    correction: Correction
    alpha: float
    sentence: str
    detectable: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


DEFAULTS = Settings()


def compare(
    scores: Scores,
    *,
    reference: str | None = None,
    settings: Settings = DEFAULTS,
    clusters: Mapping[str, str] | None = None,
) -> Family:
    """Compare systems on every measure: all pairs, or all others with the `reference`."""
    raise NotImplementedError
