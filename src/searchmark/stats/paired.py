"""What every paired test shares: its result, its three alternatives, its check of the input."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, nearest
from searchmark.stats.resampling import grouped
from searchmark.stats.rounding import scale_of

Floats = NDArray[np.float64]
Alternative = Literal["two-sided", "less", "greater"]

ALPHA = 0.05


class PairedTest(NamedTuple):
    """What a paired test found.

    `p` is how often differences like these or larger ones arise where neither side is better; None
    where the test says nothing, and `note` says why. `n` counts the queries (or the clusters) that
    the test is over. `is_exact` where `p` is no approximation and rests on no drawn numbers.
    """

    test: str
    p: float | None
    n: int
    is_exact: bool
    note: str | None = None


def units_of(differences: Floats, clusters: Sequence[object] | None) -> Floats:
    """Return what is independent: the differences of queries, or their sums in each cluster.

    Shape (n,) stays (c,), shape (n, k) stays (c, k). Columns too great to be added up are scaled
    down, which no test sees.
    """
    if not len(differences):
        raise InputError("there are no queries to compare", fix="give one or more")
    if not np.isfinite(differences).all():
        wrong = ~np.isfinite(differences.reshape(len(differences), -1)).all(axis=1)
        raise InputError(
            f"the difference of query {int(np.flatnonzero(wrong)[0]) + 1} is no finite number",
            fix="leave out queries that one side has no value for",
        )
    table = differences.reshape(len(differences), -1)
    table = table / [scale_of(column) for column in table.T]
    sums = table if clusters is None else grouped(table, clusters)[0]
    return sums[:, 0] if differences.ndim == 1 else sums


def alone(test: str, differences: Floats) -> PairedTest:
    """Return what a test finds where there is only one query, or one cluster of queries."""
    one = "one query" if len(differences) == 1 else "one cluster of queries"
    return PairedTest(test, None, 1, is_exact=False, note=f"{one} tells nothing of others")


def check_alternative(alternative: str) -> None:
    """Refuse an alternative that is none of the three."""
    known = get_args(Alternative)
    if alternative not in known:
        raise InputError(
            f"there is no alternative '{alternative}'", fix=nearest(alternative, known)
        )
