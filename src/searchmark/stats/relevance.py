"""How far two judges agree on what is relevant."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from searchmark.stats.agreement import (
    Agreement,
    Clusters,
    Number,
    agreements,
    paired,
    ratio_of,
    share_number,
)
from searchmark.stats.patterns import Draws, units_of


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
    Four numbers in [0, 1]. The intervals of share and overlap are Wilson's, the others BCa over
    items; with clusters all are BCa over clusters.

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
    numbers = (
        share_number([1, 0, 0, 1], [1, 1, 1, 1], ""),
        Number(ratio_of([0, 0, 0, 2], [0, 1, 1, 2]), nobody),
        Number(ratio_of([2, 0, 0, 0], [2, 1, 1, 0]), everybody),
        share_number([0, 0, 0, 1], [0, 1, 1, 1], nobody),
    )
    return BinaryAgreement(*agreements(numbers, units, draws))
