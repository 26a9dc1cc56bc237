import math
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.retrieval.ordering import Scored, priority, top


def places(doc_ids: list[str], *keys: list[object]) -> list[str]:
    """Return the ids in the order of their places."""
    return [doc_ids[i] for i in np.argsort(priority(doc_ids, *keys))]


def test_without_keys_the_last_id_comes_first() -> None:
    assert places(["d10", "d9", "d100"]) == ["d9", "d100", "d10"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
def test_ids_are_ordered_as_utf8_bytes(doc_ids: list[str]) -> None:
    assert places(doc_ids) == sorted(doc_ids, key=lambda d: d.encode(), reverse=True)


def test_the_first_key_decides_before_the_second_and_the_id_last() -> None:
    settled = [5, 9, 5, 5]
    updated = ["2026-01-02", "2020-01-01", "2026-03-01", "2026-01-02"]
    assert places(["a", "b", "c", "d"], settled, updated) == ["b", "c", "d", "a"]


@pytest.mark.parametrize("missing", [None, math.nan, ""])
def test_a_missing_value_comes_last(missing: object) -> None:
    assert places(["a", "b", "c"], [missing, -5, 0]) == ["c", "b", "a"]
    assert places(["a", "b"], [missing, missing]) == ["b", "a"]


def test_texts_that_are_numbers_are_numbers() -> None:
    assert places(["a", "b", "c"], ["9", "10", "1e3"]) == ["c", "b", "a"]
    assert places(["a", "b", "c"], ["9", "10", "x"]) == ["c", "a", "b"]  # one is none: as text


def test_dates_and_truth_values_order() -> None:
    assert places(["a", "b"], [date(2026, 2, 1), date(2026, 1, 1)]) == ["a", "b"]
    assert places(["a", "b"], [True, False]) == ["a", "b"]


def test_values_that_cannot_be_compared_are_told() -> None:
    with pytest.raises(InputError, match="order ties cannot be compared"):
        priority(["a", "b"], [1, "x"])
    with pytest.raises(InputError, match="order ties cannot be compared"):
        priority(["a", "b"], [["x"], ["y"]])


def test_no_documents() -> None:
    assert priority([]).tolist() == []


@given(
    st.lists(st.integers(0, 3), max_size=12).flatmap(
        lambda scores: st.tuples(
            st.just(scores), st.permutations(range(len(scores))), st.integers(-1, 14)
        )
    )
)
def test_top_is_the_head_of_the_full_order(case: tuple[list[int], list[int], int]) -> None:
    scores, order, k = case
    scored = Scored(np.arange(len(scores)), np.array(scores, np.float64))
    best = top(scored, np.array(order, np.int64), k)
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], order[i]))[: max(k, 0)]
    assert best.rows.tolist() == expected
    assert best.scores.tolist() == [scores[i] for i in expected]


def test_rows_and_places_are_of_the_whole_corpus() -> None:
    # rows 4 and 2 of a corpus of five tie; row 4 has the better place
    scored = Scored(np.array([2, 4]), np.array([1.0, 1.0]))
    assert top(scored, np.array([0, 1, 4, 2, 3]), 1).rows.tolist() == [4]
