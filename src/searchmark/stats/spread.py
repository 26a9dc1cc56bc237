"""How much the differences of two systems scatter, and over how many independent ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.stats.resampling import grouped
from searchmark.stats.rounding import SAME, scale_of

Floats = NDArray[np.float64]

N_MOVED = 10
"""Queries that must differ, or else half of them, before their spread says how others would."""


class Spread(NamedTuple):
    """The standard deviation of a unit of evidence, and how many units there are.

    A unit is a query or, of `n_queries` in clusters, a cluster. `n_moved` counts the queries whose
    difference is not 0.
    """

    deviation: float
    n_units: int
    n_queries: int
    n_moved: int

    @property
    def is_thin(self) -> bool:
        """Whether too few queries moved for the deviation to speak for another change."""
        return self.n_moved < min(N_MOVED, self.n_queries / 2)


def spread_of(differences: Floats, clusters: Sequence[object] | None = None) -> Spread:
    """Return how much differences scatter.

    Parameters
    ----------
    differences
        One a query, shape (n,).
    clusters
        One label a query; None is a cluster alone.

    Returns
    -------
    Spread. Its deviation over the root of its units is the standard error of the mean difference.
    It is 0 for fewer than two units, and where only rounding tells the differences apart.

    Notes
    -----
    Of queries it is their standard deviation, with n - 1. Of c clusters it is that of as many
    single queries whose mean would be as unsure: with u a cluster's sum less the mean difference of
    as many queries, ``sqrt(sum(u^2) / (c - 1)) * c / n``.

    Examples
    --------
    Differences of -1 and 1 from their mean, so a variance of 2/1:

    >>> round(spread_of(np.array([1.0, 3.0])).deviation, 3)
    1.414
    """
    n, n_moved = len(differences), int(np.count_nonzero(differences))
    scale = scale_of(differences)
    sums, sizes = grouped(differences[:, None] / scale, clusters)
    n_units = len(sums)
    if n_units < 2:
        return Spread(0.0, n_units, n, n_moved)
    influence = sums[:, 0] - float(sums.sum() / n) * sizes
    deviation = scale * float(np.sqrt((influence**2).sum() / (n_units - 1))) * n_units / n
    is_rounding = deviation <= SAME * float(np.abs(differences).max())
    return Spread(0.0 if is_rounding else deviation, n_units, n, n_moved)
