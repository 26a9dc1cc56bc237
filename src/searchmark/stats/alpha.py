"""Krippendorff's alpha: agreement of any number of judges, none of whom need rate everything."""

from collections.abc import Callable
from math import frexp
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from searchmark.errors import InputError, nearest
from searchmark.stats.agreement import Agreement, Clusters, Number, agreements, ratio
from searchmark.stats.patterns import Draws, Floats, Ints, ValueOf, units_of
from searchmark.stats.rounding import SAME, scale_of


class Rated(NamedTuple):
    """Distinct items: each judge's rating as a place in `values`, -1 where there is none."""

    codes: Ints
    values: Floats

    @property
    def n_ratings(self) -> Floats:
        """How many ratings each item has."""
        has: Ints = np.sum(self.codes >= 0, axis=1)
        return has.astype(np.float64)

    @property
    def times(self) -> Floats:
        """How often each item has each value, shape (n_items, n_values)."""
        found = np.zeros((len(self.codes), len(self.values)))
        for column in self.codes.T:
            has = column >= 0
            np.add.at(found, (np.flatnonzero(has), column[has]), 1)
        return found

    def by_value(self, counts: Floats) -> Floats:
        """Return how often each value was given, (n_values, rows), from counts (n_items, rows).

        Each rating is added once: with many values most of `times` would be zeros.
        """
        item, judge = np.nonzero(self.codes >= 0)
        if not len(item):
            return np.zeros((0, counts.shape[1]))
        code = self.codes[item, judge]
        by = np.argsort(code, kind="stable")
        starts = np.searchsorted(code[by], np.arange(len(self.values)))
        return np.asarray(np.add.reduceat(counts[item[by]], starts, axis=0), np.float64)


def krippendorff_alpha(
    ratings: ArrayLike,
    *,
    scale: str = "nominal",
    clusters: Clusters = None,
    draws: Draws | None = None,
) -> Agreement:
    r"""Compute Krippendorff's alpha: agreement of all judges beyond what chance would give.

    Parameters
    ----------
    ratings
        Numbers, shape (n_items, n_judges); NaN or None where a judge did not rate an item.
    scale
        What a difference of ratings means: "nominal" (they differ), "ordinal" (by how many ratings
        lie between them) or "interval" (the square of the difference).
    clusters
        The cluster of each item, such as its query, when items of one are alike; None: its own.
    draws
        Level, resamples and seed of the interval.

    Returns
    -------
    Alpha, at most 1 (below 0: less than chance), with a BCa interval over items, or over clusters.
    `n_items` counts the items that at least two judges rated; only they say anything.

    Raises
    ------
    InputError
        The ratings are no table of finite numbers, or the scale is unknown.

    Notes
    -----
    ``alpha = 1 - D_o / D_e``: D_o the mean difference of two ratings of one item, each item with m
    ratings weighted by m; D_e that of any two of all the n ratings in those items, whoever gave
    them to whatever. The ordinal difference of c and k is the square of half of n_c, plus all
    ratings between, plus half of n_k. Undefined (None) when all ratings are the same.

    References
    ----------
    Krippendorff, Computing Krippendorff's alpha-reliability, University of Pennsylvania, 2011;
    Hayes and Krippendorff, Answering the call for a standard reliability measure for coding data,
    Communication Methods and Measures 1(1), 2007.

    Examples
    --------
    1 of 3 items differs: 2/6. Of all pairs of 3 ones and 3 zeros 2*3*3/(6*5) = 0.6 differ:

    >>> round(krippendorff_alpha([[1, 1], [0, 0], [1, 0]]).value, 3)
    0.444
    """
    if scale not in SCALES:
        raise InputError(f"the scale {scale} is unknown", fix=nearest(scale, SCALES))
    table = _table(ratings)
    pairable = np.isfinite(table).sum(axis=1) >= 2
    if clusters is not None:
        if len(clusters) != len(table):
            raise InputError(f"{len(clusters)} clusters for {len(table)} items")
        clusters = [c for c, keep in zip(clusters, pairable, strict=True) if keep]
    rated, pattern = _distinct(table[pairable])
    units = units_of(pattern, len(rated.codes), clusters)
    same = "all ratings are the same, so there is no difference that chance could make"
    return agreements([Number(SCALES[scale](rated), same)], units, draws)[0]


