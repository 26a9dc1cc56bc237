"""The sign test against tosses of a coin."""

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats import sign
from searchmark.stats.sign import sign_test


def test_three_wins_of_four():
    # of 16 tosses 4 show three heads and 1 four; 1 + 4 + 6 + 4 show three or fewer
    d = np.array([0.1, 0.0, 0.3, -0.1, 0.2])
    found = sign_test(d)
    assert (found.p, found.n, found.is_exact) == (10 / 16, 4, True)
    assert sign_test(d, alternative="greater").p == 5 / 16
    assert sign_test(d, alternative="less").p == 15 / 16
    assert sign_test(-d, alternative="less").p == 5 / 16


def test_as_many_wins_as_losses():
    assert sign_test(np.array([1.0, -1.0, 2.0, -2.0])).p == 1.0


def test_all_lost():
    assert sign_test(-np.ones(5), alternative="greater").p == 1.0
    assert sign_test(-np.ones(5), alternative="less").p == 1 / 32


def test_clusters_win_by_their_sums():
    # a: 0.1 - 0.3, b: 0.4, c: 0.2
    found = sign_test(np.array([0.1, -0.3, 0.4, 0.2]), clusters=["a", "a", "b", "c"])
    assert (found.p, found.n) == (1.0, 3)


@pytest.mark.parametrize("wins", [600, 640, 1000])
def test_many_queries_say_the_same_by_the_beta_function(monkeypatch, wins):
    d = np.r_[np.ones(wins), -np.ones(1000 - wins)]
    counted = sign_test(d).p
    monkeypatch.setattr(sign, "_COUNTED", 0)
    assert sign_test(d).p == pytest.approx(counted, rel=1e-9)


def test_nothing_differs_and_one_query():
    assert sign_test(np.zeros(20)).p == 1.0
    assert sign_test(np.array([1.0])).p is None


@pytest.mark.parametrize(("values", "option"), [([np.nan, 1.0], "less"), ([1.0, 2.0], "more")])
def test_what_cannot_be_is_said(values, option):
    with pytest.raises(InputError):
        sign_test(np.array(values), alternative=option)
