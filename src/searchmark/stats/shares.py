"""The interval of a share: of queries that succeeded, say."""

from math import sqrt

from searchmark.errors import InputError
from searchmark.stats.interval import Interval
from searchmark.stats.normal import quantile


def wilson(n_right: int, n: int, level: float = 0.95) -> Interval:
    """Return Wilson's score interval of a share.

    Parameters
    ----------
    n_right
        How many of the queries are right, 0 to `n`.
    n
        How many queries there are, 1 or more.
    level
        The share of such intervals that hold the true share, between 0 and 1.

    Returns
    -------
    Interval, within [0, 1]; never of no width, not even where all queries are right.

    Raises
    ------
    InputError
        Where the counts are impossible.

    Notes
    -----
    With p the share and z the normal quantile: centre ``(p + z^2/2n) / (1 + z^2/n)``, half width
    ``z sqrt(p(1-p)/n + z^2/4n^2) / (1 + z^2/n)``.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.

    Examples
    --------
    Eight of ten, z = 1.96: centre 0.99208/1.38415 = 0.717, half width 0.2268:

    >>> found = wilson(8, 10)
    >>> round(found.low, 3), round(found.high, 3)
    (0.49, 0.943)
    """
    if not 0 <= n_right <= n or n < 1:
        raise InputError(f"{n_right} of {n} is no share", fix="give counts with 0 <= right <= n")
    z = quantile(0.5 + level / 2)
    share = n_right / n
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0), level, "wilson", n)
