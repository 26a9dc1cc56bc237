"""Bootstrap of numbers that depend only on how often each pattern of ratings occurs.

Items that were rated alike are alike, so a resample of items is a count of each pattern: a table
with a few columns in place of a list as long as the data. Clusters of items are drawn whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.stats.resampling import check_seed, cluster_codes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ValueOf = Callable[[Floats], Floats]
"""Counts of the patterns, shape (rows, n_patterns), to one number a row; NaN where undefined."""

CELLS = 2_000_000
"""Cells of a table of counts that are held at once."""

DRAW_ITEMS = 3
"""A binomial count costs about as much as drawing this many single items."""

DIGITS = 12
"""Decimals that a resampled number keeps: more is the order of summing, not the data."""

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Draws:
    """How many resamples are drawn, from which seed, and the share of them an interval spans."""

    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"level={self.level} is no share", fix="give one such as 0.95")
        if self.resamples < 100:
            raise InputError(
                f"resamples={self.resamples} is too few for an interval", fix="draw 10,000"
            )
        check_seed(self.seed)


class Span(NamedTuple):
    """An interval of a number, or a sentence why there is none; `note` may stand beside both."""

    low: float | None
    high: float | None
    note: str | None


class Units(NamedTuple):
    """What is drawn: distinct units, the patterns in each (None: one pattern each) and how many."""

    patterns: Floats | None
    times: Ints
    noun: str

    @property
    def counts(self) -> Floats:
        """How often each pattern occurs in all."""
        times = self.times.astype(np.float64)
        return times if self.patterns is None else times @ self.patterns


def units_of(pattern: Ints, n_patterns: int, clusters: Sequence[object] | None = None) -> Units:
    """Return what is drawn: the items, or whole clusters where items share one.

    Equal units are merged and in the order of their content, so neither the order of the items nor
    the names of the clusters can change what is drawn. An item whose cluster is None stands alone.
    """
    if clusters is not None and len(clusters) != len(pattern):
        raise InputError(f"{len(clusters)} clusters for {len(pattern)} items")
    member = None if clusters is None else cluster_codes(clusters, len(pattern))
    if member is None or int(member.max(initial=-1)) + 1 == len(pattern):
        return Units(None, np.bincount(pattern, minlength=n_patterns), "item")
    table = np.zeros((int(member.max()) + 1, n_patterns), dtype=np.int64)
    np.add.at(table, (member, pattern), 1)
    distinct, times = np.unique(table, axis=0, return_counts=True)
    return Units(distinct.astype(np.float64), times, "cluster")


def spans(
    observed: Sequence[float], numbers: Sequence[ValueOf], units: Units, draws: Draws
) -> list[Span]:
    """Return the BCa interval of each number over the same resampled units.

    Parameters
    ----------
    observed
        The numbers themselves, shape (k,).
    numbers
        What computes each from counts of the patterns, a row a resample.
    units
        What is drawn (`units_of`).
    draws
        Level, number of resamples and seed.

    Returns
    -------
    Low and high of each, or None for both with the reason.

    Notes
    -----
    Bias ``z0 = normal quantile of P(drawn < observed) + P(drawn = observed) / 2``; acceleration
    from the values with one unit left out, ``a = sum(u^3) / (6 sum(u^2)^1.5)``, u their mean minus
    each. Resamples where a number is undefined are left out and counted in the note.

    References
    ----------
    Efron, Better bootstrap confidence intervals, JASA 82(397), 1987.

    Examples
    --------
    The share of pattern 1 in 40 items, half of them of pattern 1:

    >>> half = units_of(np.array([0, 1] * 20), 2)
    >>> found = spans([0.5], [lambda counts: counts[:, 1] / 40], half, Draws())[0]
    >>> (round(found.low, 2), round(found.high, 2))
    (0.35, 0.65)
    """
    n = int(units.times.sum())
    if n < 2:
        note = f"one {units.noun} only; an interval needs at least two"
        return [Span(None, None, note)] * len(observed)
    parts = [[value_of(c) for value_of in numbers] for c in drawn_counts(units, draws)]
    return [
        _span(seen, np.concatenate(drawn), acceleration(value_of, units), (units, draws))
        for seen, value_of, drawn in zip(observed, numbers, zip(*parts, strict=True), strict=True)
    ]


def _span(observed: float, drawn: Floats, a: float, how: tuple[Units, Draws]) -> Span:
    units, draws = how
    drawn = np.sort(np.round(drawn[~np.isnan(drawn)], DIGITS))
    lost = draws.resamples - len(drawn)
    if 2 * lost > draws.resamples:
        return Span(None, None, f"undefined in {lost:,} of {draws.resamples:,} resamples")
    if drawn[0] == drawn[-1]:
        every = f"every resample of {units.times.sum()} {units.noun}s"
        return Span(None, None, f"the same in {every}, so no interval can be drawn")
    note = f"{lost:,} of {draws.resamples:,} resamples left out: undefined there" if lost else None
    low, high = _bca(round(observed, DIGITS), drawn, a, draws.level)
    return Span(low, high, note)


def drawn_counts(units: Units, draws: Draws) -> Iterator[Floats]:
    """Yield counts of the patterns in resamples, shape (some resamples, n_patterns)."""
    rng = np.random.default_rng(draws.seed)
    n, kinds = int(units.times.sum()), len(units.times)
    by_item = DRAW_ITEMS * kinds > n
    width = max(n if by_item else kinds, len(units.counts))
    step = max(1, CELLS // width)
    for start in range(0, draws.resamples, step):
        size = min(step, draws.resamples - start)
        many = _singly(units.times, size, rng) if by_item else _at_once(units.times, size, rng)
        counts = many.astype(np.float64)
        yield counts if units.patterns is None else counts @ units.patterns


def _at_once(times: Ints, size: int, rng: np.random.Generator) -> Ints:
    n = times.sum()
    return rng.multinomial(n, times / n, size=size)


def _singly(times: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Draw the units of each resample one by one: quicker where most units differ."""
    n, kinds = int(times.sum()), len(times)
    kind = np.repeat(np.arange(kinds), times)
    drawn = kind[rng.integers(n, size=(size, n), dtype=np.int32)]
    drawn += np.arange(size)[:, None] * kinds
    return np.bincount(drawn.ravel(), minlength=size * kinds).reshape(size, kinds)


