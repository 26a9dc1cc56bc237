"""How small a difference a query set can show, and how many queries a given one needs."""

from functools import lru_cache
from math import ceil, inf, isfinite, sqrt

from searchmark.errors import InputError
from searchmark.stats.normal import quantile
from searchmark.stats.paired import ALPHA
from searchmark.stats.student import noncentral_t_below, t_quantile

POWER = 0.8


def detectable(sd: float, n: int, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest true difference that n queries show with the given power.

    Parameters
    ----------
    sd
        Standard deviation of the paired differences, 0 or more, in the measure's unit.
    n
        Number of queries (or clusters).
    alpha
        The level of the two-sided test.
    power
        How often the test is to find the difference, between alpha and 1.

    Returns
    -------
    In the measure's unit, above 0. None for fewer than two queries, or an `sd` of 0: nothing is
    known of the spread of differences then.

    Raises
    ------
    InputError
        Where `sd` is no finite number of 0 or more, or a share is impossible.

    Notes
    -----
    The difference at which a paired t test at `alpha` succeeds with `power`:
    ``P(|T'| > t(1 - alpha/2))`` with T' noncentral t, n - 1 degrees of freedom, shifted by
    ``difference / (sd / sqrt(n))``. For the other paired tests it is a close guide.

    References
    ----------
    Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.3; Sakai, Topic
    set size design, Information Retrieval Journal 19, 2016.

    Examples
    --------
    >>> round(detectable(0.12, 120), 3)
    0.031
    """
    _check(sd, alpha, power)
    if n < 2 or sd == 0:
        return None
    return sd / sqrt(n) * _shift(n, alpha, power)


def queries_needed(
    sd: float, difference: float, *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """Return how many queries show a true difference with the given power.

    Parameters
    ----------
    sd
        Standard deviation of the paired differences, 0 or more, in the measure's unit.
    difference
        The difference to be found, in the same unit; its sign does not matter.
    alpha, power
        As for `detectable`.

    Returns
    -------
    2 or more. None where `sd` is 0: nothing is known of the spread of differences then.

    Raises
    ------
    InputError
        Where `sd` is no finite number of 0 or more, the difference is 0, no finite number or a
        ten-millionth of `sd`, or a share is impossible.

    Notes
    -----
    The least n whose `detectable` is no greater than the difference.

    Examples
    --------
    >>> queries_needed(0.12, 0.031)
    120
    """
    _check(sd, alpha, power)
    if difference == 0 or not isfinite(difference):
        raise InputError(
            f"no number of queries shows a difference of {difference:g}", fix="give one above 0"
        )
    if sd == 0:
        return None
    effect = abs(difference) / sd
    if effect < _TINY:
        raise InputError(
            f"no number of queries shows a difference of {difference:g} where the deviation is "
            f"{sd:g}",
            fix="give a greater one",
        )
    rough = ((quantile(1 - alpha / 2) + quantile(power)) / effect) ** 2
    if rough > _MANY:
        return ceil(rough)
    low = high = max(2, int(rough))  # the normal distribution is a little short, by a few queries
    while power_of(effect, high, alpha=alpha) < power:
        low, high = high + 1, high + max(2, high // 8)
    while low > 2 and power_of(effect, low, alpha=alpha) >= power:
        low = max(2, low - max(2, low // 8))
    while low < high:
        middle = (low + high) // 2
        is_enough = power_of(effect, middle, alpha=alpha) >= power
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return low


_TINY = 1e-7
"""Effects below it would take more queries than anyone can judge."""

_MANY = 1_000_000
"""Above so many queries the normal distribution tells the number to within a few."""


def power_of(effect: float, n: int, *, alpha: float = ALPHA) -> float:
    """Return how often a two-sided paired t test over n queries finds a true effect.

    `effect` is the true difference over the standard deviation of differences; n is 2 or more.
    """
    return _found(effect * sqrt(n), t_quantile(1 - alpha / 2, n - 1), n - 1)


def _found(shift: float, bound: float, df: int) -> float:
    return 1.0 - noncentral_t_below(bound, df, shift) + noncentral_t_below(-bound, df, shift)


@lru_cache(maxsize=1024)
def _shift(n: int, alpha: float, power: float) -> float:
    """Return the true mean, in standard errors, that n queries show: by bisection."""
    bound = t_quantile(1 - alpha / 2, n - 1)
    low, high = 0.0, 1.0
    while _found(high, bound, n - 1) < power:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _found(middle, bound, n - 1) < power else (low, middle)
    return (low + high) / 2


def _check(sd: float, alpha: float, power: float) -> None:
    if not 0 <= sd < inf:
        raise InputError(f"a standard deviation cannot be {sd:g}", fix="give a number of 0 or more")
    if not 0 < alpha < 1 or not alpha < power < 1:
        raise InputError(
            f"alpha {alpha:g} and power {power:g} are impossible", fix="0 < alpha < power < 1"
        )
