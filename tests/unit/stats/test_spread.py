"""How differences scatter, beside sums worked out by hand."""

from math import sqrt

import numpy as np
import pytest

from searchmark.stats.spread import spread_of


def test_of_queries_it_is_their_standard_deviation():
    # mean 0.1, squares 0, 0.04, 0.04, 0
    found = spread_of(np.array([0.1, 0.3, -0.1, 0.1]))
    assert found.deviation == pytest.approx(sqrt(0.08 / 3))
    assert (found.n_units, found.n_queries, found.n_moved) == (4, 4, 4)


def test_of_clusters_it_is_that_of_as_many_queries_as_unsure():
    # sums 3, 3 and -1 of 5 queries, so a mean of 1; without it 3 - 2, 3 - 1 and -1 - 2: 1, 2, -3,
    # sqrt((1 + 4 + 9)/2) * 3/5
    d = np.array([1.0, 2.0, 3.0, -1.0, 0.0])
    found = spread_of(d, ["a", "a", "b", "c", "c"])
    assert found.deviation == pytest.approx(sqrt(7) * 3 / 5)
    assert (found.n_units, found.n_queries, found.n_moved) == (3, 5, 4)


def test_rounding_is_no_spread():
    assert spread_of(np.array([0.1 + 0.2, 0.3, 0.3])).deviation == 0.0
    assert spread_of(np.array([0.1, 0.2]), ["a", "a"]).deviation == 0.0
    assert spread_of(np.array([])).n_units == 0
    assert spread_of(1e200 * np.array([1.0, 3.0])).deviation == pytest.approx(sqrt(2) * 1e200)


@pytest.mark.parametrize(
    ("n_moved", "n", "is_thin"),
    [(9, 100, True), (10, 100, False), (2, 4, False), (1, 4, True)],
)
def test_ten_or_half_must_have_moved(n_moved, n, is_thin):
    assert spread_of(np.array([1.0] * n_moved + [0.0] * (n - n_moved))).is_thin is is_thin
