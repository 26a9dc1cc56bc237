"""Systems compared with each other: every pair, every measure, and how far each can be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from searchmark.errors import InputError, nearest
from searchmark.stats.correction import CORRECTIONS
from searchmark.stats.differences import difference_intervals
from searchmark.stats.interval import Interval
from searchmark.stats.paired import ALPHA, PairedTest
from searchmark.stats.pairing import Pair, Scores, pairs_of
from searchmark.stats.power import POWER, detectable
from searchmark.stats.randomization import randomization_tests
from searchmark.stats.tests import TESTS, find_test
from searchmark.stats.wording import what_to_know, what_was_corrected

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
    where a test by ranks or signs leans to one side and the mean to the other. What is undefined
    is None, and `note` says why. A measure that is a sum or a geometric mean has that in place of
    the mean; the latter is tested by logarithms, as its `effect` is.
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

    @property
    def words(self) -> Words:
        """What can be said of b beside a: "better", "worse", "cannot tell", "same"."""
        if self.n_queries and self.ties == self.n_queries:
            return "same"
        if self.delta is None or self.p_adjusted is None or self.p_adjusted >= self.alpha:
            return "cannot tell"
        if self.is_contrary:
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
    """Compare systems on every measure: all pairs, or all others with a reference.

    Parameters
    ----------
    scores
        System -> measure -> query id -> value. The order of the systems is the order of the pairs,
        that of the queries does not matter.
    reference
        The system that all others are compared with; by default all pairs are compared, each
        earlier system being the reference of the later.
    settings
        How; see `Settings`.
    clusters
        Query id -> cluster; a query without one stands alone.

    Returns
    -------
    Family, its comparisons by measure, then pair. Two systems are compared over the queries that
    both have a value for.

    Raises
    ------
    InputError
        Where there are not two systems, a value is no finite number, or a setting is impossible.

    References
    ----------
    Sakai, Laboratory Experiments in Information Retrieval, 2018; Carterette, Multiple testing in
    statistical analysis of systems-based information retrieval experiments, TOIS 30(1), 2012.

    Examples
    --------
    >>> old = {"RR": {"q1": 0.5, "q2": 0.2, "q3": 0.1}}
    >>> new = {"RR": {"q1": 1.0, "q2": 0.5, "q3": 0.1}}
    >>> found = compare({"old": old, "new": new}).comparisons[0]
    >>> round(found.delta, 3), found.p, found.wins, found.ties, found.words
    (0.267, 0.5, 2, 1, 'cannot tell')
    """
    _check(settings)
    pairs = pairs_of(scores, reference, clusters)
    found = [c for group in _groups(pairs) for c in _compare_group(group, settings)]
    by_name = {(c.measure, c.a, c.b): c for c in found}
    ordered = [by_name[p.measure, p.a, p.b] for p in pairs]
    adjusted = CORRECTIONS[settings.correction]([c.p for c in ordered])
    made = tuple(replace(c, p_adjusted=p) for c, p in zip(ordered, adjusted, strict=True))
    tested = [pair for pair, p in zip(pairs, adjusted, strict=True) if p is not None]
    n_untested = len(pairs) - len(tested)
    return Family(
        comparisons=made,
        correction=settings.correction,
        alpha=settings.alpha,
        sentence=what_was_corrected(tested, n_untested, settings.correction, settings.alpha),
        detectable={m: _largest(made, m) for m in dict.fromkeys(c.measure for c in made)},
        notes=tuple(what_to_know(pairs, scores)),
    )


def _check(settings: Settings) -> None:
    find_test(settings.test)
    if settings.correction not in CORRECTIONS:
        known = nearest(settings.correction, CORRECTIONS)
        raise InputError(f"unknown correction '{settings.correction}'", fix=known)
    if not 0 < settings.alpha < POWER:
        raise InputError(f"alpha cannot be {settings.alpha:g}", fix="give a share such as 0.05")


def _groups(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return pairs over the same queries together: they share what is drawn."""
    groups: dict[bytes, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.queries, []).append(pair)
    return list(groups.values())