def _table(ratings: ArrayLike) -> Floats:
    try:
        table = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "the ratings are no table of numbers", fix="give one row an item, one column a judge"
        ) from None
    if table.ndim != 2:
        raise InputError(
            f"the ratings have {table.ndim} dimensions, not two",
            fix="give one row an item, one column a judge",
        )
    if np.isinf(table).any():
        item, judge = np.argwhere(np.isinf(table))[0] + 1
        raise InputError(f"the rating of item {item} by judge {judge} is infinite")
    return table


def _distinct(table: Floats) -> tuple[Rated, Ints]:
    """Return the distinct items, whichever judge gave which rating, and which of them each is."""
    values = np.unique(table[np.isfinite(table)])
    codes = np.where(np.isfinite(table), np.searchsorted(values, table), -1)
    codes = np.sort(codes, axis=1)
    distinct, pattern = np.unique(codes, axis=0, return_inverse=True)
    return Rated(distinct, values), pattern.ravel()


def _nominal(rated: Rated) -> ValueOf:
    m = rated.n_ratings
    within = (m**2 - (rated.times**2).sum(axis=1)) / (m - 1)

    def value_of(counts: Floats) -> Floats:
        n = counts @ m
        alike = (rated.by_value(_upright(counts)) ** 2).sum(axis=0)
        return _alpha(counts @ within, n**2 - alike, n)

    return value_of


def _interval(rated: Rated) -> ValueOf:
    m, has = rated.n_ratings, rated.codes >= 0
    shifted = np.where(has, _at(_from_least(rated.values), rated.codes), 0.0)
    sums, squares = shifted.sum(axis=1), (shifted**2).sum(axis=1)
    within = 2 * (m * squares - sums**2) / (m - 1)

    def value_of(counts: Floats) -> Floats:
        n = counts @ m
        return _alpha(counts @ within, _spread(n, counts @ sums, counts @ squares), n)

    return value_of


def _from_least(values: Floats) -> Floats:
    """Return rising values as distances from the first, up to 1 or 2.

    Alpha has no unit: scaled, by a power of 2, even the squares of great and tiny ones are doubles.
    """
    if not len(values):
        return values
    shifted = values / scale_of(values)
    shifted -= shifted[0]
    return shifted / 2.0 ** frexp(shifted[-1])[1]


def _at(values: Floats, codes: Ints) -> Floats:
    return values[codes] if len(values) else np.zeros(codes.shape)


def _ordinal(rated: Rated) -> ValueOf:
    """As the interval scale, each value standing at the middle of its ratings in their order."""
    m = rated.n_ratings

    def value_of(counts: Floats) -> Floats:
        n, upright = counts @ m, _upright(counts)
        of_value = rated.by_value(upright)
        place = np.cumsum(of_value, axis=0) - of_value / 2 - n / 2
        place = np.concatenate([place, np.zeros((1, len(n)))])  # the last is that of no rating, -1
        sums, squares = np.zeros(upright.shape), np.zeros(upright.shape)
        for column in rated.codes.T:
            given = place[column]
            sums += given
            squares += given**2
        within = 2 * (m[:, None] * squares - sums**2) / (m - 1)[:, None]
        spread = _spread(n, (upright * sums).sum(axis=0), (upright * squares).sum(axis=0))
        return _alpha((upright * within).sum(axis=0), spread, n)

    return value_of


def _upright(counts: Floats) -> Floats:
    """Return counts with a row an item: what is looked up then lies together in memory."""
    return np.ascontiguousarray(counts.T)


def _spread(n: Floats, total: Floats, squares: Floats) -> Floats:
    """Return the sum of squared differences of all pairs; rounding is no difference."""
    found = 2 * (n * squares - total**2)
    return np.where(found > SAME * n * squares, found, 0.0)


def _alpha(within: Floats, among: Floats, n: NDArray[np.float64]) -> Floats:
    """Return alpha from the sums of differences within items and among all ratings."""
    return 1 - ratio((n - 1) * within, among)


SCALES: dict[str, Callable[[Rated], ValueOf]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}
