"""Which grade one judge gives where another gives which: the table of confusions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from searchmark.stats.agreement import Agreement, Clusters, agreements, paired, share_number
from searchmark.stats.patterns import Draws, units_of


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of each pair of grades: rows by the first judge's grade, columns by the second's.

    `shares[i][j]` is the share of the items that the first judge graded `grades[i]` which the
    second graded `grades[j]`, with its interval.
    """

    grades: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[Agreement, ...], ...]


def confusion(
    first: ArrayLike, second: ArrayLike, *, clusters: Clusters = None, draws: Draws | None = None
) -> Confusion:
    """Count how often each grade of one judge meets each grade of another.

    Parameters
    ----------
    first, second
        Whole-number grades of the same items, shape (n_items,).
    clusters
        The cluster of each item, such as its query, when items of one are alike; None: its own.
    draws
        Level of the intervals; number and seed of the resamples of clusters.

    Returns
    -------
    Counts and shares of each row, over all grades that either judge gave, in order.

    Raises
    ------
    InputError
        A rating is missing or no whole number, or the judges rated different numbers of items.

    Notes
    -----
    Shares get Wilson's interval; with clusters, BCa over clusters. The shares of a grade that the
    first judge never gave are None.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.

    Examples
    --------
    >>> found = confusion([0, 0, 1, 1], [0, 1, 1, 1])
    >>> found.counts
    ((1, 1), (0, 2))
    >>> found.shares[0][1].value
    0.5
    """
    pairs, pattern = paired(first, second)
    units = units_of(pattern, len(pairs), clusters)
    grades = np.unique(pairs)
    row, column = np.searchsorted(grades, pairs).T
    table = np.zeros((len(grades), len(grades)), dtype=np.int64)
    np.add.at(table, (row[pattern], column[pattern]), 1)
    shares = agreements(
        [
            share_number((row == i) & (column == j), row == i, _never(grade))
            for i, grade in enumerate(grades.tolist())
            for j in range(len(grades))
        ],
        units,
        draws,
    )
    return Confusion(
        grades=tuple(grades.tolist()),
        counts=tuple(tuple(line) for line in table.tolist()),
        shares=tuple(zip(*[iter(shares)] * len(grades), strict=True)),
    )


def _never(grade: int) -> str:
    return f"the first judge gave no item grade {grade}"