def _compare_group(pairs: Sequence[Pair], settings: Settings) -> Iterator[Comparison]:
    if not pairs[0].n:
        yield from (_nothing(pair, settings) for pair in pairs)
        return
    table = np.column_stack([pair.differences for pair in pairs])
    labels = pairs[0].labels
    flipped = randomization_tests(
        table, clusters=labels, permutations=settings.permutations, seed=settings.seed
    )
    intervals = difference_intervals(
        table, labels, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )
    for pair, by_signs, interval in zip(pairs, flipped, intervals, strict=True):
        tests = {
            name: by_signs
            if name == "randomization"
            else entry.run(pair.differences, clusters=pair.labels)
            for name, entry in TESTS.items()
        }
        yield _one(pair, tests, interval, settings)


def _one(
    pair: Pair, tests: Mapping[str, PairedTest], interval: Interval, settings: Settings
) -> Comparison:
    d, (mean_a, mean_b) = pair.differences, pair.means()
    delta = mean_b - mean_a if d.any() else 0.0
    up, down = int(np.count_nonzero(d > 0)), int(np.count_nonzero(d < 0))
    sd = float(d.std(ddof=1)) if np.ptp(d) > 0 else 0.0
    is_geometric = pair.aggregate == "geometric"
    smallest = detectable(*pair.spread, alpha=settings.alpha)
    is_contrary = _is_contrary(pair, settings.test, delta)
    return replace(
        _nothing(pair, settings),
        n_queries=pair.n,
        mean_a=mean_a,
        mean_b=mean_b,
        delta=delta,
        low=None if is_geometric else _scaled(interval.low, pair),
        high=None if is_geometric else _scaled(interval.high, pair),
        interval_method="none" if is_geometric else interval.method,
        p=tests[settings.test].p,
        p_by_test={name: test.p for name, test in tests.items()},
        effect=float(d.mean()) / sd if sd else None,
        wins=up if pair.higher_is_better else down,
        ties=pair.n - up - down,
        losses=down if pair.higher_is_better else up,
        detectable=None if is_geometric else _scaled(smallest, pair),
        note=_CONTRARY if is_contrary else _note(pair, tests[settings.test], interval),
        n_clusters=pair.n_clusters,
        is_contrary=is_contrary,
    )


def _scaled(value: float | None, pair: Pair) -> float | None:
    return None if value is None else value * pair.scale


_CONTRARY = "the test finds that more queries moved the other way than the mean"


def _is_contrary(pair: Pair, test: str, delta: float) -> bool:
    """Tell whether a test by ranks or signs leans to the other side than the mean does."""
    if test not in ("wilcoxon", "sign") or pair.n < 2:
        return False
    run = TESTS[test].run
    up = run(pair.differences, clusters=pair.labels, alternative="greater").p or 0.0
    down = run(pair.differences, clusters=pair.labels, alternative="less").p or 0.0
    return (up < down and delta < 0) or (down < up and delta > 0)


def _note(pair: Pair, test: PairedTest, interval: Interval) -> str | None:
    """Return the one thing that the reader needs most."""
    d, n = pair.differences, f"{pair.n:,}"
    if pair.n > 1 and not d.any():
        return f"the values of all {n} queries are the same"
    if pair.n > 1 and np.ptp(d) == 0:
        return f"all {n} queries differ by the same, so nothing is known of the spread"
    if pair.aggregate == "geometric":
        return "tested by logarithms, as a geometric mean is taken; its difference has no interval"
    return interval.note if interval.low is None else test.note or interval.note


def _nothing(pair: Pair, settings: Settings) -> Comparison:
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


def _largest(comparisons: Sequence[Comparison], measure: str) -> float | None:
    sizes = [c.detectable for c in comparisons if c.measure == measure]
    return max((size for size in sizes if size is not None), default=None)
