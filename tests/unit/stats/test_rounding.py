"""Sums that are equal on paper, and numbers too great or too fine for doubles."""

from math import inf

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.alpha import krippendorff_alpha
from searchmark.stats.bootstrap import mean_interval, mean_intervals
from searchmark.stats.comparison import Settings, compare
from searchmark.stats.power import queries_needed
from searchmark.stats.randomization import randomization_test, randomization_tests
from searchmark.stats.resampling import cluster_codes, grouped, resampled_means
from searchmark.stats.rounding import differences_of, scale_of, sums_of
from searchmark.stats.sign import sign_test
from searchmark.stats.ttest import t_test
from searchmark.stats.wilcoxon import wilcoxon_test

CANCELLING = np.array([0.1, 0.2, -0.3, 0.1, 0.1, 0.1, 0.1, 0.1])
LABELS = [*"aaabcdef"]


def test_a_cluster_that_cancels_is_none_that_moved():
    # 0.1 + 0.2 - 0.3 is 0, in doubles 2.8e-17: five clusters are left, all won: 2/2**5
    for run in (sign_test, wilcoxon_test, randomization_test):
        found = run(CANCELLING, clusters=LABELS)
        assert found.p == 2 / 32
    assert sign_test(CANCELLING, clusters=LABELS).n == 5


def test_equal_sums_share_a_rank():
    # sums 0.3 (as 0.1 + 0.2 and as 0.3) and -0.3: all of rank 2, so W+ = 4 of 6. Of 8 signs 4 have
    # two or three up: 2 * 4/8, at most 1
    d = np.array([0.1, 0.2, 0.3, -0.3])
    assert wilcoxon_test(d, clusters=["a", "a", "b", "c"]).p == 1.0
    assert sums_of([[0.1, 0.2], [0.3], [0.5, -0.2]]) == [0.3, 0.3, 0.3]


@pytest.mark.parametrize("unit", [1e-290, 1e-14, 1e-3, 1.0, 1e6, 1e200])
def test_rounding_is_relative(unit):
    found = sums_of([[0.1 * unit, 0.2 * unit, -0.3 * unit], [0.1 * unit]])
    assert found[0] == 0.0
    assert found[1] == pytest.approx(0.1 * unit, rel=1e-11)


def test_many_great_and_few_small_ones():
    # 2,000 of size 1 and a difference of 1e-9 that is no rounding
    assert sums_of([[1.0, -1.0] * 1000 + [1e-9]])[0] == pytest.approx(1e-9, rel=1e-3)
    assert sums_of([]) == []
    assert sums_of([[0.0], []]) == [0.0, 0.0]


def test_differences_of_sums_of_the_same_are_0():
    assert differences_of(np.array([0.3]), np.array([0.1 + 0.2]))[0] == 0.0
    assert differences_of(np.array([]), np.array([])).shape == (0,)


@pytest.mark.parametrize("seed", range(30))
def test_the_order_of_queries_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    table = rng.choice([0, 0.1, 0.2, 0.3, 0.7, 1 / 3, -0.1, -0.3], (n, 2))
    labels = [f"c{rng.integers(n // 3 + 2)}" if rng.random() < 0.8 else None for _ in range(n)]
    by = rng.permutation(n)

    def all_of(d, of):
        return (
            mean_intervals(d, of, resamples=200),
            mean_intervals(d, of, method="bca"),
            mean_intervals(d, method="bca"),
            randomization_tests(d, clusters=of, permutations=500),
            [run(c, clusters=of) for run in (sign_test, wilcoxon_test, t_test) for c in d.T],
        )

    assert all_of(table, labels) == all_of(table[by], [labels[i] for i in by])


def test_clusters_stand_in_the_order_of_what_they_hold():
    sums, sizes = grouped(np.array([[3.0], [1.0], [1.0], [0.5]]), ["x", "y", "y", "z"])
    assert sums.tolist() == [[0.5], [3.0], [2.0]]  # by size, then by sum
    assert sizes.tolist() == [1.0, 1.0, 2.0]


def test_blanks_and_nan_are_no_label():
    nan = float("nan")
    assert cluster_codes(["", "  ", nan, nan, None, "a", "a", np.nan], 8).tolist() == [
        *(0, 1, 2, 3, 4),
        *(5, 5, 6),
    ]
    values = np.arange(6) / 6
    for label in ("", " \t", nan, np.nan, None):
        assert mean_interval(values, [label] * 6) == mean_interval(values)
    scores = {
        name: {"RR": {f"q{i}": x for i, x in enumerate(values * up)}}
        for name, up in (("a", 1.0), ("b", 0.5))
    }
    blank = compare(scores, clusters={f"q{i}": "  " for i in range(6)}).comparisons
    assert blank == compare(scores).comparisons


def test_drawn_means_of_great_values_close_together():
    # a million and 0.2 more or less: 32 bits alone would know them to a sixteenth
    values = 1e6 + np.random.default_rng(4).choice([-0.2, 0.1, 0.2], 40)
    computed, drawn = mean_interval(values), mean_interval(values, resamples=20_000)
    assert drawn.low == pytest.approx(computed.low, abs=0.01)
    assert drawn.high == pytest.approx(computed.high, abs=0.01)


def test_drawn_means_that_are_equal_stay_so():
    # of three draws of 0, 0, 1: 0, 1/3, 2/3 or 1, and never two that differ by rounding
    means = resampled_means(np.array([[0.0], [0.0], [1.0]]), resamples=2000)[:, 0]
    assert np.unique(means) == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-6)
    assert (means.min(), means.max()) == (0.0, 1.0)


def test_numbers_whose_squares_are_no_doubles():
    values = np.random.default_rng(0).random(30)
    plain, great = mean_interval(values), mean_interval(1e200 * values)
    assert great.low == pytest.approx(1e200 * plain.low, rel=1e-9)
    assert great.high == pytest.approx(1e200 * plain.high, rel=1e-9)
    assert scale_of(np.array([0.5, -3.0])) == 1.0
    d = values - 0.4
    for run in (t_test, wilcoxon_test, sign_test, randomization_test):
        assert run(1e307 * d).p == pytest.approx(run(d).p, rel=1e-9)
    ratings = np.array([[1, 2], [3, 3], [2, 4], [5, 4], [1, 1]])
    expected = krippendorff_alpha(ratings, scale="interval").value
    for unit in (1e-200, 1e200):
        found = krippendorff_alpha(unit * ratings, scale="interval")
        assert found.value == pytest.approx(expected, rel=1e-9)


def test_what_no_number_of_queries_shows():
    with pytest.raises(InputError, match="no number of queries shows a difference"):
        queries_needed(1e180, 0.01)
    scores = {"a": {"DCG": {"q1": 1e200}}, "b": {"DCG": {"q1": -1e200}}}
    with pytest.raises(InputError, match=r"DCG of a is 1e\+200 for the query 'q1', which is too"):
        compare(scores)


@pytest.mark.parametrize("seed", [-1, -(2**70)])
def test_a_seed_below_0_is_refused(seed):
    values = np.arange(20.0)
    with pytest.raises(InputError, match="the seed cannot be"):
        mean_interval(values, resamples=100, seed=seed)
    with pytest.raises(InputError, match="the seed cannot be"):
        randomization_test(values, seed=seed)
    with pytest.raises(InputError, match="the seed cannot be"):
        compare({}, settings=Settings(seed=seed))
    assert mean_interval(values, resamples=100, seed=2**70).high < inf
