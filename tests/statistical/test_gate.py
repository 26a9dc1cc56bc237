"""The gate with `alpha` knows noise from loss: what issue 4 says it must show."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.gate.baseline import baseline_of
from searchmark.gate.decision import decide
from searchmark.gate.policy import GatePolicy
from searchmark.gate.verdict import Verdict, least_caught
from searchmark.measures.summary import Evaluation, Mean, SystemScores
from searchmark.reports.verdict import headline

MEASURES = ("nDCG@10", "RR", "R@20")
POLICY = GatePolicy(system="s", alpha=0.05)
N_SEEDS = 100

Table = NDArray[np.float64]


def noisy(rng: np.random.Generator, n: int) -> tuple[Table, Table]:
    """Return two versions of a system that are equally good, as (measures, queries).

    Values are bounded, skewed, many of them 0 or 1; two queries of five move, for every measure
    they move in the same direction more often than not, and neither version is the better one.
    """
    quality = rng.beta(1.2, 0.8, n)
    moves = rng.random(n) < 0.4
    first = quality + rng.normal(0, 0.1, (3, n)) + rng.normal(0, 0.1, n)
    other = quality + rng.normal(0, 0.1, (3, n)) + rng.normal(0, 0.1, n)
    return first.clip(0, 1), np.where(moves, other, first).clip(0, 1)


def scores_of(table: Table) -> SystemScores:
    ids = [f"q{i:03}" for i in range(table.shape[1])]
    per_query = {
        m: dict(zip(ids, row.tolist(), strict=True)) for m, row in zip(MEASURES, table, strict=True)
    }
    means = (
        Mean(m, float(row.mean()), 1.0, len(ids), 0, 0, 0.0)
        for m, row in zip(MEASURES, table, strict=True)
    )
    return SystemScores("s", tuple(means), {}, per_query)


def gate(before: Table, after: Table, policy: GatePolicy = POLICY) -> Verdict:
    accepted = scores_of(before)
    conventions = {m: m for m in MEASURES}
    baseline = baseline_of(accepted, Evaluation((accepted,), conventions, "graded", 1, {}, {}))
    return decide(scores_of(after), baseline, policy)


def with_loss(rng: np.random.Generator, table: Table, loss: float) -> Table:
    """Return values of which two queries of five lost, so that each mean lost exactly `loss`."""
    lost = rng.random(table.shape) * (rng.random(table.shape[1]) < 0.4) * (table > 0.25)
    for _ in range(50):  # what cannot fall below 0 falls elsewhere
        short = loss - (table - (table - lost).clip(0)).mean(axis=1, keepdims=True)
        lost *= 1 + short / lost.mean(axis=1, keepdims=True)
    return (table - lost).clip(0)


@pytest.fixture(scope="module")
def noise() -> list[Verdict]:
    pairs = (noisy(np.random.default_rng(seed), 120) for seed in range(N_SEEDS))
    return [gate(before, after) for before, after in pairs]


def test_on_pure_noise_it_passes_in_95_of_100_seeds(noise: list[Verdict]) -> None:
    assert sum(v.passed for v in noise) >= 95


def test_the_noise_is_loud_enough_to_break_the_limit_alone() -> None:
    # else passing would be no feat: without alpha the same noise fails again and again
    policy = GatePolicy(system="s")
    pairs = (noisy(np.random.default_rng(seed), 120) for seed in range(N_SEEDS))
    assert sum(not gate(before, after, policy).passed for before, after in pairs) >= 5


def test_a_true_loss_of_a_twentieth_over_120_queries_fails() -> None:
    failed = 0
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(1000 + seed)
        before, after = noisy(rng, 120)
        failed += not gate(before, with_loss(rng, after, 0.05)).passed
    assert failed >= 95


def test_with_eight_queries_it_says_that_it_cannot_tell() -> None:
    for seed in range(20):
        rng = np.random.default_rng(2000 + seed)
        before, after = noisy(rng, 8)
        verdict = gate(before, after)
        assert verdict.passed
        assert "passed, but cannot tell" in headline(verdict)
        assert any("8 queries cannot tell" in sentence for sentence in verdict.blind)


def test_a_loss_of_the_detectable_size_is_found_four_times_in_five() -> None:
    # with one gated measure, so that Holm divides nothing
    policy = GatePolicy(system="s", alpha=0.05, measures=["nDCG@10"], max_drop=0.0)
    found, sizes = 0, []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(3000 + seed)
        before, after = noisy(rng, 120)
        sizes.append(gate(before, after, policy).measures[0].detectable or 0.0)
    size = float(np.mean(sizes))
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(4000 + seed)
        before, after = noisy(rng, 120)
        found += not gate(before, after - size, policy).passed
    # 100 trials at 0.8 have a standard error of 0.04
    assert 0.7 <= found / N_SEEDS <= 0.9


N_TRIALS = 200
"""At 0.8 their share has a standard error of 0.028, at 0.5 one of 0.035."""


class Trials(NamedTuple):
    """What a loss is measured with on average, and which share fails of those that lost so much."""

    detectable: float
    standard_error: float
    failing: Callable[[float, float], float]


@pytest.fixture(scope="module")
def trials(simulation: ModuleType) -> Trials:
    """Hold two equally good versions over 120 queries against each other, in nDCG@10 alone."""

    def versions(seed: int) -> tuple[Table, Table]:
        made = simulation.Values(seed)
        queries = made.queries((120,))
        before, after = made.of(*queries), made.of(*queries)
        return np.tile(before, (3, 1)), np.tile(after, (3, 1))

    def holding(max_drop: float) -> GatePolicy:
        return GatePolicy(system="s", alpha=0.05, measures=["nDCG@10"], max_drop=max_drop)

    def failing(loss: float, max_drop: float) -> float:
        policy, failed = holding(max_drop), 0
        for seed in range(6000, 6000 + N_TRIALS):
            before, after = versions(seed)
            failed += not gate(before, after - loss, policy).passed
        return failed / N_TRIALS

    found = [gate(*versions(seed), holding(0.02)).measures[0] for seed in range(50)]
    return Trials(
        float(np.mean([v.detectable for v in found])),
        float(np.mean([v.standard_error for v in found])),
        failing,
    )


def test_under_a_small_max_drop_the_detectable_loss_fails_four_times_in_five(
    trials: Trials,
) -> None:
    assert 0.72 <= trials.failing(trials.detectable, 0.02) <= 0.88


def test_a_loss_of_exactly_max_drop_fails_one_time_in_two(trials: Trials) -> None:
    assert 0.4 <= trials.failing(trials.detectable, trials.detectable) <= 0.6


def test_a_loss_of_what_is_caught_beside_a_large_max_drop_fails_four_times_in_five(
    trials: Trials,
) -> None:
    limit = trials.detectable
    caught = least_caught(limit, trials.detectable, trials.standard_error)
    assert caught is not None
    assert 1.2 * limit < caught < 1.5 * limit
    assert 0.72 <= trials.failing(caught, limit) <= 0.88
