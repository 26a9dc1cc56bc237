"""Wilcoxon's test against sums of ranks counted by hand."""

from math import erfc, sqrt

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.wilcoxon import wilcoxon_test


@pytest.mark.parametrize(
    ("differences", "two_sided", "greater", "less"),
    [
        # ranks 1 2 3, W = 1 + 3 = 4; of the 8 sums 0 1 2 3 3 4 5 6 three are 4 or more, six 4 or
        # fewer
        ([0.1, -0.2, 0.3], 6 / 8, 3 / 8, 6 / 8),
        # ranks 1.5 1.5 3, W = 4.5; sums 0 1.5 1.5 3 3 4.5 4.5 6: three are as many, seven as few
        ([0.2, -0.2, 0.3], 6 / 8, 3 / 8, 7 / 8),
        # a zero is dropped: ranks 1 2, W = 3; of 0 1 2 3 one
        ([0.0, 0.1, 0.2], 2 / 4, 1 / 4, 4 / 4),
    ],
)
def test_few_queries_are_counted(differences, two_sided, greater, less):
    d = np.array(differences)
    found = wilcoxon_test(d)
    assert (found.p, found.is_exact) == (two_sided, True)
    assert wilcoxon_test(d, alternative="greater").p == greater
    assert wilcoxon_test(d, alternative="less").p == less


def test_more_with_ties_are_approximated():
    # 14 differences of one size, 11 up: each has rank 7.5, W = 82.5, its mean 52.5; the variance
    # 14*15*29/24 - (14^3 - 14)/48 = 253.75 - 56.875 = 196.875
    found = wilcoxon_test(np.array([0.5] * 11 + [-0.5] * 3))
    z = 30 / sqrt(196.875)
    assert not found.is_exact
    assert found.p == pytest.approx(erfc(z / sqrt(2)), rel=1e-12)
    greater = wilcoxon_test(np.array([0.5] * 11 + [-0.5] * 3), alternative="greater")
    assert greater.p == pytest.approx(erfc(z / sqrt(2)) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "zeros", "is_exact"), [(50, 0, True), (51, 0, False), (12, 1, True), (13, 1, False)]
)
def test_up_to_where_it_is_exact(n, zeros, is_exact):
    d = np.r_[np.arange(1.0, n + 1), np.zeros(zeros)]
    assert wilcoxon_test(d).is_exact is is_exact


def test_clusters_are_ranked_by_their_sums():
    # sums 0.1, -0.2, 0.3: the first case above
    d = np.array([0.05, 0.05, -0.1, -0.1, 0.3])
    found = wilcoxon_test(d, clusters=["a", "a", "b", "b", None])
    assert (found.p, found.n) == (6 / 8, 3)


def test_nothing_differs_and_one_query():
    assert wilcoxon_test(np.zeros(20)).p == 1.0
    assert wilcoxon_test(np.zeros(20)).note == "no query differs"
    assert wilcoxon_test(np.array([1.0])).p is None


@pytest.mark.parametrize(("values", "option"), [([np.nan, 1.0], "less"), ([1.0, 2.0], "more")])
def test_what_cannot_be_is_said(values, option):
    with pytest.raises(InputError):
        wilcoxon_test(np.array(values), alternative=option)
