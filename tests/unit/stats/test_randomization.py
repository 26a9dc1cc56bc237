"""The randomization test against assignments counted by hand."""

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats import randomization
from searchmark.stats.randomization import randomization_test, randomization_tests


@pytest.mark.parametrize(
    ("differences", "two_sided", "greater", "less"),
    [
        # sums of +-1 +-2 +-3: -6 -4 -2 0 0 2 4 6; of 6, only the last is as far
        ([1.0, 2.0, 3.0], 2 / 8, 1 / 8, 8 / 8),
        # the sum is 4: 4 and 6 above, -4 and -6 as far; all but 6 are at most 4
        ([-1.0, 2.0, 3.0], 4 / 8, 2 / 8, 7 / 8),
        # the sum is 0: every assignment is as far; 0 0 2 4 6 are at least that
        ([1.0, 2.0, -3.0], 1.0, 5 / 8, 5 / 8),
        # zeros change nothing: of +-1 +-1 the sums are -2 0 0 2
        ([1.0, 0.0, 1.0, 0.0], 2 / 4, 1 / 4, 4 / 4),
    ],
)
def test_few_queries_are_counted(differences, two_sided, greater, less):
    d = np.array(differences)
    assert randomization_test(d).p == two_sided
    assert randomization_test(d, alternative="greater").p == greater
    assert randomization_test(d, alternative="less").p == less
    assert randomization_test(d).is_exact


def test_sums_that_are_equal_but_for_rounding_count_as_equal():
    # 0.1 + 0.2 - 0.3 is not 0 in doubles, and 0.3 + 0.3 - 0.6 neither in every order
    assert randomization_test(np.array([0.1, 0.2, -0.3])).p == 1.0
    # the sum is 0.6: +-.1 +-.2 +-.3 gives it once in 8
    assert randomization_test(np.array([0.3, 0.1, 0.2]), alternative="greater").p == 1 / 8


def test_drawn_signs_give_b_plus_1_over_n_plus_1():
    # 17 equal differences: only 2 of 131,072 assignments are as far, so b is 0 or very few
    found = randomization_test(np.ones(17), permutations=999)
    assert not found.is_exact
    assert found.p == 1 / 1000


def test_drawn_signs_find_the_share_of_a_binomial():
    # 20 equal differences, 14 of them up: P(14 or more of 20 heads) * 2 = 0.11532
    d = np.array([1.0] * 14 + [-1.0] * 6)
    assert randomization_test(d).p == pytest.approx(0.11532, abs=0.004)
    assert randomization_test(d, alternative="greater").p == pytest.approx(0.05766, abs=0.003)
    # P(13 or fewer are up by chance) = 1 - 0.05766, and 14 itself 0.03696
    assert randomization_test(d, alternative="less").p == pytest.approx(0.97930, abs=0.002)


def test_16_differing_queries_are_counted_and_17_drawn_whatever_stands_still():
    still = np.zeros(50)
    assert randomization_test(np.r_[np.ones(16), still]).p == 2 / 2**16
    assert not randomization_test(np.r_[np.ones(17), still], permutations=9).is_exact


def test_queries_of_a_cluster_flip_together():
    # sums of the clusters: 3 and 3: of +-3 +-3, two of four are as far
    d = np.array([1.0, 2.0, 1.5, 1.5])
    found = randomization_test(d, clusters=["a", "a", "b", "b"])
    assert (found.p, found.n) == (2 / 4, 2)
    assert randomization_test(d).p == 2 / 16


def test_clusters_of_one_are_queries():
    d = np.random.default_rng(1).normal(0.1, 1, 30)
    assert randomization_test(d, clusters=range(30)) == randomization_test(d)
    assert randomization_test(d, clusters=[None] * 30) == randomization_test(d)


def test_order_seed_threads_and_company_do_not_matter(monkeypatch):
    rng = np.random.default_rng(4)
    table = np.round(rng.normal(0.05, 0.3, (90, 70)), 2)
    options = {"permutations": 20_000, "seed": 3}
    found = randomization_tests(table, **options)
    assert randomization_tests(table[rng.permutation(90)], **options) == found
    assert [randomization_test(column, **options) for column in table.T[[0, 33, 69]]] == [
        found[i] for i in (0, 33, 69)
    ]
    assert randomization_tests(-table, **options) == found
    monkeypatch.setattr(randomization, "THREADS", 1)
    assert randomization_tests(table, **options) == found
    monkeypatch.setattr(randomization, "COLUMNS", 7)
    assert randomization_tests(table, **options) == found
    assert randomization_tests(table, permutations=20_000, seed=4) != found


def test_the_order_of_clusters_does_not_matter():
    rng = np.random.default_rng(5)
    d, labels = np.round(rng.normal(0.1, 1, 120), 3), [f"u{i // 3}" for i in range(120)]
    by = rng.permutation(120)
    found = randomization_test(d, clusters=labels, permutations=5000)
    assert randomization_test(d[by], clusters=[labels[i] for i in by], permutations=5000) == found
    assert found.n == 40


def test_so_few_that_p_cannot_be_small_are_told():
    found = randomization_test(np.array([0.3, 0.2, 0.2, 0.1, 0.0]))
    assert found.p == 2 / 16
    assert found.note == "only 4 differ, and with so few p cannot be less than 0.125"
    assert randomization_test(np.ones(6)).note is None


def test_nothing_differs():
    found = randomization_test(np.zeros(30))
    assert (found.p, found.note) == (1.0, "no query differs")


def test_one_query_and_one_cluster_tell_nothing():
    assert randomization_test(np.array([0.4])).note == "one query tells nothing of others"
    found = randomization_test(np.array([0.4, 0.3]), clusters=["a", "a"])
    assert (found.p, found.note) == (None, "one cluster of queries tells nothing of others")


@pytest.mark.parametrize(
    ("differences", "options", "said"),
    [
        ([], {}, "no queries to compare"),
        ([0.1, np.nan], {}, "the difference of query 2 is no finite number"),
        ([0.1, np.inf], {}, "the difference of query 2 is no finite number"),
        ([0.1, 0.2], {"permutations": 0}, "0 permutations cannot be drawn"),
        ([0.1, 0.2], {"alternative": "bigger"}, "no alternative 'bigger'"),
        ([0.1, 0.2], {"clusters": ["a"]}, "1 cluster labels for 2 queries"),
    ],
)
def test_what_cannot_be_is_said(differences, options, said):
    with pytest.raises(InputError, match=said):
        randomization_test(np.array(differences), **options)
