"""Paired tests, power and corrections against SciPy."""

import numpy as np
import pytest
from scipy import stats as scipy

from searchmark.stats.correction import CORRECTIONS
from searchmark.stats.power import detectable, power_of, queries_needed
from searchmark.stats.randomization import randomization_test, randomization_tests
from searchmark.stats.sign import sign_test
from searchmark.stats.student import beta_share, noncentral_t_below, t_above, t_quantile
from searchmark.stats.ttest import t_test
from searchmark.stats.wilcoxon import wilcoxon_test

ALTERNATIVES = ("two-sided", "greater", "less")
EXACT = 1e-12


def differences(kind: str, n: int, seed: int = 0) -> np.ndarray:
    """Return differences of measures: continuous, in a few steps, and mostly 0."""
    rng = np.random.default_rng([n, seed])
    return {
        "plain": lambda: rng.normal(0.05, 0.2, n),
        "skewed": lambda: rng.exponential(0.3, n) - 0.2,
        "steps": lambda: rng.choice([-0.5, -0.25, 0.25, 0.5, 0.75], n),
        "zeros": lambda: rng.choice([0.0, 0.0, 0.0, -0.5, 1.0], n),
    }[kind]()


def total(x: np.ndarray, axis: int) -> np.ndarray:
    """Return sums as a randomization test needs them: equal ones equal to the last digit."""
    return np.round(x.sum(axis=axis), 9)


def by_permutation(d: np.ndarray, alternative: str, n_resamples: float) -> float:
    found = scipy.permutation_test(
        (d,),
        total,
        permutation_type="samples",
        alternative=alternative,
        n_resamples=n_resamples,
        vectorized=True,
        batch=2**14,
        rng=np.random.default_rng(5),
    )
    return float(found.pvalue)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("kind", ["plain", "skewed", "steps", "zeros"])
@pytest.mark.parametrize("n", [2, 5, 11, 16])
def test_every_assignment_of_signs_is_counted_as_scipy_counts_it(n, kind, alternative):
    d = differences(kind, n)
    found = randomization_test(d, alternative=alternative)
    assert found.is_exact
    expected = by_permutation(d, alternative, np.inf)
    # SciPy doubles the smaller side, ours counts both, which is the same where signs are flipped;
    # at a sum of 0 both sides hold it
    assert found.p == pytest.approx(min(1.0, expected), abs=EXACT)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("kind", "n"), [("plain", 17), ("skewed", 60), ("steps", 41)])
def test_drawn_signs_agree_but_for_the_noise_of_drawing(kind, n, alternative):
    d = differences(kind, n, seed=2)
    n_theirs, n_ours = 100_000, 100_000
    expected = by_permutation(d, alternative, n_theirs)
    found = randomization_test(d, alternative=alternative, permutations=n_ours)
    assert not found.is_exact
    # SciPy's two-sided p is twice a one-sided share, so its error is that of the share, doubled
    share = min(expected, 1 - expected / 2)
    error = 2 * np.sqrt(max(share * (1 - share), 1e-5) * (1 / n_theirs + 1 / n_ours))
    assert found.p == pytest.approx(expected, abs=4 * error)


def test_the_exact_share_is_what_drawing_converges_to():
    # 17 differing queries are drawn for; all 131,072 assignments counted by SciPy say what is true
    d = differences("skewed", 17, seed=3)
    expected = by_permutation(d, "two-sided", np.inf)
    error = np.sqrt(expected * (1 - expected) / 400_000)
    for seed in range(3):
        found = randomization_test(d, permutations=400_000, seed=seed)
        assert found.p == pytest.approx(expected, abs=4.5 * error)


def test_clusters_are_flipped_as_their_sums_are():
    d, labels = differences("plain", 36), [f"u{i // 3}" for i in range(36)]
    expected = by_permutation(d.reshape(12, 3).sum(axis=1), "two-sided", np.inf)
    assert randomization_test(d, clusters=labels).p == pytest.approx(expected, abs=EXACT)


def test_a_table_is_tested_column_by_column():
    table = np.column_stack([differences(kind, 12) for kind in ("plain", "steps", "zeros")])
    expected = [by_permutation(column, "two-sided", np.inf) for column in table.T]
    found = [test.p for test in randomization_tests(table)]
    assert found == pytest.approx([min(1.0, p) for p in expected], abs=EXACT)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("kind", ["plain", "skewed", "steps", "zeros"])
@pytest.mark.parametrize("n", [2, 3, 12, 150, 5000])
def test_the_paired_t_test(n, kind, alternative):
    base = np.random.default_rng(1).uniform(0, 1, n)
    d = differences(kind, n, seed=1)
    expected = scipy.ttest_rel(base + d, base, alternative=alternative).pvalue
    # the two sums lose digits that the differences have, the more the less they differ
    assert t_test(d, alternative=alternative).p == pytest.approx(expected, rel=1e-9, abs=EXACT)
    one = scipy.ttest_1samp(d, 0.0, alternative=alternative).pvalue
    assert t_test(d, alternative=alternative).p == pytest.approx(one, rel=1e-11, abs=EXACT)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("kind", "n", "method"),
    [
        ("plain", 2, "exact"),
        ("skewed", 9, "exact"),
        ("plain", 50, "exact"),
        ("plain", 51, "asymptotic"),
        ("skewed", 400, "asymptotic"),
        ("steps", 60, "asymptotic"),
        ("zeros", 200, "asymptotic"),
    ],
)
def test_wilcoxon(kind, n, method, alternative):
    d = differences(kind, n)
    expected = scipy.wilcoxon(
        d, zero_method="wilcox", correction=False, alternative=alternative, method=method
    )
    found = wilcoxon_test(d, alternative=alternative)
    assert found.is_exact is (method == "exact")
    assert found.n == np.count_nonzero(d)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-11, abs=EXACT)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("kind", ["steps", "zeros"])
