"""The bootstrap distribution of a mean, without drawing: the limit of ever more resamples.

The sum of n draws from the values at hand is distributed as the n-fold convolution of their
distribution with itself, which is a power in the frequency domain. One Fourier transform gives what
millions of resamples would only estimate, so there is no seed and no noise of drawing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.stats.normal import cdf, quantiles

Floats = NDArray[np.float64]

_CLUSTER_POINTS = 1 << 12
_REACH = 12.0
"""Standard deviations of the sum that the grid reaches to either side; beyond is below 1e-30."""

_STEPS = np.linspace(-6.0, 6.0, 49)
"""Where the distribution of a ratio is looked at, in standard errors; between them its normal
quantile is all but a straight line."""


class Distribution(NamedTuple):
    """Where a resampled mean may lie: rising places, and the share up to each of them."""

    place: Floats
    share: Floats

    def quantile(self, p: float) -> float:
        """Return the place below which a share `p` lies."""
        at = int(np.searchsorted(self.share, p))
        return float(self.place[min(at, len(self.place) - 1)])

    def below(self, x: float) -> float:
        """Return the share below `x`, of what lies on it the half."""
        step = np.diff(self.share, prepend=0.0)
        return float(np.interp(x, self.place, self.share - step / 2))


def of_mean(values: Floats) -> Distribution:
    """Return the bootstrap distribution of the mean.

    Parameters
    ----------
    values
        Shape (n,), n of 2 or more, not all equal.

    Returns
    -------
    The distribution of the mean of n draws with replacement.

    Notes
    -----
    Each value is split between the two nearest places so that the mean stays exact; that widens the
    distribution by about a part in a thousand. With few different values the mean can only take
    few, and the shares rise in steps as they should.

    References
    ----------
    Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6 (the ideal bootstrap).

    Examples
    --------
    Two draws from 0 and 1 have the mean 0, 1/2 or 1 with shares 1/4, 1/2 and 1/4:

    >>> found = of_mean(np.array([0.0, 1.0]))
    >>> [round(found.quantile(p), 3) for p in (0.2, 0.5, 0.8)]
    [0.0, 0.5, 1.0]
    """
    mean = float(values.mean())
    n = len(values)
    start, step, mass = _sum_of_draws((values - mean)[None, :], _points(n))
    place = mean + (start[0] + np.arange(mass.shape[1])) * step[0] / n
    place = np.clip(place, float(values.min()), float(values.max()))
    return Distribution(place, np.minimum(np.cumsum(mass[0]), 1.0))


def _points(n: int) -> int:
    """Return how fine the grid is: a step of at most a tenth of the values' deviation."""
    return 1 << max(13, int(20 * _REACH * np.sqrt(n)).bit_length())


def of_ratio(sums: Floats, sizes: Floats) -> Distribution:
    """Return the bootstrap distribution of the mean over queries when whole clusters are drawn.

    Parameters
    ----------
    sums, sizes
        Each cluster's sum of values and number of queries, shape (c,), c of 2 or more.

    Notes
    -----
    The mean of drawn clusters, sum over sum, is at most t where the drawn ``sum - t size`` add up
    to 0 or less: again a sum of draws, once for each t.
    """
    mean = float(sums.sum() / sizes.sum())
    influence = sums - mean * sizes
    error = float(np.sqrt((influence**2).sum()) / sizes.sum())
    own = sums / sizes
    place = np.clip(mean + _STEPS * error, float(own.min()), float(own.max()))
    start, _, mass = _sum_of_draws(sums[None, :] - place[:, None] * sizes[None, :], _CLUSTER_POINTS)
    # the share at or below 0, of what lies on 0 itself the half
    total = np.cumsum(mass, axis=1)
    at_zero = np.clip(-start, 0, _CLUSTER_POINTS - 1).astype(np.int64)
    rows = np.arange(len(place))
    share = total[rows, at_zero] - mass[rows, at_zero] / 2
    share = np.where(start > 0, 0.0, np.where(start + _CLUSTER_POINTS <= 0, 1.0, share))
    z = quantiles(np.maximum.accumulate(np.clip(share, 1e-12, 1 - 1e-12)))
    fine = np.linspace(0, len(place) - 1, 16 * len(place))
    index = np.arange(len(place))
    shares = np.array([cdf(x) for x in np.interp(fine, index, z).tolist()])
    return Distribution(np.interp(fine, index, place), shares)


def _sum_of_draws(values: Floats, points: int) -> tuple[Floats, Floats, Floats]:
    """Return, for each row of n values, the distribution of the sum of n draws.

    Gives the first place of the grid in steps, the step, and the mass at each place; the places
    past the reach of the grid wrap around, where there is nothing left of them.
    """
    n = values.shape[1]
    centre = n * values.mean(axis=1)
    reach = _REACH * np.sqrt(n * values.var(axis=1))
    low = np.maximum(n * values.min(axis=1), centre - reach)
    high = np.minimum(n * values.max(axis=1), centre + reach)
    # splitting spreads a sum over sqrt(n)/2 steps, beyond its own least and greatest place too
    margin = min(n, int(_REACH * np.sqrt(n) / 2), points // 8) + 2
    step = np.maximum((high - low) / (points - 2 * margin), np.finfo(float).tiny)
    start = np.floor(low / step) - margin
    at = values / step[:, None]
    floor = np.floor(at)
    part = at - floor
    mass = np.empty((len(values), points))
    for row in range(len(values)):
        cell = floor[row].astype(np.int64) % points
        weights = np.bincount(cell, 1 - part[row], points)
        weights += np.bincount((cell + 1) % points, part[row], points)
        mass[row] = np.fft.irfft(_power(np.fft.rfft(weights / n), n), points)
        mass[row] = np.roll(mass[row], -int(start[row] % points))
    return start, step, np.maximum(mass, 0.0)


def _power(base: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """Return `base` to the power `n` by squaring, far quicker than through logarithms."""
    result = np.ones_like(base)
    while n:
        if n & 1:
            result = result * base
        n >>= 1
        if n:
            base = base * base
    return result
