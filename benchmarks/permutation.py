"""The randomization test beside SciPy's: seconds for 100,000 permutations of 9 pairs.

    .venv/bin/python benchmarks/permutation.py [queries, 1000 by default]

Nine columns of differences over the queries are tested at once, as when ten systems are compared
with the best of them; the signs are drawn once for all. SciPy's `permutation_test` tests one column
with a tenth of the permutations, in batches, and its seconds are multiplied: it is linear in both.
The rounds alternate and the best one counts.
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy.stats import permutation_test

from searchmark.stats.randomization import PERMUTATIONS, randomization_tests
from searchmark.stats.ttest import t_test

PAIRS = 9
PART = 10
"""SciPy is given so many times fewer permutations."""

BATCH = 1000
ROUNDS = 3


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


def ours(table: np.ndarray) -> list[float | None]:
    """Test every column."""
    return [test.p for test in randomization_tests(table)]


def theirs(column: np.ndarray) -> float:
    """Test one column with SciPy, by a part of the permutations."""
    found = permutation_test(
        (column,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS // PART,
        batch=BATCH,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


def main() -> None:
    """Print how long each takes and what they say of the first pair."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = np.random.default_rng(7)
    table = np.round(rng.normal(0.012, 0.25, (n, PAIRS)), 4)
    rounds = [
        (
            seconds(lambda: ours(table)),
            seconds(lambda: ours(table[:, :1])),
            seconds(lambda: theirs(table[:, 0])),
        )
        for _ in range(ROUNDS)
    ]
    all_pairs, one_pair, scipy = (min(times) for times in zip(*rounds, strict=True))
    scipy *= PART
    p, q, t = ours(table)[0], theirs(table[:, 0]), t_test(table[:, 0]).p
    print(f"{PERMUTATIONS:,} permutations over {n:,} queries\n")
    print("| pairs | Searchmark | SciPy, scaled | |")
    print("|---|---|---|---|")
    print(f"| 1 | {one_pair:.3f} s | {scipy:.2f} s | {scipy / one_pair:.0f} x |")
    print(
        f"| {PAIRS} | {all_pairs:.3f} s | {scipy * PAIRS:.1f} s "
        f"| {scipy * PAIRS / all_pairs:.0f} x |"
    )
    print(f"\np of the first pair: Searchmark {p:.4f}, SciPy {q:.4f}, t test {t:.4f}")


if __name__ == "__main__":
    main()
