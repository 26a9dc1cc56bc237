"""Intervals against distributions that can be written out by hand, and against what is stated."""

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.bootstrap import mean_interval, mean_intervals
from searchmark.stats.convolution import of_mean, of_ratio
from searchmark.stats.normal import cdf, quantile
from searchmark.stats.resampling import resampled_means
from searchmark.stats.shares import wilson

VALUES = np.array([0.0, 0.1, 0.25, 0.5, 0.63, 0.63, 1.0, 1.0])


def test_the_distribution_of_three_draws_is_the_one_counted_by_hand():
    # 27 ordered draws of 0, 1 and 3: sums 0 1 2 3 4 5 6 7 9 in 1 3 3 4 6 3 3 3 1 of them
    where = of_mean(np.array([0.0, 1.0, 3.0]))
    counts = {0: 1, 1: 3, 2: 3, 3: 4, 4: 6, 5: 3, 6: 3, 7: 3, 9: 1}
    so_far = 0
    for total, count in counts.items():
        if 0 < total < 9:  # the mean itself is never at an end
            assert where.below(total / 3) == pytest.approx((so_far + count / 2) / 27, abs=0.02)
        assert where.quantile((so_far + count / 2) / 27) == pytest.approx(total / 3, abs=1e-3)
        so_far += count
    assert where.share[-1] == pytest.approx(1.0)


def test_a_skewed_mean_of_many_keeps_the_moments_of_its_values():
    values = np.random.default_rng(3).exponential(1.0, 400) ** 2
    where = of_mean(values)
    mass = np.diff(where.share, prepend=0.0)
    mean = float((mass * where.place).sum())
    deviation = float(np.sqrt((mass * (where.place - mean) ** 2).sum()))
    assert mean == pytest.approx(values.mean(), rel=1e-4)
    assert deviation == pytest.approx(values.std() / np.sqrt(400), rel=2e-3)


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("n", [7, 40, 300])
def test_drawn_resamples_come_near_the_computed_distribution(method, n):
    values = np.random.default_rng(n).beta(0.5, 0.7, n)
    exact = mean_interval(values, method=method)
    drawn = mean_interval(values, method=method, resamples=60_000)
    width = exact.high - exact.low
    assert drawn.low == pytest.approx(exact.low, abs=0.03 * width)
    assert drawn.high == pytest.approx(exact.high, abs=0.03 * width)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_drawn_clusters_come_near_the_computed_distribution(method):
    rng = np.random.default_rng(5)
    clusters = rng.integers(0, 40, 200).tolist()
    values = rng.normal(0, 1, 40)[clusters] + rng.normal(0, 0.3, 200)
    exact = mean_interval(values, clusters, method=method)
    drawn = mean_interval(values, clusters, method=method, resamples=60_000)
    width = exact.high - exact.low
    assert exact.n_clusters == drawn.n_clusters == len(set(clusters))
    assert exact.method == f"cluster {method}"
    assert drawn.low == pytest.approx(exact.low, abs=0.03 * width)
    assert drawn.high == pytest.approx(exact.high, abs=0.03 * width)


def test_correlated_queries_make_the_interval_wider():
    clusters = [i // 10 for i in range(200)]
    values = np.random.default_rng(1).beta(0.5, 0.5, 20)[clusters]
    alone, together = mean_interval(values), mean_interval(values, clusters)
    assert together.half_width > 2.5 * alone.half_width  # about the root of 10


def test_clusters_of_one_query_are_queries():
    labels = ["a", None, "b", None, "c", "d", "e", "f"]
    assert mean_interval(VALUES, labels) == mean_interval(VALUES)


def test_the_ratio_of_equal_clusters_is_the_mean_of_their_means():
    means = np.array([0.1, 0.4, 0.5, 0.9, 0.95, 0.3, 0.35, 0.7])
    ratio, plain = of_ratio(5 * means, np.full(8, 5.0)), of_mean(means)
    for p in (0.025, 0.2, 0.5, 0.8, 0.975):
        assert ratio.quantile(p) == pytest.approx(plain.quantile(p), abs=0.02)


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2, 2, 3, 4]])
@pytest.mark.parametrize("resamples", [None, 500])
def test_the_order_of_queries_does_not_matter(clusters, resamples):
    by = np.array([3, 1, 7, 0, 2, 6, 5, 4])
    moved = None if clusters is None else [clusters[i] for i in by]
    assert mean_interval(VALUES, clusters, resamples=resamples) == mean_interval(
        VALUES[by], moved, resamples=resamples
    )


def test_drawing_does_not_depend_on_threads(monkeypatch):
    table = np.random.default_rng(0).random((3000, 2))
    monkeypatch.setattr("searchmark.stats.resampling.THREADS", 1)
    one = resampled_means(table, resamples=3000, seed=4)
    monkeypatch.setattr("searchmark.stats.resampling.THREADS", 3)
    assert (one == resampled_means(table, resamples=3000, seed=4)).all()
    assert (one != resampled_means(table, resamples=3000, seed=5)).any()


