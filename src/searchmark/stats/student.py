"""Student's t, plain and noncentral, and the beta function behind it, without SciPy."""

from functools import lru_cache
from math import erf, exp, inf, lgamma, log, log1p, pi, sqrt

import numpy as np

from searchmark.stats.paired import Floats

_TINY = 1e-300
_STEPS = 10_000
_PRECISION = 1e-15
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)


def beta_share(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b).

    Parameters
    ----------
    x
        Between 0 and 1.
    a, b
        Above 0.

    Returns
    -------
    The share of a beta distribution that lies below x, in [0, 1].

    Notes
    -----
    By its continued fraction, which converges fast for x below (a + 1)/(a + b + 2); above,
    ``I_x(a, b) = 1 - I_{1-x}(b, a)`` is used.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5.8; evaluated as Lentz, Applied
    Optics 15, 1976, does.

    Examples
    --------
    >>> round(beta_share(0.5, 2.0, 3.0), 4)  # 11/16
    0.6875
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_share(1.0 - x, b, a)
    scale = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(scale) / (a * _fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + ...)), from the left."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / ((1.0 + term * d) or _TINY)
        c = (1.0 + term / c) or _TINY
        value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return value


def t_above(t: float, df: float) -> float:
    """Return the share of Student's t with `df` degrees of freedom that lies above `t`.

    Parameters
    ----------
    t
        Any number, infinite ones too.
    df
        Degrees of freedom, above 0.

    Returns
    -------
    In [0, 1]; small shares keep their digits.

    Notes
    -----
    ``P(T > t) = I_x(df/2, 1/2) / 2`` with ``x = df/(df + t^2)`` for t >= 0.

    References
    ----------
    Abramowitz and Stegun, 26.7.1.

    Examples
    --------
    With one degree of freedom, 1/2 - arctan(t)/pi:

    >>> round(t_above(1.0, 1), 4)
    0.25
    """
    if t < 0:
        return 1.0 - t_above(-t, df)
    if t == inf:
        return 0.0
    return beta_share(df / (df + t * t), df / 2, 0.5) / 2


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """Return what a share `p` (between 0 and 1) of Student's t lies below.

    By Newton's method, and by halves wherever a step would leave what is known to hold the answer.
    """
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    low, high = 0.0, 1.0
    while t_above(high, df) > 1.0 - p:
        low, high = high, 2 * high
    at = (low + high) / 2
    for _ in range(200):
        beyond = t_above(at, df) - (1.0 - p)
        low, high = (at, high) if beyond > 0 else (low, at)
        following = at + beyond / t_density(at, df)
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - at) <= 1e-15 * at:
            break
        at = following
    return at


def t_density(t: float, df: float) -> float:
    """Return the density of Student's t with `df` degrees of freedom at `t`, above 0."""
    height = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)
    return max(height * exp(-(df + 1) / 2 * log1p(t * t / df)), _TINY)


def noncentral_t_below(t: float, df: float, shift: float) -> float:
    """Return the share of the noncentral t that lies below `t`.

    Parameters
    ----------
    t
        Any finite number.
    df
        Degrees of freedom, 1 or more.
    shift
        How far the numerator's normal is shifted: the true mean over its standard error.

    Returns
    -------
    In [0, 1], exact to about ten digits; to two where `df` is below 4 and `t` above some 20, as the
    bound of two to four queries at a small alpha is.

    Notes
    -----
    ``T = (Z + shift) / S`` with S the root of a chi-square over its degrees of freedom, so
    ``P(T <= t) = E[Phi(t S - shift)]``, integrated over the 12 standard deviations around the
    mean of S by Gauss and Legendre's rule.

    References
    ----------
    Johnson and Welch, Applications of the non-central t-distribution, Biometrika 31, 1940.

    Examples
    --------
    Without a shift it is Student's t:

    >>> round(noncentral_t_below(1.0, 1, 0.0), 4)
    0.75
    """
    place, weight = _chi_places(df)
    normal = [0.5 * (1.0 + erf((t * s - shift) / sqrt(2.0))) for s in place.tolist()]
    return float(np.dot(weight, normal))


def _chi_places(df: float) -> tuple[Floats, Floats]:
    """Return places of the root of a chi-square over its degrees of freedom, and their shares."""
    reach = 12.0 / sqrt(2.0 * df)
    low, high = max(0.0, 1.0 - reach), 1.0 + reach
    place = low + (high - low) * (_NODES + 1.0) / 2
    height = (df - 1.0) * np.log(place) - df * place**2 / 2
    share = _WEIGHTS * np.exp(height - height.max())
    return place, share / share.sum()
