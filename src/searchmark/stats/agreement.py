"""Numbers of agreement between judges: the value, its interval, and what both are made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from searchmark.errors import InputError
from searchmark.stats.patterns import Draws, Floats, Ints, Span, Units, ValueOf, spans
from searchmark.stats.shares import wilson

Clusters = Sequence[object] | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A number of agreement with its interval; None where it is undefined, and `note` says why."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    n_items: int
    note: str | None = None


class Share(NamedTuple):
    """Which patterns are right and which are counted, 0 or 1 each."""

    right: Floats
    counted: Floats


class Number(NamedTuple):
    """What computes a number from counts of patterns, and the sentence where it is undefined."""

    value_of: ValueOf
    undefined: str
    share: Share | None = None


def share_number(right: ArrayLike, counted: ArrayLike, undefined: str) -> Number:
    """Return the share of the items with a `counted` pattern that have a `right` one."""
    share = Share(np.asarray(right, dtype=np.float64), np.asarray(counted, dtype=np.float64))
    return Number(ratio_of(*share), undefined, share)


def ratio_of(part: ArrayLike, whole: ArrayLike) -> ValueOf:
    """Return what divides two weighted sums of the counts."""
    above, below = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return lambda counts: ratio(counts @ above, counts @ below)


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    known = below > 0
    return np.where(known, above / np.where(known, below, 1), np.nan)


def agreements(
    numbers: Sequence[Number], units: Units, draws: Draws | None = None
) -> list[Agreement]:
    """Compute numbers of agreement and their intervals, all over the same resamples.

    Items drawn one by one are independent: the interval of a share is Wilson's then, which is there
    even where all items are alike.
    """
    draws = draws or Draws()
    counts = units.counts
    if not counts.sum():
        nothing = Agreement(None, None, None, draws.level, 0, "no item was rated by two judges")
        return [nothing] * len(numbers)
    values = [float(number.value_of(counts[None, :])[0]) for number in numbers]
    known = [_known(*pair, units, draws.level) for pair in zip(values, numbers, strict=True)]
    rest = [place for place, ends in enumerate(known) if ends is None]
    drawn = iter(
        spans([values[i] for i in rest], [numbers[i].value_of for i in rest], units, draws)
    )
    n = int(counts.sum())
    return [
        _agreement(value, ends or next(drawn), draws.level, n)
        for value, ends in zip(values, known, strict=True)
    ]


def _agreement(value: float, ends: Span, level: float, n: int) -> Agreement:
    return Agreement(None if np.isnan(value) else value, ends.low, ends.high, level, n, ends.note)


def _known(value: float, number: Number, units: Units, level: float) -> Span | None:
    """Return the interval where it needs no resamples."""
    if np.isnan(value):
        return Span(None, None, number.undefined)
    if number.share is None or units.patterns is not None:
        return None
    right, counted = (int(units.times @ part) for part in number.share)
    return Span(*wilson(right, counted, level)[:2], None)


def paired(first: ArrayLike, second: ArrayLike) -> tuple[Ints, Ints]:
    """Return the distinct pairs of grades, in order, and which of them each item has."""
    one, other = whole_grades(first, "first"), whole_grades(second, "second")
    if len(one) != len(other):
        raise InputError(
            f"the first judge rated {len(one)} items, the second {len(other)}",
            fix="give the grades of the items that both rated, in one order",
        )
    pairs, pattern = np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True)
    return pairs, pattern.ravel()


def whole_grades(ratings: ArrayLike, judge: str) -> Ints:
    """Return ratings as whole numbers; a missing or broken one is an error that names it."""
    try:
        values = np.asarray(ratings, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the {judge} judge's ratings are not all numbers") from None
    if values.ndim != 1:
        raise InputError(f"the {judge} judge's ratings have {values.ndim} dimensions, not one")
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(np.abs(values) <= 2**31) | (values != np.round(values)))
    if len(wrong):
        raise InputError(
            f"rating {wrong[0] + 1} of the {judge} judge is {values[wrong[0]]}, no whole grade",
            fix="leave out items that a judge did not rate, or use Krippendorff's alpha",
        )
    return values.astype(np.int64)
