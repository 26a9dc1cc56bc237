"""When a job that failed is due again: longer each time, never for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("psycopg_pool")

from searchmark.retrieval.postgres.queue import ERROR_CHARACTERS, Patience, short

seconds = st.floats(min_value=1e-3, max_value=1e6)


def test_the_stated_times() -> None:
    # 5 x 2, 5 x 4, ... 5 x 64 = 320; 5 x 128 = 640 is more than ten minutes
    assert [Patience().backoff_s(n) for n in range(1, 9)] == [10, 20, 40, 80, 160, 320, 600, 600]
    assert Patience().attempts == 5


@given(first=seconds, longest=seconds, attempts=st.integers(min_value=0, max_value=2**31 - 1))
def test_it_doubles_until_the_longest(first: float, longest: float, attempts: int) -> None:
    patience = Patience(first, longest)
    now, after = patience.backoff_s(attempts), patience.backoff_s(attempts + 1)
    assert 0 < now <= after <= longest
    assert after == min(2 * now, longest)
    assert patience.backoff_s(0) == min(first, longest)


@given(st.text())
def test_any_error_can_be_kept(text: str) -> None:
    kept = short(text)
    assert len(kept) <= ERROR_CHARACTERS
    assert not {"\n", "\0"} & set(kept)
    assert kept.encode().decode() == kept


@given(st.text(alphabet="\ud800\udfff\0\n x", min_size=400, max_size=900))
def test_long_errors_of_strange_characters_can_be_kept(text: str) -> None:
    test_any_error_can_be_kept.hypothesis.inner_test(text)  # type: ignore[attr-defined]