@pytest.mark.parametrize("n", [4, 9, 13])
def test_wilcoxon_with_ties_is_exact_where_scipy_is(n, kind, alternative):
    # SciPy's default counts all assignments of signs up to 13 observations
    d = differences(kind, n, seed=4)
    assert np.count_nonzero(d) > 0
    found = wilcoxon_test(d, alternative=alternative)
    assert found.is_exact
    expected = scipy.wilcoxon(d, alternative=alternative).pvalue
    assert found.p == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("wins", "losses"),
    [(1, 1), (4, 0), (0, 7), (9, 3), (60, 41), (500, 500), (530, 471), (9000, 8700)],
)
def test_the_sign_test(wins, losses, alternative):
    d = np.r_[np.full(wins, 0.1), np.full(losses, -0.2), np.zeros(5)]
    expected = scipy.binomtest(wins, wins + losses, 0.5, alternative=alternative).pvalue
    found = sign_test(d, alternative=alternative)
    assert found.n == wins + losses
    assert found.p == pytest.approx(expected, rel=1e-9, abs=EXACT)


@pytest.mark.parametrize("df", [1, 2, 7, 49, 999, 20_000])
def test_students_t(df):
    for t in (-6.0, -0.3, 0.0, 0.001, 1.0, 2.5, 12.0, 60.0):
        assert t_above(t, df) == pytest.approx(scipy.t.sf(t, df), rel=1e-9, abs=1e-300)
    for p in (0.0005, 0.025, 0.4, 0.9, 0.9999):
        assert t_quantile(p, df) == pytest.approx(scipy.t.ppf(p, df), rel=1e-9)
    for shift in (0.0, 0.7, 2.8, 6.0):
        for t in (-2.0, 0.5, 2.0, 4.0):
            expected = scipy.nct.cdf(t, df, shift) if shift else scipy.t.cdf(t, df)
            assert noncentral_t_below(t, df, shift) == pytest.approx(expected, abs=1e-8)


def test_the_beta_function():
    for a, b in ((0.5, 0.5), (2.0, 3.0), (40.0, 0.5), (600.0, 401.0)):
        for x in (0.001, 0.3, 0.5, 0.6, 0.97):
            expected = scipy.beta.cdf(x, a, b)
            assert beta_share(x, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def power_by_scipy(effect: float, n: int, alpha: float) -> float:
    bound, shift = scipy.t.ppf(1 - alpha / 2, n - 1), effect * np.sqrt(n)
    return float(scipy.nct.sf(bound, n - 1, shift) + scipy.nct.cdf(-bound, n - 1, shift))


@pytest.mark.parametrize("n", [2, 3, 10, 50, 300, 5000])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.1, 0.5)])
def test_power_is_of_the_noncentral_t(n, alpha, power):
    # of two queries at 1 % the bound is 63.7, where our integral has two digits
    near = 2e-3 if (n, alpha) == (2, 0.01) else 1e-7
    size = detectable(0.25, n, alpha=alpha, power=power)
    assert power_by_scipy(size / 0.25, n, alpha) == pytest.approx(power, abs=near)
    for shift in (0.5, 2.0, 5.0):  # SciPy has no answer far out
        effect = shift / np.sqrt(n)
        expected = power_by_scipy(effect, n, alpha)
        assert power_of(effect, n, alpha=alpha) == pytest.approx(expected, abs=near)


@pytest.mark.parametrize("effect", [0.08, 0.3, 0.9, 2.5])
def test_so_many_queries_are_enough_and_one_less_is_not(effect):
    n = queries_needed(1.0, effect)
    assert power_by_scipy(effect, n, 0.05) >= 0.8
    assert power_by_scipy(effect, n - 1, 0.05) < 0.8


@pytest.mark.parametrize("n", [1, 2, 9, 200])
def test_benjamini_and_hochberg(n):
    p = np.random.default_rng(n).uniform(0, 1, n) ** 3
    p[n // 2 :] = np.round(p[n // 2 :], 1)  # equal ones, 0 among them
    expected = scipy.false_discovery_control(p, method="bh")
    assert CORRECTIONS["bh"](p.tolist()) == pytest.approx(expected.tolist(), abs=EXACT)


def test_holm_beside_a_definition_written_out():
    # adjusted p of i: the least alpha at which going down from the least p, each below
    # alpha / (as many as are left), reaches i
    p = [0.011, 0.02, 0.022, 0.09, 0.5]
    # 5 * 0.011 = 0.055, 4 * 0.02 = 0.08, 3 * 0.022 = 0.066 raised to 0.08, 2 * 0.09, 0.5
    assert CORRECTIONS["holm"](p) == pytest.approx([0.055, 0.08, 0.08, 0.18, 0.5], abs=EXACT)
    for alpha in (0.05, 0.06, 0.1, 0.2, 0.6):
        rejected = 0
        while rejected < len(p) and p[rejected] <= alpha / (len(p) - rejected):
            rejected += 1
        assert sum(q <= alpha for q in CORRECTIONS["holm"](p)) == rejected
