"""Intervals of means against SciPy's bootstrap: the same but for the noise of its drawing."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from searchmark.stats.bootstrap import mean_interval


def values_of(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    return {
        "beta": lambda: rng.beta(0.4, 0.6, n),
        "levels": lambda: rng.choice([0.0, 0.5, 0.63, 1.0], n),
        "skewed": lambda: rng.exponential(1.0, n) ** 2,
        "reciprocal ranks": lambda: 1.0 / rng.integers(1, 9, n),
    }[kind]()


@pytest.mark.parametrize("kind", ["beta", "levels", "skewed", "reciprocal ranks"])
@pytest.mark.parametrize("n", [8, 15, 60, 400])
@pytest.mark.parametrize(("ours", "theirs"), [("bca", "BCa"), ("percentile", "percentile")])
def test_scipy_comes_to_the_same_interval(kind, n, ours, theirs):
    values = values_of(kind, n)
    for level in (0.95, 0.8):
        drawn = bootstrap(
            (values,),
            np.mean,
            confidence_level=level,
            n_resamples=40_000,
            method=theirs,
            batch=2000,
            rng=np.random.default_rng(0),
        ).confidence_interval
        found = mean_interval(values, level=level, method=ours)
        # a quantile of 40,000 draws is off by 1 % of the width; with few values, by a step
        near = 0.02 * (found.high - found.low) + (0.15 * np.ptp(values) / n if n < 20 else 0)
        assert found.low == pytest.approx(drawn.low, abs=near)
        assert found.high == pytest.approx(drawn.high, abs=near)
