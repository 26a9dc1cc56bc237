"""Made-up evaluations whose truth is known: values as nDCG@10 has them, alone and in clusters.

Shared by the tests beside it and by the pictures of the docs.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.stats.randomization import randomization_tests
from searchmark.stats.tests import TESTS

Floats = NDArray[np.float64]

PERMUTATIONS = 8_191
TOGETHER = 25
"""Simulations that draw their signs together."""

DISCOUNT = 1 / np.log2(np.arange(2, 12))
BEST = np.cumsum(DISCOUNT)
"""DCG@10 of the best ranking of 1, 2, ... relevant documents."""


class Values:
    """nDCG@10 of simulated rankings: bounded and skewed, with many zeros, ones and other ties.

    A query has one to four relevant documents and a chance that a rank holds one of them. Two
    systems that share both, and draw on their own, are equally good on every query.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def of(self, chance: Floats, relevant: NDArray[np.int64]) -> Floats:
        """Return one ranking's value for each query."""
        left, found = relevant.copy(), np.zeros(chance.shape)
        for gain in DISCOUNT:
            hit = self.rng.random(chance.shape) < chance * left / relevant
            found += hit * gain
            left -= hit
        return found / BEST[relevant - 1]

    def queries(self, shape: tuple[int, ...]) -> tuple[Floats, NDArray[np.int64]]:
        """Return each query's chance and number of relevant documents."""
        return self.rng.beta(0.7, 0.8, shape), self.rng.integers(1, 5, shape)

    def single(self, shape: tuple[int, ...]) -> Floats:
        """Return values of one system."""
        return self.of(*self.queries(shape))

    def differences(self, shape: tuple[int, ...], *, spoilt: float = 0.0) -> Floats:
        """Return differences of two systems that differ by chance, or on `spoilt` queries.

        There the second one finds nothing.
        """
        queries = self.queries(shape)
        found = self.of(*queries) * (self.rng.random(shape) >= spoilt)
        return found - self.of(*queries)

    def skewed(self, shape: tuple[int, ...]) -> Floats:
        """Return differences with a mean of 0 that are not symmetric: many small gains."""
        losses = self.rng.random(shape) < 0.1
        return np.where(losses, -0.45, 0.05) + self.rng.normal(0, 0.02, shape)


class Clusters:
    """Queries in groups of 1 to 10 that share an answer: what finds it for one finds it for all.

    `labels` has one a query; `values` and `differences` have one row a query, one column a
    simulation, and are made so that the queries of a group are alike.
    """

    def __init__(self, n_clusters: int, seed: int) -> None:
        self.made = Values(seed)
        sizes = np.resize([1, 2, 3, 5, 10], n_clusters)
        self.member = np.repeat(np.arange(n_clusters), sizes)
        self.labels = self.member.tolist()
        self.n_clusters = n_clusters

    def values(self, n_simulations: int) -> Floats:
        """Return values of one system: the group's own, or in one of four cases another."""
        shared = self.made.single((self.n_clusters, n_simulations))[self.member]
        return np.where(self._alone(shared.shape), self.made.single(shared.shape), shared)

    def differences(self, n_simulations: int) -> Floats:
        """Return differences of two systems that are equally good."""
        shared = self.made.differences((self.n_clusters, n_simulations))[self.member]
        return np.where(self._alone(shared.shape), self.made.differences(shared.shape), shared)

    def _alone(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        return self.made.rng.random(shape) < 0.25


def true_mean(seed: int = 0) -> float:
    """Return the mean of a million values, which stands for that of all there could be."""
    return float(Values(seed).single((1_000_000,)).mean())


def p_values(test: str, differences: Floats, clusters: list[int] | None = None) -> Floats:
    """Return p of each simulation, one a column; 1 where the test says nothing.

    Randomization draws its signs for some simulations at once, with a seed of their own: one seed
    for all would make one error of drawing that of all.
    """
    if test != "randomization":
        found = [TESTS[test].run(column, clusters=clusters) for column in differences.T]
    else:
        found = [
            one
            for start in range(0, differences.shape[1], TOGETHER)
            for one in randomization_tests(
                differences[:, start : start + TOGETHER],
                clusters=clusters,
                permutations=PERMUTATIONS,
                seed=start,
            )
        ]
    return np.array([1.0 if one.p is None else one.p for one in found])


def alarms(test: str, differences: Floats, clusters: list[int] | None = None) -> float:
    """Return the share of simulations in which p is below 0.05."""
    return float(np.mean(p_values(test, differences, clusters) < 0.05))


def coverage(ends: Sequence[tuple[float | None, float | None]], truth: float) -> float:
    """Return the share of intervals that hold the truth; one without ends does not."""
    held = [low is not None and high is not None and low <= truth <= high for low, high in ends]
    return float(np.mean(held))


def spoilt_to_detect(n_queries: int, detectable: Callable[[float, int], float]) -> float:
    """Return the share of queries to spoil so that the loss is the one that `detectable` names."""
    spoilt = 0.1
    for _ in range(20):
        differences = Values(0).differences((200_000,), spoilt=spoilt)
        goal = detectable(float(differences.std()), n_queries)
        spoilt = min(1.0, spoilt * goal / -float(differences.mean()))
    return spoilt
