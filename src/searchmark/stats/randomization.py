"""The paired randomization test: how often chance alone tells two systems apart like this."""

from collections.abc import Sequence

import numpy as np

from searchmark.errors import InputError
from searchmark.stats.paired import (
    Alternative,
    Floats,
    PairedTest,
    alone,
    check_alternative,
    units_of,
)
from searchmark.stats.resampling import check_seed

PERMUTATIONS = 100_000
EXACT_UNITS = 16
"""Up to so many differing queries all 2**n assignments of signs are counted."""

ROWS = 8192
"""Permutations made at a time; a multiple of 8, and part of what a seed means."""

COLUMNS = 32
"""Columns whose sums are made together: more of them leave the processor's cache."""

THREADS = 2
_CLOSE = 1e-10


def least_p(permutations: int = PERMUTATIONS) -> float:
    """Return the least p-value that so many drawn assignments of signs can give, above 0."""
    return 1 / (permutations + 1)


def randomization_test(
    differences: Floats,
    *,
    clusters: Sequence[object] | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    alternative: Alternative = "two-sided",
) -> PairedTest:
    """Test whether a mean difference is more than chance, by flipping signs.

    Parameters
    ----------
    differences
        Candidate minus reference, one a query, shape (n,).
    clusters
        One label a query; the signs of one label flip together. A label of None is a cluster alone.
    permutations
        How many assignments of signs are drawn where there are too many to count, 1 or more.
    seed
        The same seed gives the same answer, for any order of the queries and number of threads.
    alternative
        "two-sided", "greater" (the candidate is better than chance) or "less".

    Returns
    -------
    PairedTest; `p` in (0, 1]. A single query (or cluster) has none.

    Raises
    ------
    InputError
        Where there is no query, a difference is no finite number, or an option is impossible.

    Notes
    -----
    If the systems do not differ, each query's difference could as well have the other sign. p is
    the share of the 2**n assignments of signs whose sum is as far from 0 as the one seen, sums
    that are equal but for rounding included. Differences of 0 change nothing and are left out. Up
    to 16 others all assignments are counted; beyond, b of N drawn ones are as far, and
    ``p = (b + 1)/(N + 1)``, which is never 0.

    References
    ----------
    Fisher, The Design of Experiments, 1935, section 21; Smucker, Allan and Carterette, A comparison
    of statistical significance tests for information retrieval evaluation, CIKM 2007; the 1 in
    numerator and denominator: Phipson and Smyth, SAGMB 9(1), 2010.

    Examples
    --------
    Of the 8 assignments to 1, 2 and 3 only +++ and --- reach 6:

    >>> randomization_test(np.array([1.0, 2.0, 3.0])).p
    0.25
    """
    return randomization_tests(
        differences[:, None],
        clusters=clusters,
        permutations=permutations,
        seed=seed,
        alternative=alternative,
    )[0]


def randomization_tests(
    table: Floats,
    *,
    clusters: Sequence[object] | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    alternative: Alternative = "two-sided",
) -> list[PairedTest]:
    """Test each column of differences, shape (n, k); see `randomization_test`.

    All columns share the drawn signs, and each gets what it would get alone.
    """
    check_alternative(alternative)
    if permutations < 1:
        raise InputError(f"{permutations} permutations cannot be drawn", fix="ask for 1 or more")
    check_seed(seed)
    units = units_of(table, clusters)
    cases = [_Case(column, alternative) for column in units.T]
    drawn = [case for case in cases if case.n > 1 and len(case.sizes) > EXACT_UNITS]
    counts = _count_drawn(drawn, permutations, seed) if drawn else []
    for case, beyond in zip(drawn, counts, strict=True):
        case.p = (beyond + 1) / (permutations + 1)
    return [alone("randomization", table) if case.n == 1 else case.result() for case in cases]


class _Case:
    """One column: its sum, and the sizes of its differences, the greatest first.

    The order in which the queries came is gone: signs are drawn for places, not for queries.
    """

    def __init__(self, column: Floats, alternative: Alternative) -> None:
        self.n, self.alternative = len(column), alternative
        sizes = np.sort(np.abs(column))[::-1]
        self.close = _CLOSE * float(sizes.sum())
        self.sizes = sizes[sizes > 0]
        self.seen = float(np.sort(column).sum())
        self.p: float | None = None

    def beyond(self, sums: Floats) -> int:
        """Count the sums that are as far as the one seen."""
        if self.alternative == "two-sided":
            return int(np.count_nonzero(np.abs(sums) >= abs(self.seen) - self.close))
        far = self.seen if self.alternative == "greater" else -self.seen
        return int(np.count_nonzero(sums >= far - self.close))  # signed sums are symmetric

    def result(self) -> PairedTest:
        """Return what was found, counting all signs where that is possible."""
        if self.p is not None:
            return PairedTest("randomization", self.p, self.n, False)
        p = self.beyond(_all_sums(self.sizes)) / 2 ** len(self.sizes)
        return PairedTest("randomization", p, self.n, True, self._note())

    def _note(self) -> str | None:
        n = len(self.sizes)
        least = (2 if self.alternative == "two-sided" else 1) / 2**n
        if n == 0:
            return "no query differs"
        if least <= 0.05:
            return None
        differ = "differs" if n == 1 else "differ"
        return f"only {n} {differ}, and with so few p cannot be less than {least:g}"


def _all_sums(sizes: Floats) -> Floats:
    """Return the sum under every assignment of signs, shape (2**n,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _count_drawn(cases: list[_Case], permutations: int, seed: int) -> list[int]:
    """Count for each case the drawn assignments that are as far as the one seen."""
    parts = [min(ROWS, permutations - start) for start in range(0, permutations, ROWS)]
    streams = np.random.SeedSequence(seed).spawn(len(parts))
    blocks = [cases[start : start + COLUMNS] for start in range(0, len(cases), COLUMNS)]
    sizes = [_in_eights(block) for block in blocks]

    def work(rows: int, stream: np.random.SeedSequence) -> list[int]:
        counts = []
        for block, padded in zip(blocks, sizes, strict=True):
            sums = _signed_sums(padded, np.random.SFC64(stream))[:rows]  # each time the same signs
            counts += [case.beyond(sums[:, i]) for i, case in enumerate(block)]
        return counts

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(THREADS) as workers:
        counts = list(workers.map(work, parts, streams))
    return [sum(column) for column in zip(*counts, strict=True)]


def _in_eights(cases: list[_Case]) -> Floats:
    """Return the sizes of cases in eights, shape (groups, 8, k), zeros where there is none."""
    groups = -(-max(len(case.sizes) for case in cases) // 8)
    padded = np.zeros((groups * 8, len(cases)))
    for i, case in enumerate(cases):
        padded[: len(case.sizes), i] = case.sizes
    return padded.reshape(groups, 8, len(cases))


def _signed_sums(padded: Floats, stream: np.random.BitGenerator) -> Floats:
    """Return sums under drawn signs, shape (ROWS, k).

    A byte holds the signs of eight places, and looks up their signed sum among all 256 there are.
    The sign of a place depends on the seed alone, not on what else is tested.
    """
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    signs = 2.0 * bits - 1.0
    sums = np.zeros((ROWS, padded.shape[2]))
    for eight in padded:
        words = np.asarray(stream.random_raw(ROWS // 8), np.uint64)
        sums += (signs @ eight).take(words.astype("<u8", copy=False).view(np.uint8), axis=0)
    return sums
