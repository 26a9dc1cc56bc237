"""Intervals of differences: what sets them apart from those of values."""

import numpy as np
import pytest

from searchmark.stats.bootstrap import mean_interval
from searchmark.stats.differences import difference_intervals

WON_ONCE = np.array([1.0] + [0.0] * 19)


def test_a_difference_of_0s_and_1s_is_no_share():
    # one query of twenty won: Wilson's interval would begin above 0, as if none could be lost
    assert mean_interval(WON_ONCE).method == "wilson"
    found = difference_intervals(WON_ONCE[:, None])[0]
    assert found.method == "bca"
    assert found.low == 0.0
    assert found.high == pytest.approx(0.25, abs=1e-3)  # SciPy's bootstrap says the same


def test_a_mirrored_difference_has_the_mirrored_interval():
    d = np.round(np.random.default_rng(1).exponential(0.2, 40) - 0.1, 3)
    here, there = difference_intervals(np.column_stack([d, -d]))
    assert (here.low, here.high) == pytest.approx((-there.high, -there.low), abs=1e-3)


def test_each_column_is_as_alone():
    table = np.column_stack([WON_ONCE, -WON_ONCE, 0 * WON_ONCE, WON_ONCE - 0.3])
    assert difference_intervals(table) == [difference_intervals(c[:, None])[0] for c in table.T]


def test_where_none_differs_there_is_no_interval():
    found = difference_intervals(np.zeros((30, 1)))[0]
    assert (found.low, found.high, found.method) == (None, None, "none")
    assert found.note == "none of the 30 differs; resampling cannot tell how sure that is"


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_one_query(value):
    assert difference_intervals(np.array([[value]]))[0].note == "one query tells nothing of others"


def test_clusters_widen_it():
    d = np.repeat(np.random.default_rng(3).normal(0, 1, 20), 5)[:, None]
    plain = difference_intervals(d)[0]
    whole = difference_intervals(d, [i // 5 for i in range(100)])[0]
    assert whole.n_clusters == 20
    # five equal queries a cluster: the standard error is sqrt(5) times as large
    assert whole.half_width / plain.half_width == pytest.approx(5**0.5, rel=0.15)
