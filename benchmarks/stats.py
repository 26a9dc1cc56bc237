"""Intervals of means: seconds for 10 systems x 5 measures over 5,000 queries.

    .venv/bin/python benchmarks/stats.py [queries, 5000 by default]

Three ways to the same intervals: the bootstrap distribution computed by Fourier transforms (the
default), 10,000 drawn resamples shared by all columns, and SciPy's `bootstrap`, which is given one
column and whose seconds are multiplied by their number. All are BCa. The rounds alternate and the
best one counts. In the end `compare` makes all 225 comparisons of the ten systems, with four tests,
intervals and corrections.
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.stats import bootstrap

from searchmark.stats.bootstrap import mean_intervals
from searchmark.stats.comparison import compare

SYSTEMS, MEASURES = 10, ("nDCG@10", "RR", "R@20", "P@5", "Judged@10")
RESAMPLES = 10_000
BATCH = 500
ROUNDS = 2


def made_up(n: int) -> np.ndarray:
    """Return values of all columns: between 0 and 1, many at the ends, systems alike by query."""
    rng = np.random.default_rng(7)
    hard = rng.normal(0, 0.5, (n, 1, 1))
    own = rng.normal(0, 0.3, (n, SYSTEMS, len(MEASURES)))
    level = np.linspace(0.45, 0.6, SYSTEMS)[None, :, None]
    return np.clip(np.round(level + hard + own, 4), 0, 1).reshape(n, -1)


def timed(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


def by_scipy(column: np.ndarray) -> tuple[float, float]:
    """Return the interval of one column."""
    found = bootstrap(
        (column,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=BATCH,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    return float(found.low), float(found.high)


def all_comparisons(table: np.ndarray) -> object:
    """Compare every pair of systems on every measure."""
    ids = [f"q{i}" for i in range(len(table))]
    columns = iter(table.T.tolist())
    return compare(
        {
            f"system {s}": {m: dict(zip(ids, next(columns), strict=True)) for m in MEASURES}
            for s in range(SYSTEMS)
        }
    )


def main() -> None:
    """Print how long each way takes, and the interval that it finds for the first column."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    table = made_up(n)
    k = table.shape[1]
    rounds = [
        (
            timed(lambda: mean_intervals(table)),
            timed(lambda: mean_intervals(table, resamples=RESAMPLES)),
            timed(lambda: by_scipy(table[:, 0])),
        )
        for _ in range(ROUNDS)
    ]
    computed, drawn, scipy = (min(times) for times in zip(*rounds, strict=True))
    one = table[:, :1]
    rows = (
        ("computed", computed, mean_intervals(one)[0][:2]),
        (f"{RESAMPLES:,} drawn", drawn, mean_intervals(one, resamples=RESAMPLES)[0][:2]),
        ("SciPy, scaled from one column", scipy * k, by_scipy(table[:, 0])),
    )
    print(f"BCa intervals of {k} columns over {n:,} queries\n")
    print("| way | seconds | first column |")
    print("|---|---|---|")
    for name, took, (low, high) in rows:
        print(f"| {name} | {took:.2f} | {low:.4f} to {high:.4f} |")
    n_pairs = SYSTEMS * (SYSTEMS - 1) // 2 * len(MEASURES)
    print(f"\n{n_pairs} comparisons in full: {timed(lambda: all_comparisons(table)):.2f} s")


if __name__ == "__main__":
    main()
