"""The paired randomization test: how often chance alone tells two systems apart like this."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.stats.paired import Alternative, Floats, PairedTest, check_alternative, units_of

PERMUTATIONS = 100_000
EXACT_UNITS = 16
"""Up to so many differing queries all 2**n assignments of signs are counted."""

ROWS = 8192
"""Permutations made at a time; a multiple of 8, and part of what a seed means."""

BYTE_TABLE_COLUMNS = 40
"""Up to so many columns a look-up of eight signs at once is quicker than a matrix product."""

PRODUCT_GROUPS = 32
"""Eights of signs that are unpacked at a time for a matrix product."""

THREADS = 2
_CLOSE = 1e-10


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
    units = units_of(table, clusters)
    cases = [_Case(column, alternative) for column in units.T]
    drawn = [case for case in cases if case.n > 1 and len(case.sizes) > EXACT_UNITS]
    for case, beyond in zip(drawn, _count_drawn(drawn, permutations, seed), strict=True):
        case.p = (beyond + 1) / (permutations + 1)
    return [case.result() for case in cases]


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
        if self.n == 1:
            return PairedTest("randomization", None, 1, True, "one query tells nothing of others")
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
        return f"only {n} differ, and with so few p cannot be less than {least:g}"


def _all_sums(sizes: Floats) -> Floats:
    """Return the sum under every assignment of signs, shape (2**n,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _count_drawn(cases: list[_Case], permutations: int, seed: int) -> list[int]:
    """Count for each case the drawn assignments that are as far as the one seen."""
    if not cases:
        return []
    parts = [min(ROWS, permutations - start) for start in range(0, permutations, ROWS)]
    streams = np.random.SeedSequence(seed).spawn(len(parts))
    padded = _padded(cases)
    # a matrix product brings its own threads, and two layers of them wait for each other
    few = len(cases) <= BYTE_TABLE_COLUMNS
    make, threads = (_by_tables, THREADS) if few else (_by_product, 1)

    def work(rows: int, stream: np.random.SeedSequence) -> list[int]:
        sums = make(padded, np.random.SFC64(stream))[:rows]
        return [case.beyond(sums[:, i]) for i, case in enumerate(cases)]

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as workers:
        counts = list(workers.map(work, parts, streams))
    return [sum(column) for column in zip(*counts, strict=True)]


def _padded(cases: list[_Case]) -> Floats:
    """Return the sizes of all cases in eights, shape (groups, 8, k), zeros where there is none."""
    groups = -(-max(len(case.sizes) for case in cases) // 8)
    padded = np.zeros((groups * 8, len(cases)))
    for i, case in enumerate(cases):
        padded[: len(case.sizes), i] = case.sizes
    return padded.reshape(groups, 8, len(cases))


def _draw(stream: np.random.BitGenerator, groups: int = 1) -> NDArray[np.uint8]:
    """Return eight signs for each of `ROWS` permutations, as bits of a byte, shape (groups, ROWS).

    The sign of a place in a permutation depends on the seed alone, not on what else is tested.
    """
    words = np.asarray(stream.random_raw(groups * ROWS // 8), np.uint64)
    return words.astype("<u8", copy=False).view(np.uint8).reshape(groups, ROWS)


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)


def _by_tables(padded: Floats, stream: np.random.BitGenerator) -> Floats:
    """Return signed sums, shape (ROWS, k): a byte looks up the sum of eight signed sizes."""
    signs = _BITS * 2.0 - 1.0
    sums = np.zeros((ROWS, padded.shape[2]))
    for group in padded:
        sums += (signs @ group).take(_draw(stream)[0], axis=0)
    return sums


def _by_product(padded: Floats, stream: np.random.BitGenerator) -> Floats:
    """Return what `_by_tables` does, from products with the bits: the cost is in unpacking them."""
    sums = np.zeros((padded.shape[2], ROWS))
    for start in range(0, len(padded), PRODUCT_GROUPS):
        some = padded[start : start + PRODUCT_GROUPS]
        bits = np.unpackbits(_draw(stream, len(some))[:, None], axis=1).reshape(-1, ROWS)
        sums += some.reshape(len(bits), -1).T @ bits.astype(np.float64)
    signed: Floats = 2.0 * sums.T - padded.sum(axis=(0, 1))
    return signed
