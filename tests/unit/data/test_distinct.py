"""Keys that occur twice: found whatever shares their slots."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from searchmark.data.distinct import repeated


def test_different_keys_have_no_repetition() -> None:
    assert repeated(np.arange(1000, dtype=np.uint64)).tolist() == []
    assert repeated(np.zeros(0, np.uint64)).tolist() == []


def test_one_pair_among_strangers_of_its_slot() -> None:
    # all share the low 40 bits, so that every round has one winner and only losers else
    strangers = (np.arange(20, dtype=np.uint64) << np.uint64(40)) | np.uint64(5)
    key = np.concatenate([strangers, strangers[3:4]])
    assert set(repeated(key).tolist()) == {int(strangers[3])}


@given(st.lists(st.integers(0, 12).map(lambda x: x << 40 | x % 3), max_size=40))
def test_the_repeated_keys_are_those_that_counting_finds(keys: list[int]) -> None:
    found = repeated(np.array(keys, np.uint64))
    assert set(found.tolist()) == {k for k in keys if keys.count(k) > 1}
