"""Corrections worked by hand, and what always holds of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.stats.correction import CORRECTIONS, benjamini_hochberg, holm, uncorrected

P = [0.04, 0.001, None, 0.03, 0.5]


def test_holm():
    # from the least: 4 * 0.001, 3 * 0.03, then 2 * 0.04 = 0.08 raised to 0.09, 1 * 0.5
    assert holm(P) == pytest.approx([0.09, 0.004, None, 0.09, 0.5])


def test_benjamini_hochberg():
    # 4/4 * 0.5; 4/3 * 0.04 = 0.0533; 4/2 * 0.03 = 0.06 held down to 0.0533; 4/1 * 0.001
    assert benjamini_hochberg(P) == pytest.approx([0.16 / 3, 0.004, None, 0.16 / 3, 0.5])


def test_uncorrected():
    assert uncorrected(P) == P


def test_no_more_than_1():
    assert holm([0.6, 0.7]) == [1.0, 1.0]


@pytest.mark.parametrize("correct", CORRECTIONS.values())
def test_nothing_to_correct(correct):
    assert correct([]) == []
    assert correct([None, None]) == [None, None]
    assert correct([0.03, None]) == [0.03, None]


@pytest.mark.parametrize("correct", CORRECTIONS.values())
@pytest.mark.parametrize("wrong", [float("nan"), -0.1, 1.1])
def test_what_is_no_p_value(correct, wrong):
    with pytest.raises(InputError, match="no number from 0 to 1"):
        correct([0.1, wrong])


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20), st.randoms())
def test_what_always_holds(p, random):
    strict, mild = holm(p), benjamini_hochberg(p)
    for raw, one, other in zip(p, strict, mild, strict=True):
        if raw is None:
            assert one is None
            assert other is None
        else:
            assert raw <= other * (1 + 1e-12)
            assert other <= one * (1 + 1e-12) <= 1 + 1e-11
    by = list(range(len(p)))
    random.shuffle(by)
    assert holm([p[i] for i in by]) == [strict[i] for i in by]
    assert benjamini_hochberg([p[i] for i in by]) == [mild[i] for i in by]
