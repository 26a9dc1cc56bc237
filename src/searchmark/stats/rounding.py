"""What doubles add to numbers that are equal on paper, cut off: one place says how much that is."""

from math import ceil, frexp, fsum, log10

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SAME = 1e-12
"""A spread this small beside the numbers themselves is rounding."""

DIGITS = 12
"""Decimals kept of values up to 1."""

GREAT = 1e50
"""Beyond it squares and cubes of many values could leave the range of doubles."""


def differences_of(a: Floats, b: Floats) -> Floats:
    """Return b - a; sums of the same numbers may differ in the last digits, which are cut."""
    largest = max(float(np.abs(side).max(initial=0)) for side in (a, b))
    return np.round(b - a, DIGITS - (ceil(log10(largest)) if largest > 1 else 0))


def sums_of(parts: list[list[float]]) -> list[float]:
    """Return the sum of each list: the same in any order, and 0 where on paper it is.

    Numbers that come rounded to a digit are off by a part in 1e16 each, and so is their sum beside
    the sum of their sizes: less than half of what is kept.
    """
    largest = max((fsum(map(abs, part)) for part in parts), default=0.0)
    if largest == 0:
        return [0.0] * len(parts)
    power = ceil(log10(largest))
    digits = DIGITS - min(power, 0) - max(power - 2, 0)
    return [round(fsum(part), digits) for part in parts]


def scale_of(column: Floats) -> float:
    """Return by what to divide numbers too great to be squared: a power of 2, so none is rounded.

    It is 1 for all others.
    """
    largest = float(np.abs(column).max(initial=0))
    return 2.0 ** (frexp(largest)[1] - 1) if largest > GREAT else 1.0
