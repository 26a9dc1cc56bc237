"""The paired t test against numbers worked out by hand, and Student's t behind it."""

from math import atan, pi, sqrt

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.student import beta_share, noncentral_t_below, t_above, t_quantile
from searchmark.stats.ttest import t_test


def test_two_queries_by_the_arctangent():
    # mean 2, sd sqrt(2), t = 2 / (sqrt(2) / sqrt(2)) = 2 with one degree of freedom, which is
    # Cauchy's distribution: P(T > 2) = 1/2 - atan(2)/pi = 0.1476
    above = 0.5 - atan(2.0) / pi
    d = np.array([1.0, 3.0])
    assert t_test(d).p == pytest.approx(2 * above, rel=1e-12)
    assert t_test(d, alternative="greater").p == pytest.approx(above, rel=1e-12)
    assert t_test(d, alternative="less").p == pytest.approx(1 - above, rel=1e-12)
    assert t_test(-d, alternative="less").p == pytest.approx(above, rel=1e-12)


def test_three_queries_by_the_closed_form():
    # two degrees of freedom: P(T > t) = 1/2 - t / (2 sqrt(2 + t^2)); t = 2 / (1 / sqrt(3))
    t = 2 * sqrt(3)
    assert t_test(np.array([1.0, 2.0, 3.0])).p == pytest.approx(1 - t / sqrt(2 + t * t), rel=1e-12)


def test_a_mean_of_zero_is_no_evidence():
    assert t_test(np.array([1.0, -1.0, 2.0, -2.0])).p == pytest.approx(1.0)


def test_clusters_are_tested_by_their_sums():
    # sums 1 and 3: the two queries above
    d = np.array([0.25, 0.75, 1.0, 2.0])
    found = t_test(d, clusters=["a", "a", "b", "b"])
    assert found.n == 2
    assert found.p == pytest.approx(t_test(np.array([1.0, 3.0])).p, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_differences_without_spread_have_no_t(value):
    found = t_test(np.full(9, value))
    assert found.p is None
    assert found.note == "all 9 differences are equal: there is no spread"


def test_one_query_tells_nothing():
    assert t_test(np.array([0.1])).p is None


@pytest.mark.parametrize(("values", "option"), [([np.nan, 1.0], "less"), ([1.0, 2.0], "more")])
def test_what_cannot_be_is_said(values, option):
    with pytest.raises(InputError):
        t_test(np.array(values), alternative=option)


def test_the_order_does_not_matter():
    d = np.random.default_rng(2).normal(0.02, 0.2, 100)
    assert t_test(d) == t_test(d[::-1])


def test_the_ends_of_the_beta_function():
    assert (beta_share(0.0, 2.0, 3.0), beta_share(1.0, 2.0, 3.0)) == (0.0, 1.0)
    # I_x(1, b) = 1 - (1 - x)^b, I_x(a, 1) = x^a
    assert beta_share(0.3, 1.0, 4.0) == pytest.approx(1 - 0.7**4, rel=1e-13)
    assert beta_share(0.9, 5.0, 1.0) == pytest.approx(0.9**5, rel=1e-13)


def test_t_far_out_and_its_quantile():
    assert t_above(float("inf"), 3) == 0.0
    assert t_above(float("-inf"), 3) == 1.0
    assert 0 < t_above(40.0, 500) < 1e-100  # small shares keep their digits
    # the table of every textbook
    assert t_quantile(0.975, 10) == pytest.approx(2.228139, abs=1e-6)
    assert t_quantile(0.025, 10) == pytest.approx(-2.228139, abs=1e-6)
    assert t_quantile(0.5, 10) == pytest.approx(0.0, abs=1e-12)


def test_the_noncentral_t_of_zero_is_the_normal():
    # T <= 0 where Z <= -shift, whatever the spread: Phi(-1.5) = 0.0668072
    assert noncentral_t_below(0.0, 7, 1.5) == pytest.approx(0.0668072, abs=1e-7)
