"""Power against the tables of textbooks, and against simulated tests."""

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.power import detectable, power_of, queries_needed
from searchmark.stats.ttest import t_test


def test_the_textbook_of_34_pairs():
    # an effect of half a standard deviation needs 34 pairs at 5% and 80% (G*Power's manual gives
    # the same); for 0.2 it is 199, for 0.8 it is 15
    assert [queries_needed(1.0, e) for e in (0.2, 0.5, 0.8)] == [199, 34, 15]


def test_the_smallest_difference_of_many_queries_is_the_normal_one():
    # (1.95996 + 0.84162) / sqrt(10,000) = 0.0280158
    assert detectable(1.0, 10_000) == pytest.approx(0.0280158, rel=5e-4)
    assert detectable(1.0, 10_000) > 0.0280158


def test_the_unit_is_the_measures():
    assert detectable(0.2, 50) == pytest.approx(0.2 * detectable(1.0, 50))


def test_simulated_tests_find_it_in_four_of_five_cases():
    rng, size = np.random.default_rng(1), detectable(0.3, 12)
    found = [t_test(rng.normal(size, 0.3, 12)).p < 0.05 for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.027)  # three standard errors


@pytest.mark.parametrize("effect", [0.05, 0.31, 1.0, 4.0])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.05, 0.06)])
def test_the_number_needed_is_the_least_that_is_enough(effect, alpha, power):
    n = queries_needed(2.0, -2.0 * effect, alpha=alpha, power=power)
    assert detectable(2.0, n, alpha=alpha, power=power) <= 2.0 * effect
    if n > 2:
        assert detectable(2.0, n - 1, alpha=alpha, power=power) > 2.0 * effect


def test_a_tiny_effect_needs_a_number_without_an_end_of_search():
    # (1.95996 + 0.84162)^2 / 0.0001^2
    assert queries_needed(1.0, 0.0001) == pytest.approx(784_887_000, rel=1e-4)


def test_without_any_effect_the_power_is_alpha():
    assert power_of(0.0, 30) == pytest.approx(0.05, abs=1e-9)


def test_where_nothing_is_known_of_the_spread():
    assert detectable(0.1, 1) is None
    assert detectable(0.1, 0) is None
    assert detectable(0.0, 100) is None
    assert queries_needed(0.0, 0.1) is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: detectable(-0.1, 9), "a standard deviation cannot be -0.1"),
        (lambda: detectable(float("nan"), 9), "a standard deviation cannot be nan"),
        (lambda: detectable(0.1, 9, alpha=0.9), "impossible"),
        (lambda: detectable(0.1, 9, power=1.0), "impossible"),
        (lambda: queries_needed(0.1, 0.0), "no number of queries shows a difference of 0"),
        (lambda: queries_needed(0.1, float("nan")), "shows a difference of nan"),
    ],
)
def test_what_cannot_be_is_said(call, said):
    with pytest.raises(InputError, match=said):
        call()
