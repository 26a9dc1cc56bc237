from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.retrieval.fusion import reciprocal_rank_fusion

rankings = st.lists(st.lists(st.integers(0, 9), unique=True), max_size=4)


def test_two_rankings_by_hand() -> None:
    rows, scores = reciprocal_rank_fusion([[3, 1], np.array([1, 2])])
    assert rows.tolist() == [1, 2, 3]
    # row 1: 1/62 + 1/61, row 2: 1/62, row 3: 1/61
    assert scores == pytest.approx([123 / 3782, 1 / 62, 1 / 61], rel=1e-15)


def test_mirrored_ranks_tie_exactly() -> None:
    # rows 0 and 2 have ranks (1, 3) and (3, 1); with a third arm the order of adding matters too
    plain = reciprocal_rank_fusion([[0, 1, 2], [2, 1, 0], [7, 8, 0, 9, 2]], k=60)
    mirrored = reciprocal_rank_fusion([[7, 8, 0, 9, 2], [0, 1, 2], [2, 1, 0]], k=60)
    assert plain.scores.tobytes() == mirrored.scores.tobytes()
    tied = reciprocal_rank_fusion([[0, 1, 2], [2, 1, 0]])
    assert tied.scores[0] == tied.scores[2]


@given(rankings, st.randoms(use_true_random=False))
def test_the_order_of_the_arms_changes_no_bit(arms: list[list[int]], random: object) -> None:
    shuffled = list(arms)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = reciprocal_rank_fusion(arms), reciprocal_rank_fusion(shuffled)
    assert one.rows.tolist() == other.rows.tolist()
    assert one.scores.tobytes() == other.scores.tobytes()


@given(rankings, st.integers(0, 100))
def test_scores_are_the_exact_sums(arms: list[list[int]], k: int) -> None:
    rows, scores = reciprocal_rank_fusion(arms, k)
    assert rows.tolist() == sorted(set().union(*arms))
    for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
        exact = sum(Fraction(1, k + 1 + arm.index(row)) for arm in arms if row in arm)
        assert score == pytest.approx(float(exact), rel=1e-15)


def test_absent_rankings_contribute_nothing() -> None:
    alone = reciprocal_rank_fusion([[4, 5]])
    beside = reciprocal_rank_fusion([[], [4, 5], np.empty(0, np.int64)])
    assert alone.scores.tolist() == beside.scores.tolist() == [1 / 61, 1 / 62]
    assert reciprocal_rank_fusion([]).rows.tolist() == []
    assert reciprocal_rank_fusion([[]]).scores.tolist() == []


def test_a_row_that_occurs_twice_counts_at_its_first_place() -> None:
    rows, scores = reciprocal_rank_fusion([[5, 5, 6]], k=0)
    assert rows.tolist() == [5, 6]
    assert scores.tolist() == [1, 1 / 3]


@pytest.mark.parametrize("k", [-1, float("inf"), float("nan")])
def test_an_impossible_constant_is_told(k: float) -> None:
    with pytest.raises(InputError, match="reciprocal rank fusion"):
        reciprocal_rank_fusion([[1]], k=k)
