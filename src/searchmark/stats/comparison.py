"""Systems compared with each other: every pair, every measure, and how far each can be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from searchmark.errors import InputError, nearest
from searchmark.stats.compared import Comparison, Family, Settings, nothing
from searchmark.stats.correction import CORRECTIONS
from searchmark.stats.differences import difference_intervals
from searchmark.stats.interval import Interval
from searchmark.stats.paired import PairedTest
from searchmark.stats.pairing import Pair, Scores, pairs_of
from searchmark.stats.power import POWER, detectable
from searchmark.stats.randomization import randomization_tests
from searchmark.stats.remarks import (
    CONTRARY,
    interval_remark,
    is_contrary,
    is_out_of_reach,
    reach_remark,
    remark,
)
from searchmark.stats.resampling import check_seed
from searchmark.stats.tests import TESTS, find_test
from searchmark.stats.wording import what_to_know, what_was_corrected

__all__ = ["DEFAULTS", "Comparison", "Family", "Settings", "compare"]

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
    tested = [pair for pair, p in zip(pairs, adjusted, strict=True) if p is not None]
    made = tuple(
        _settled(replace(c, p_adjusted=p), len(tested), settings)
        for c, p in zip(ordered, adjusted, strict=True)
    )
    n_untested = len(pairs) - len(tested)
    return Family(
        comparisons=made,
        correction=settings.correction,
        alpha=settings.alpha,
        sentence=what_was_corrected(tested, n_untested, settings.correction, settings.alpha),
        detectable={m: _largest(made, m) for m in dict.fromkeys(c.measure for c in made)},
        notes=tuple(what_to_know(pairs, scores)),
        level=settings.level,
    )


def _check(settings: Settings) -> None:
    find_test(settings.test)
    if settings.correction not in CORRECTIONS:
        known = nearest(settings.correction, CORRECTIONS)
        raise InputError(f"unknown correction '{settings.correction}'", fix=known)
    if not 0 < settings.alpha < POWER:
        raise InputError(f"alpha cannot be {settings.alpha:g}", fix="give a share such as 0.05")
    check_seed(settings.seed)


def _settled(c: Comparison, n_tested: int, settings: Settings) -> Comparison:
    """Return the comparison with what the correction made of it."""
    if not is_out_of_reach(c, n_tested, settings):
        return c
    return replace(c, is_out_of_reach=True, note=reach_remark(n_tested, settings))


def _groups(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Return pairs over the same queries together: they share what is drawn."""
    groups: dict[bytes, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.queries, []).append(pair)
    return list(groups.values())


def _compare_group(pairs: Sequence[Pair], settings: Settings) -> Iterator[Comparison]:
    if not pairs[0].n:
        yield from (nothing(pair, settings) for pair in pairs)
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
    smallest = detectable(pair.spread.deviation, pair.spread.n_units, alpha=settings.alpha)
    leans_away = is_contrary(pair, settings.test, delta)
    return replace(
        nothing(pair, settings),
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
        note=CONTRARY if leans_away else remark(pair, tests[settings.test], interval),
        n_clusters=pair.n_clusters,
        is_contrary=leans_away,
        is_exact=tests[settings.test].is_exact,
        interval_note=interval_remark(pair, interval),
    )


def _scaled(value: float | None, pair: Pair) -> float | None:
    return None if value is None else value * pair.scale


def _largest(comparisons: Sequence[Comparison], measure: str) -> float | None:
    sizes = [c.detectable for c in comparisons if c.measure == measure]
    return max((size for size in sizes if size is not None), default=None)
