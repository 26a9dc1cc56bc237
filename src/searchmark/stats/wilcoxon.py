"""Wilcoxon's signed-rank test: which side is better, weighted by the rank of how much."""

from collections.abc import Sequence
from math import erfc, sqrt

import numpy as np

from searchmark.stats.paired import (
    Alternative,
    Floats,
    PairedTest,
    alone,
    check_alternative,
    units_of,
)

EXACT_PLAIN = 50
"""Up to so many differences, none equal and none 0, p is exact."""

EXACT_TIED = 13
"""Up to so many, p is exact with equal ones and zeros too."""


def wilcoxon_test(
    differences: Floats,
    *,
    clusters: Sequence[object] | None = None,
    alternative: Alternative = "two-sided",
) -> PairedTest:
    """Test whether differences lie around 0, by their ranks.

    Parameters
    ----------
    differences
        Candidate minus reference, one a query, shape (n,). Differences of 0 are dropped.
    clusters
        One label a query; the test is then over the clusters' sums.
    alternative
        "two-sided", "greater" or "less".

    Returns
    -------
    PairedTest; `n` counts the differences that are not 0, `p` is 1 where there are none, and None
    for a single query.

    Raises
    ------
    InputError
        Where there is no query, a difference is no finite number, or there is no such alternative.

    Notes
    -----
    The sizes of the differences are ranked, equal ones share their mean rank, and W is the sum of
    the ranks of positive ones. Up to 50 differences without ties and zeros, and up to 13 with
    them, p is exact: the share of all assignments of signs. Beyond,
    ``z = (W - n(n+1)/4) / sqrt(n(n+1)(2n+1)/24 - sum(t^3 - t)/48)`` over groups of t equal sizes,
    without a correction for continuity. These are SciPy's defaults. It tests whether differences
    lie symmetrically around 0, so it can find one where the means are equal.

    References
    ----------
    Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945; ties: Conover,
    Practical Nonparametric Statistics, 1999, section 5.7.

    Examples
    --------
    W = 1 + 2 + 3 + 4 is the most there is, which one in 16 assignments reaches:

    >>> wilcoxon_test(np.array([0.1, 0.2, 0.3, 0.4])).p
    0.125
    """
    check_alternative(alternative)
    units = units_of(differences, clusters)
    if len(units) == 1:
        return alone("wilcoxon", differences)
    moved = units[units != 0]
    n = len(moved)
    if n == 0:
        return PairedTest("wilcoxon", 1.0, 0, True, "no query differs")
    ranks, group = _doubled_ranks(np.abs(moved))
    up = int(ranks[moved > 0].sum())
    is_plain = n == len(units) and len(group) == n
    if len(units) <= (EXACT_PLAIN if is_plain else EXACT_TIED):
        return PairedTest("wilcoxon", _exact(up, ranks, alternative), n, True)
    return PairedTest("wilcoxon", _normal(up / 2, n, group, alternative), n, False)


def _doubled_ranks(sizes: Floats) -> tuple[Floats, Floats]:
    """Return twice the mean rank of each size, a whole number, and how many share each size."""
    _, place, count = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    doubled: Floats = (2 * last - count + 1).astype(np.float64)
    return doubled[place], count.astype(np.float64)


def _exact(up: int, doubled: Floats, alternative: Alternative) -> float:
    """Count all assignments of signs: how many give each sum, one rank after the other."""
    total = int(doubled.sum())
    ways = np.zeros(total + 1)
    ways[0] = 1.0
    for rank in doubled.astype(int):
        ways[rank:] += ways[:-rank].copy()
    share = ways / ways.sum()
    above, below = float(share[up:].sum()), float(share[: up + 1].sum())
    if alternative == "two-sided":
        return min(1.0, 2 * min(above, below))
    return min(1.0, above if alternative == "greater" else below)


def _normal(up: float, n: int, group: Floats, alternative: Alternative) -> float:
    spread = n * (n + 1) * (2 * n + 1) / 24 - float((group**3 - group).sum()) / 48
    z = (up - n * (n + 1) / 4) / sqrt(spread)
    if alternative == "two-sided":
        return erfc(abs(z) / sqrt(2))
    return erfc((z if alternative == "greater" else -z) / sqrt(2)) / 2
