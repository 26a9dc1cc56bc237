"""What a comparison of systems is asked and what it says: values, made by `comparison`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from searchmark.stats.paired import ALPHA
from searchmark.stats.pairing import Pair
from searchmark.stats.tests import TESTS

Correction = Literal["holm", "bh", "none"]
Words = Literal["better", "worse", "cannot tell", "same"]


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
    with `alpha` and no correction. `n_clusters` is None where queries stand alone. `is_contrary`
    where a test by ranks or signs leans to one side and the mean to the other, `is_exact`
    where `p` rests on no drawn numbers and no approximation, `is_out_of_reach` where so few
    permutations cannot show what `alpha` asks for. What is undefined is None, and
    `note` says why, as `interval_note` does of the interval. A measure that is a sum or a geometric
    mean has that in place of the mean; the latter is tested by logarithms, as its `effect` is.
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
    is_contrary: bool = False
    is_exact: bool = False
    is_out_of_reach: bool = False
    interval_note: str | None = None

    @property
    def words(self) -> Words:
        """What can be said of b beside a: "better", "worse", "cannot tell", "same"."""
        if self.n_queries and self.ties == self.n_queries:
            return "same"
        if self.delta is None or self.p_adjusted is None or self.p_adjusted > self.alpha:
            return "cannot tell"
        if self.is_contrary:
            return "cannot tell"
        return "better" if (self.delta > 0) == self.higher_is_better else "worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The comparisons that were made together, and what was done about their number.

    `sentence` says in plain words what was corrected. `detectable` maps a measure to the largest
    `detectable` of its comparisons: a smaller difference may go unseen. `notes` are sentences
    that the reader needs, such as on queries that only one system has. `level` is the intervals'.
    """

    comparisons: tuple[Comparison, ...]
    correction: Correction
    alpha: float
    sentence: str
    detectable: Mapping[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    level: float = 0.95


def nothing(pair: Pair, settings: Settings) -> Comparison:
    """Return what can be said of two systems that share no query."""
    return Comparison(
        a=pair.a,
        b=pair.b,
        measure=pair.measure,
        n_queries=0,
        mean_a=None,
        mean_b=None,
        delta=None,
        low=None,
        high=None,
        interval_method="none",
        test=settings.test,
        p=None,
        p_adjusted=None,
        p_by_test=dict.fromkeys(TESTS),
        effect=None,
        wins=0,
        ties=0,
        losses=0,
        detectable=None,
        note="no query has a value of both",
        alpha=settings.alpha,
        higher_is_better=pair.higher_is_better,
    )
