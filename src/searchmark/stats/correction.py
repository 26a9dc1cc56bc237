"""Corrections for many comparisons: the more are made, the more look real by chance."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from searchmark.errors import InputError
from searchmark.stats.paired import Floats

Shares = Sequence[float | None]


def holm(p: Shares) -> list[float | None]:
    """Correct p-values so that the chance of even one false finding stays below alpha.

    Parameters
    ----------
    p
        P-values in [0, 1]; None is no test, and does not count.

    Returns
    -------
    Adjusted p-values in [0, 1] in the same order, None where there was none; none is smaller than
    what it was.

    Raises
    ------
    InputError
        Where a p-value is no number from 0 to 1.

    Notes
    -----
    With m of them from the least up, the i-th becomes the greatest of ``(m - j + 1) * p_j`` over
    j up to i, at most 1. It holds however the comparisons depend on each other.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    3 * 0.01, 2 * 0.02 and 1 * 0.03 raised to 0.04:

    >>> holm([0.02, None, 0.01, 0.03])
    [0.04, None, 0.03, 0.04]
    """

    def steps(ordered: Floats) -> Floats:
        raised = ordered * np.arange(len(ordered), 0, -1)
        return np.asarray(np.maximum.accumulate(raised), np.float64)

    return _adjusted(p, steps)


def benjamini_hochberg(p: Shares) -> list[float | None]:
    """Correct p-values so that the share of false ones among the findings stays below alpha.

    Parameters
    ----------
    p
        P-values in [0, 1]; None is no test, and does not count.

    Returns
    -------
    Adjusted p-values in [0, 1] in the same order, None where there was none; none is smaller than
    what it was, and none is greater than Holm's.

    Raises
    ------
    InputError
        Where a p-value is no number from 0 to 1.

    Notes
    -----
    With m of them from the least up, the i-th becomes the least of ``m / j * p_j`` over j from i,
    at most 1. It holds where comparisons are independent or depend positively.

    References
    ----------
    Benjamini and Hochberg, Controlling the false discovery rate, JRSS B 57(1), 1995.

    Examples
    --------
    3/1 * 0.01 and 3/2 * 0.02 are both held down by 3/3 * 0.03:

    >>> benjamini_hochberg([0.02, None, 0.01, 0.03])
    [0.03, None, 0.03, 0.03]
    """

    def steps(ordered: Floats) -> Floats:
        raised = ordered * len(ordered) / np.arange(1, len(ordered) + 1)
        return np.asarray(np.minimum.accumulate(raised[::-1])[::-1], np.float64)

    return _adjusted(p, steps)


def uncorrected(p: Shares) -> list[float | None]:
    """Return p-values as they are."""
    return _adjusted(p, lambda ordered: ordered)


CORRECTIONS: Mapping[str, Callable[[Shares], list[float | None]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": uncorrected,
}
"""Name -> correction."""


def _adjusted(p: Shares, steps: Callable[[Floats], Floats]) -> list[float | None]:
    at = [i for i, x in enumerate(p) if x is not None]
    given = np.array([p[i] for i in at], np.float64)
    if not ((given >= 0) & (given <= 1)).all():  # which NaN is not either
        raise InputError("a p-value is no number from 0 to 1", fix="leave out tests without one")
    by = np.argsort(given, kind="stable")
    found: list[float | None] = [None] * len(p)
    for place, value in zip(by.tolist(), steps(given[by]).tolist(), strict=True):
        found[at[place]] = min(1.0, value)
    return found
