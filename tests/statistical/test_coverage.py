"""95% intervals hold the truth in 93 to 97% of 2,000 simulated evaluations."""

import numpy as np
import pytest

from searchmark.stats.alpha import krippendorff_alpha
from searchmark.stats.bootstrap import mean_intervals
from searchmark.stats.kappa import kappa
from searchmark.stats.patterns import Draws

pytestmark = pytest.mark.slow

N = 2_000


def ends(found):
    return [(one.low, one.high) for one in found]


@pytest.fixture(scope="module")
def truth(simulation):
    return simulation.true_mean()


@pytest.mark.parametrize("resamples", [None, 2_000])
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("n_queries", [50, 120])
def test_of_a_mean(simulation, truth, method, n_queries, resamples):
    values = simulation.Values(1).single((n_queries, N))
    found = mean_intervals(values, method=method, resamples=resamples)
    assert 0.93 <= simulation.coverage(ends(found), truth) <= 0.97


@pytest.mark.parametrize("n_queries", [15, 50, 120])
def test_of_a_share(simulation, n_queries):
    # counts are few and whole, so that the coverage at one true share may be 92 or 98%: averaged
    rng = np.random.default_rng(1)
    truths = rng.uniform(0.05, 0.95, N)
    found = mean_intervals((rng.random((n_queries, N)) < truths).astype(float))
    assert {one.method for one in found} == {"wilson"}
    held = [low <= truth <= high for (low, high), truth in zip(ends(found), truths, strict=True)]
    assert 0.93 <= np.mean(held) <= 0.97


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_of_queries_in_clusters_and_the_plain_one_fails(simulation, truth, method):
    made = simulation.Clusters(100, seed=1)
    values = made.values(N)
    found = mean_intervals(values, made.labels, method=method, resamples=2_000)
    assert 0.93 <= simulation.coverage(ends(found), truth) <= 0.97
    plain = mean_intervals(values, method=method)
    assert simulation.coverage(ends(plain), truth) < 0.75


def test_of_queries_in_clusters_computed_instead_of_drawn(simulation, truth):
    made = simulation.Clusters(100, seed=1)
    found = mean_intervals(made.values(500), made.labels)
    # 500 simulations: a standard error of 1%
    assert 0.92 <= simulation.coverage(ends(found), truth) <= 0.98


def judged(rng, shape):
    """Return grades of two judges who often see the same, and their true kappa."""
    grades, shares = np.arange(4), np.array([0.5, 0.2, 0.2, 0.1])
    first, other = (rng.choice(grades, shape, p=shares) for _ in range(2))
    second = np.where(rng.random(shape) < 0.6, first, other)
    return first, second


def test_of_kappa_and_alpha(simulation):
    # with 0.6 alike by will and the rest by chance, chance-corrected agreement is 0.6
    first, second = judged(np.random.default_rng(1), (1_000, 120))
    draws = Draws(resamples=1_000)
    pairs = list(zip(first, second, strict=True))
    kappas = [kappa(*pair, draws=draws) for pair in pairs]
    assert 0.93 <= simulation.coverage(ends(kappas), 0.6) <= 0.97
    weighted = [kappa(*pair, weights="quadratic", draws=draws) for pair in pairs]
    assert 0.93 <= simulation.coverage(ends(weighted), 0.6) <= 0.97
    alphas = [krippendorff_alpha(np.array(pair).T, scale="interval", draws=draws) for pair in pairs]
    assert 0.93 <= simulation.coverage(ends(alphas), 0.6) <= 0.97
