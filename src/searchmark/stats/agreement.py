"""How far two judges agree on the same items: Cohen's kappa and agreement on what is relevant."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from searchmark.errors import InputError, nearest
from searchmark.stats.patterns import Draws, Floats, Ints, Units, ValueOf, span, units_of

Clusters = Sequence[Hashable | None] | None

WEIGHTS = ("none", "linear", "quadratic")


@dataclass(frozen=True, slots=True)
class Agreement:
    """A number of agreement with its interval; None where it is undefined, and `note` says why."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    n_items: int
    note: str | None = None


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """Agreement of two judges on relevant or not.

    `share` of all items alike; `positive`, the chance that one judge calls relevant what the other
    does; `negative`, the same for not relevant; `overlap`, items both call relevant among those
    that either does.
    """

    share: Agreement
    positive: Agreement
    negative: Agreement
    overlap: Agreement


def kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: str = "none",
    clusters: Clusters = None,
    draws: Draws | None = None,
) -> Agreement:
    r"""Compute Cohen's kappa: agreement of two judges beyond what chance would give.

    Parameters
    ----------
    first, second
        Whole-number grades of the same items, shape (n_items,).
    weights
        What a disagreement counts: "none" (1), "linear" (the difference of the grades) or
        "quadratic" (its square).
    clusters
        The cluster of each item, such as its query, when items of one are alike; None: its own.
    draws
        Level, resamples and seed of the interval.

    Returns
    -------
    Kappa in [-1, 1] (below 0: less than chance) with a BCa interval over items, or over clusters.

    Raises
    ------
    InputError
        A rating is missing or no whole number, or the judges rated different numbers of items.

    Notes
    -----
    ``kappa = 1 - sum(w o) / sum(w e)``: w the weight of a pair of grades, o how often it occurs, e
    how often it would if the judges graded independently, each with the frequencies seen. The
    difference is between the grades themselves, so a grade that nobody gave keeps its place.
    Undefined (None) when both judges give all items one and the same grade, and without items.

    References
    ----------
    Cohen, A coefficient of agreement for nominal scales, 1960; weighted kappa, Psychological
    Bulletin 70(4), 1968.

    Examples
    --------
    Alike in 3 of 4; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2; so 1 - (1/4) / (1/2):

    >>> kappa([1, 1, 0, 0], [1, 0, 0, 0]).value
    0.5
    """
    if weights not in WEIGHTS:
        raise InputError(f"weights={weights} is unknown", fix=nearest(weights, WEIGHTS))
    pairs, pattern = paired(first, second)
    units = units_of(pattern, len(pairs), clusters)
    return agreement(
        _kappa_of(pairs, weights),
        units,
        draws=draws,
        undefined="both judges gave every item the same grade, so chance alone explains it all",
    )


def _kappa_of(pairs: Ints, weights: str) -> ValueOf:
    grades = np.unique(pairs)
    apart = _disagreement(np.abs(grades[:, None] - grades), weights)
    row, column = np.searchsorted(grades, pairs).T
    by_first, by_second = np.eye(len(grades))[row], np.eye(len(grades))[column]

    def value_of(counts: Floats) -> Floats:
        seen = counts @ apart[row, column] * counts.sum(axis=1)
        by_chance = ((counts @ by_first @ apart) * (counts @ by_second)).sum(axis=1)
        return 1 - ratio(seen, by_chance)

    return value_of


def _disagreement(difference: Ints, weights: str) -> Floats:
    steps = difference.astype(np.float64)
    return {"none": (steps > 0).astype(np.float64), "linear": steps, "quadratic": steps**2}[weights]


def binary_agreement(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rel: int = 1,
    clusters: Clusters = None,
    draws: Draws | None = None,
) -> BinaryAgreement:
    r"""Compute how far two judges agree on what is relevant.

    Parameters
    ----------
    first, second
        Whole-number grades of the same items, shape (n_items,).
    rel
        The least grade that counts as relevant.
    clusters, draws
        As for `kappa`.

    Returns
    -------
    Four numbers in [0, 1], each with a BCa interval over items, or over clusters.

    Raises
    ------
    InputError
        As for `kappa`.

    Notes
    -----
    With a relevant for both, b and c for one judge only, d for neither: share
    ``(a + d) / (a + b + c + d)``, positive ``2a / (2a + b + c)``, negative ``2d / (2d + b + c)``,
    overlap ``a / (a + b + c)``. A number with nothing to divide by is None. Most documents are not
    relevant, which alone makes the share high: read it beside the others.

    References
    ----------
    Cicchetti and Feinstein, High agreement but low kappa II, J. Clinical Epidemiology 43(6), 1990;
    the overlap: Voorhees, Variations in relevance judgments, SIGIR 1998.

    Examples
    --------
    a=1, b=1, c=0, d=2: 3/4 alike; 2/3 of the relevant ones:

    >>> found = binary_agreement([2, 1, 0, 0], [1, 0, 0, 0])
    >>> (found.share.value, round(found.positive.value, 3), found.overlap.value)
    (0.75, 0.667, 0.5)
    """
    grades, grade_pattern = paired(first, second)
    pattern = ((grades >= rel) @ np.array([2, 1]))[grade_pattern]  # 0 neither, 3 both
    units = units_of(pattern, 4, clusters)
    nobody = "no item is relevant for either judge"
    everybody = "every item is relevant for both judges"
    return BinaryAgreement(
        share=agreement(_share_of([1, 0, 0, 1], [1, 1, 1, 1]), units, draws=draws),
        positive=agreement(
            _share_of([0, 0, 0, 2], [0, 1, 1, 2]), units, draws=draws, undefined=nobody
        ),
        negative=agreement(
            _share_of([2, 0, 0, 0], [2, 1, 1, 0]), units, draws=draws, undefined=everybody
        ),
        overlap=agreement(
            _share_of([0, 0, 0, 1], [0, 1, 1, 1]), units, draws=draws, undefined=nobody
        ),
    )


def _share_of(part: Sequence[int], whole: Sequence[int]) -> ValueOf:
    above, below = np.array(part, dtype=np.float64), np.array(whole, dtype=np.float64)
    return lambda counts: ratio(counts @ above, counts @ below)


def agreement(
    value_of: ValueOf, units: Units, *, draws: Draws | None = None, undefined: str = ""
) -> Agreement:
    """Compute a number of agreement and its interval; `undefined` says why it may not exist."""
    draws = draws or Draws()
    counts = units.times.astype(np.float64)
    counts = counts if units.patterns is None else counts @ units.patterns
    n = int(counts.sum())
    if n == 0:
        return Agreement(None, None, None, draws.level, 0, "no item was rated by both judges")
    value = float(value_of(counts[None, :])[0])
    if np.isnan(value):
        return Agreement(None, None, None, draws.level, n, undefined)
    low, high, note = span(value, value_of, units, draws)
    return Agreement(value, low, high, draws.level, n, note)


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


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    known = below > 0
    return np.where(known, above / np.where(known, below, 1), np.nan)
