"""Cohen's kappa: how far two judges agree beyond chance."""

import numpy as np
from numpy.typing import ArrayLike

from searchmark.errors import InputError, nearest
from searchmark.stats.agreement import Agreement, Clusters, Number, agreements, paired, ratio
from searchmark.stats.patterns import Draws, Floats, Ints, ValueOf, units_of

WEIGHTS = ("none", "linear", "quadratic")


def kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: str = "none",
    clusters: Clusters = None,
    draws: Draws | None = None,
) -> Agreement:
    r"""Compute Cohen's kappa: agreement of two judges beyond what chance would give.

    Parameters
    ----------
    first, second
        Whole-number grades of the same items, shape (n_items,).
    weights
        What a disagreement counts: "none" (1), "linear" (the difference of the grades) or
        "quadratic" (its square).
    clusters
        The cluster of each item, such as its query, when items of one are alike; None: its own.
    draws
        Level, resamples and seed of the interval.

    Returns
    -------
    Kappa in [-1, 1] (below 0: less than chance) with a BCa interval over items, or over clusters.

    Raises
    ------
    InputError
        A rating is missing or no whole number, or the judges rated different numbers of items.

    Notes
    -----
    ``kappa = 1 - sum(w o) / sum(w e)``: w the weight of a pair of grades, o how often it occurs, e
    how often it would if the judges graded independently, each with the frequencies seen. The
    difference is between the grades themselves, so a grade that nobody gave keeps its place.
    Undefined (None) when both judges give all items one and the same grade, and without items.

    References
    ----------
    Cohen, A coefficient of agreement for nominal scales, 1960; weighted kappa, Psychological
    Bulletin 70(4), 1968.

    Examples
    --------
    Alike in 3 of 4; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2; so 1 - (1/4) / (1/2):

    >>> kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
    0.5
    """
    if weights not in WEIGHTS:
        raise InputError(f"weights={weights} is unknown", fix=nearest(weights, WEIGHTS))
    pairs, pattern = paired(first, second)
    units = units_of(pattern, len(pairs), clusters)
    same = "both judges gave every item the same grade, so chance alone explains it all"
    return agreements([Number(_kappa_of(pairs, weights), same)], units, draws)[0]


def _kappa_of(pairs: Ints, weights: str) -> ValueOf:
    grades = np.unique(pairs)
    apart = _disagreement(np.abs(grades[:, None] - grades), weights)
    row, column = np.searchsorted(grades, pairs).T
    by_first, by_second = np.eye(len(grades))[row], np.eye(len(grades))[column]

    def value_of(counts: Floats) -> Floats:
        seen = counts @ apart[row, column] * counts.sum(axis=1)
        by_chance = ((counts @ by_first @ apart) * (counts @ by_second)).sum(axis=1)
        return 1 - ratio(seen, by_chance)

    return value_of


def _disagreement(difference: Ints, weights: str) -> Floats:
    steps = difference.astype(np.float64)
    return {"none": (steps > 0).astype(np.float64), "linear": steps, "quadratic": steps**2}[weights]