def acceleration(value_of: ValueOf, units: Units) -> float:
    """Return BCa's acceleration, from the values with one unit left out."""
    kinds = len(units.times)
    whole = units.counts
    step = max(1, CELLS // len(whole))
    left_out = np.concatenate(
        [value_of(whole - _rows(units, i, i + step)) for i in range(0, kinds, step)]
    )
    known = ~np.isnan(left_out)
    left_out, times = left_out[known], units.times[known]
    u = np.average(left_out, weights=times) - left_out if len(times) else left_out
    spread = float(times @ u**2)
    return float(times @ u**3) / (6 * spread**1.5) if spread > 1e-24 else 0.0


def _rows(units: Units, start: int, stop: int) -> Floats:
    if units.patterns is not None:
        return units.patterns[start:stop]
    kinds = len(units.times)
    return np.eye(min(stop, kinds) - start, kinds, k=start)


def _bca(observed: float, drawn: Floats, a: float, level: float) -> tuple[float, float]:
    below = float(np.mean(drawn < observed) + np.mean(drawn == observed) / 2)
    edge = 0.5 / len(drawn)  # finitely many draws cannot say more than this
    z0 = NORMAL.inv_cdf(min(max(below, edge), 1 - edge))
    low, high = (_adjusted(z0, a, share) for share in ((1 - level) / 2, (1 + level) / 2))
    return float(np.quantile(drawn, low)), float(np.quantile(drawn, high))


def _adjusted(z0: float, a: float, share: float) -> float:
    z = z0 + NORMAL.inv_cdf(share)
    return NORMAL.cdf(z0 + z / (1 - a * z)) if a * z < 1 else float(z > 0)
