"""Judged pairs found by their hashes, also where slots are shared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.data.lookup import build

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), unique=True, max_size=60)


def digests(values: list[int], low: int) -> np.ndarray:
    """Return hashes that differ in their high bits, and in their low ones modulo `low` only."""
    return np.array([(v << 40) | (v % low) for v in values], np.uint64)


@given(PAIRS, PAIRS, st.sampled_from([1, 3, 64]))
def test_candidates_are_the_pairs_that_are_judged(
    judged: list[tuple[int, int]], asked: list[tuple[int, int]], low: int
) -> None:
    judged = sorted(judged)
    code = np.array([c for c, _ in judged], np.int64)
    lookup = build(code, digests([v for _, v in judged], low), 4)
    if not judged:
        assert lookup is None
        return
    assert lookup is not None
    rows = [*asked, (4, 7)]  # code 4: a query that is not judged
    position, row = lookup.candidates(
        np.array([c for c, _ in rows], np.int64), digests([v for _, v in rows], low)
    )
    expected = [(i, judged.index(pair)) for i, pair in enumerate(rows) if pair in judged]
    assert list(zip(position.tolist(), row.tolist(), strict=True)) == expected


@pytest.mark.parametrize("n", [253, 254, 255, 256, 700])
def test_a_query_with_more_judgments_than_a_slot_can_number(n: int) -> None:
    digest = np.random.default_rng(n).integers(0, 2**63, n).astype(np.uint64)
    lookup = build(np.zeros(n, np.int64), digest, 1)
    assert lookup is not None
    position, row = lookup.candidates(np.zeros(n, np.int64), digest)
    assert position.tolist() == row.tolist() == list(range(n))
