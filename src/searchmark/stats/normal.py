"""The normal distribution, without SciPy: its import alone would take longer than a plain table."""

from math import erf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STANDARD = NormalDist()
_TINY = 1e-300


def cdf(x: float) -> float:
    """Return the share of a standard normal distribution that lies below `x`."""
    return 0.5 * (1.0 + erf(x / sqrt(2.0))) if x > -5 else _STANDARD.cdf(x)


def quantile(p: float) -> float:
    """Return below what a share `p` of a standard normal lies; infinite at 0 and 1."""
    if p <= 0.0:
        return float("-inf")
    return float("inf") if p >= 1.0 else _STANDARD.inv_cdf(p)


def quantiles(p: Floats) -> Floats:
    """Return `quantile` of each of a few shares, kept finite."""
    kept = np.clip(p, _TINY, 1 - 1e-16)
    return np.array([_STANDARD.inv_cdf(x) for x in kept.tolist()])
