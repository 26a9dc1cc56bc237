"""The normal distribution in a few lines: SciPy's import would take longer than a plain table."""

from math import erfc, exp, inf, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TINY = 1e-300
_CURVE = 0.147  # of Winitzki's approximation of the error function, good to three digits


def cdf(x: float) -> float:
    """Return the share of a standard normal distribution that lies below `x`."""
    return 0.5 * erfc(-x / sqrt(2.0))


def quantile(p: float) -> float:
    """Return below what a share `p` of a standard normal lies; infinite at 0 and 1.

    The lower half is found and the upper one mirrored: there small shares keep all their digits.
    """
    if p <= 0.0:
        return -inf
    if p >= 1.0:
        return inf
    if p > 0.5:
        return -quantile(1.0 - p)
    x = _near(p)
    for _ in range(6):  # Newton's method, on the logarithm so that it holds in the far tail too
        below = cdf(x)
        slope = exp(-x * x / 2) / sqrt(2 * pi) / below
        x -= (log(below) - log(p)) / slope
    return x


def _near(p: float) -> float:
    """Return a first guess of the quantile of a share of at most a half."""
    part = log(4 * p * (1 - p))
    first = 2 / (pi * _CURVE) + part / 2
    return -sqrt(2.0) * sqrt(sqrt(first * first - part / _CURVE) - first)


def quantiles(p: Floats) -> Floats:
    """Return `quantile` of each of a few shares, kept finite."""
    kept = np.clip(p, _TINY, 1 - 1e-16)
    return np.array([quantile(x) for x in kept.tolist()])
