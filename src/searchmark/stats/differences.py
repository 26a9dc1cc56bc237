"""The interval of a mean difference."""

from collections.abc import Sequence

import numpy as np

from searchmark.stats.bootstrap import LEVEL, mean_intervals
from searchmark.stats.interval import Interval
from searchmark.stats.paired import Floats


def difference_intervals(
    table: Floats,
    clusters: Sequence[object] | None = None,
    *,
    level: float = LEVEL,
    resamples: int | None = None,
    seed: int = 0,
) -> list[Interval]:
    """Return the interval of each column's mean difference.

    Parameters
    ----------
    table
        Paired differences, one row a query, shape (n, k).
    clusters
        One label a query; queries of one label are drawn together. None is a cluster alone.
    level, resamples, seed
        As for `searchmark.stats.bootstrap.mean_interval`.

    Returns
    -------
    One interval a column; its ends are None where the differences are all equal, and for a single
    query or cluster, with a note that says why.

    Raises
    ------
    InputError
        Where there is no query or a difference is no finite number.

    Notes
    -----
    BCa of the mean. Differences that happen to be only 0 and 1 are no share of right answers: they
    could have been -1 too, so Wilson's interval is not for them.

    Examples
    --------
    >>> difference_intervals(np.array([[0.0], [0.0]]))[0].note
    'none of the 2 differs; resampling cannot tell how sure that is'
    """
    found = mean_intervals(
        table, clusters, level=level, method="bca", resamples=resamples, seed=seed
    )
    moved = np.any(table != 0, axis=0)
    return [
        interval if is_moved else _unmoved(interval)
        for interval, is_moved in zip(found, moved.tolist(), strict=True)
    ]


def _unmoved(interval: Interval) -> Interval:
    n = interval.n_queries
    note = f"none of the {n:,} differs; resampling cannot tell how sure that is"
    if n == 1:
        note = "one query tells nothing of others"
    return interval._replace(note=note)
