"""The sign test: only which side is better counts, not by how much."""

from collections.abc import Sequence
from math import comb

import numpy as np

from searchmark.stats.paired import (
    Alternative,
    Floats,
    PairedTest,
    alone,
    check_alternative,
    units_of,
)
from searchmark.stats.student import beta_share

_COUNTED = 1000
"""Up to so many queries whole numbers are added up; beyond, the beta function says the same."""


def sign_test(
    differences: Floats,
    *,
    clusters: Sequence[object] | None = None,
    alternative: Alternative = "two-sided",
) -> PairedTest:
    """Test whether one side is better on more queries than chance explains.

    Parameters
    ----------
    differences
        Candidate minus reference, one a query, shape (n,). Differences of 0 are dropped.
    clusters
        One label a query; the test is then over the signs of the clusters' sums.
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
    Exact: of n fair coins, how often as many or more show one side. Two-sided it is twice that.

    References
    ----------
    Conover, Practical Nonparametric Statistics, 1999, section 3.4.

    Examples
    --------
    Four wins of four: 2 * (1/2)**4:

    >>> sign_test(np.array([0.1, 0.2, 0.1, 0.3])).p
    0.125
    """
    check_alternative(alternative)
    units = units_of(differences, clusters)
    if len(units) == 1:
        return alone("sign", differences)
    wins, losses = int(np.count_nonzero(units > 0)), int(np.count_nonzero(units < 0))
    n = wins + losses
    if n == 0:
        return PairedTest("sign", 1.0, 0, True, "no query differs")
    if alternative == "two-sided":
        return PairedTest("sign", min(1.0, 2 * _at_least(max(wins, losses), n)), n, True)
    return PairedTest("sign", _at_least(wins if alternative == "greater" else losses, n), n, True)


def _at_least(k: int, n: int) -> float:
    """Return how often n fair coins show k heads or more."""
    if k == 0:
        return 1.0
    if n > _COUNTED:
        return beta_share(0.5, k, n - k + 1)
    ways: int = sum(comb(n, i) for i in range(k, n + 1))
    return ways / (1 << n)