def test_columns_get_the_interval_they_get_alone():
    table = np.column_stack([VALUES, VALUES[::-1] ** 2])
    assert mean_intervals(table) == [mean_interval(table[:, 0]), mean_interval(table[:, 1])]


def test_zeros_and_ones_are_a_share():
    found = mean_interval(np.array([1.0, 0.0, 1.0, 1.0]))
    assert found == wilson(3, 4)
    everything = mean_interval(np.ones(20))
    # z = 1.96: 20/20 gives a low end of 1 / (1 + 3.8415/20) = 0.8389
    assert everything.low == pytest.approx(0.8389, abs=1e-4)
    assert everything.high == 1.0


def test_a_share_with_clusters_is_drawn_by_clusters():
    found = mean_interval(np.array([1.0, 1.0, 0.0, 0.0]), ["a", "a", "b", "b"])
    assert found.method == "cluster bca"
    assert found.note is not None
    assert "only 2 clusters" in found.note


@pytest.mark.parametrize(
    ("values", "clusters", "note"),
    [
        ([0.5], None, "one query"),
        ([0.3, 0.3, 0.3], None, "all 3 values are equal"),
        ([0.1, 0.9, 0.4], ["a", "a", "a"], "one cluster"),
        ([0.2, 0.4, 0.3, 0.3], ["a", "a", "b", "b"], "all 2 clusters' means are equal"),
    ],
)
def test_where_nothing_can_be_told_it_says_why(values, clusters, note):
    found = mean_interval(np.array(values), clusters)
    assert (found.low, found.high, found.method) == (None, None, "none")
    assert found.half_width is None
    assert note in found.note


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([], {}, "no queries"),
        ([0.1, np.nan], {}, "query 2 is no finite number"),
        ([0.1, np.inf], {}, "query 2 is no finite number"),
        ([0.1, 0.2], {"level": 1.0}, "level 1"),
        ([0.1, 0.2], {"resamples": 0}, "0 resamples"),
        ([0.1, 0.2], {"clusters": ["a"]}, "1 cluster labels for 2 queries"),
    ],
)
def test_what_cannot_be_is_refused(values, options, message):
    with pytest.raises(InputError, match=message):
        mean_interval(np.array(values), **options)


def test_intervals_stay_within_the_values():
    found = mean_interval(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9]), level=0.999)
    assert 0.0 <= found.low < found.high <= 0.9


def test_wilson_against_the_worked_example_of_the_nist_handbook():
    # NIST/SEMATECH e-Handbook 7.2.4.1: 4 defects in 20, 95 %: 0.081 to 0.416 (z = 1.96)
    found = wilson(4, 20)
    assert (round(found.low, 3), round(found.high, 3)) == (0.081, 0.416)
    with pytest.raises(InputError, match="5 of 4 is no share"):
        wilson(5, 4)


@pytest.mark.parametrize("p", [1e-9, 0.001, 0.025, 0.5, 0.8, 0.999])
def test_the_normal_distribution_is_its_own_inverse(p):
    assert cdf(quantile(p)) == pytest.approx(p, rel=1e-9)


def test_the_normal_distribution_at_known_places():
    assert quantile(0.975) == pytest.approx(1.959963984540054)
    assert cdf(1.0) == pytest.approx(0.8413447460685429)
    assert (quantile(0.0), quantile(1.0)) == (float("-inf"), float("inf"))


def test_one_of_twenty_is_a_binomial():
    # each draw is 0.5 once in 20 times, so the sum of 20 is half of a binomial: P(X <= 2) = 0.9245,
    # P(X <= 3) = 0.9841, which is the first above 0.975; P(X = 0) = 0.358
    found = mean_interval(np.array([0.5] + [0.0] * 19), method="percentile")
    assert (found.low, found.high) == pytest.approx((0.0, 3 * 0.5 / 20), abs=1e-4)
    # BCa: z0 = Phi^-1(0.358 + 0.377/2) = 0.118, a = 4.129/(6 sqrt(20)) = 0.154, so the upper end is
    # at Phi(0.118 + 2.078/(1 - 0.154 * 2.078)) = 0.9992; P(X <= 4) = 0.9974, P(X <= 5) = 0.9997
    for sign in (1, -1):
        found = mean_interval(sign * np.array([0.5] + [0.0] * 19))
        assert sorted(np.abs(found[:2])) == pytest.approx([0.0, 5 * 0.5 / 20], abs=1e-4)


def test_what_is_no_share_can_be_told_so():
    values = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    assert mean_interval(values).method == "wilson"
    assert mean_interval(values, method="bca").method == "bca"
    assert mean_interval(np.ones(5), method="bca").method == "none"
