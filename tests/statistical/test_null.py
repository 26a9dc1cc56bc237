"""Without a true difference p < 0.05 in 5% +- 1% of simulated comparisons, for each test."""

import numpy as np
import pytest

from searchmark.stats.power import detectable
from searchmark.stats.tests import TESTS

pytestmark = pytest.mark.slow

N = 2_000
MORE = 10_000
"""Where one more percent is to mean something: a standard error of 0.2%."""


@pytest.fixture(scope="module")
def made(simulation):
    return simulation.Values(1)


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon"])
def test_noise_over_120_queries(simulation, made, test):
    assert 0.04 <= simulation.alarms(test, made.differences((120, MORE))) <= 0.06


def test_noise_over_30_queries(simulation, made):
    assert 0.04 <= simulation.alarms("randomization", made.differences((30, MORE))) <= 0.06


def test_noise_for_the_sign_test(simulation, made):
    # its p comes in steps, and the greatest step below 0.05 comes near it with many queries only
    assert 0.04 <= simulation.alarms("sign", made.differences((1_500, N))) <= 0.06


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n_queries", [5, 10, 20])
def test_very_few_queries_never_alarm_more_often(simulation, made, test, n_queries):
    # p comes in coarse steps there, so that fewer than 5% can be below 0.05
    assert simulation.alarms(test, made.differences((n_queries, N))) <= 0.06


@pytest.mark.parametrize("test", TESTS)
def test_p_is_spread_evenly(simulation, made, test):
    # with a true p a share x of them is below x: Kolmogorov's 1% point for the greatest gap of
    # 1,000 is 1.63 / sqrt(1,000); the steps of the sign test's p, about 0.05, come on top
    found = np.sort(simulation.p_values(test, made.differences((400, 1_000))))
    gap = np.abs(found - np.arange(1, 1_001) / 1_000).max()
    assert gap < 0.052 + (0.05 if test == "sign" else 0)


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon"])
def test_queries_in_clusters_and_the_plain_test_fails(simulation, test):
    made = simulation.Clusters(100, seed=1)
    differences = made.differences(N)
    assert 0.04 <= simulation.alarms(test, differences, made.labels) <= 0.06
    assert simulation.alarms(test, differences[:, :400]) > 0.2


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("n_queries", [50, 200])
def test_the_detectable_loss_is_found_in_four_of_five_cases(simulation, test, n_queries):
    spoilt = simulation.spoilt_to_detect(n_queries, detectable)
    losses = simulation.Values(1).differences((n_queries, N), spoilt=spoilt)
    assert 0.77 <= simulation.alarms(test, losses) <= 0.83
