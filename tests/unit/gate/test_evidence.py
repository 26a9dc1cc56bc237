import numpy as np
import pytest

from searchmark.gate.evidence import pair, smallest_loss, weigh
from searchmark.gate.verdict import least_caught

FALLEN = {"q1": 0.1, "q2": 0.2, "q3": 0.3, "q4": 0.4, "q5": 0.5}
ZERO = dict.fromkeys(FALLEN, 0.0)


def test_pairs_are_of_queries_with_both_values_in_the_order_of_their_ids() -> None:
    found = pair({"b": 0.1, "a": 0.5, "c": 0.9}, {"a": 0.7, "b": 0.0, "d": 1.0})
    assert found.gains == pytest.approx([0.2, -0.1])
    assert pair({"a": 0.5}, {"a": 0.7}, within={"b"}).gains.size == 0


def test_a_gain_is_a_fall_where_lower_is_better() -> None:
    assert pair({"a": 0.5}, {"a": 0.7}, higher_is_better=False).gains == pytest.approx([-0.2])


def test_a_geometric_mean_gains_in_the_logarithm_and_zero_counts_as_its_floor() -> None:
    found = pair({"a": 0.0, "b": 0.5}, {"a": 1e-5, "b": 1.0}, aggregate="geometric")
    assert found.gains == pytest.approx([0.0, np.log(2)])


def test_the_spread_is_of_clusters_less_what_so_many_queries_gain() -> None:
    # gains 0.1 .. 0.5, mean 0.3; x holds q1 and q2: 0.3 - 0.6; y holds q5: 0.5 - 0.3; q3 and q4
    # 0 and 0.1: squares 0.09, 0.04, 0 and 0.01, over 3; four units for five queries
    found = pair(ZERO, FALLEN, clusters={"q1": "x", "q2": "x", "q5": "y"})
    assert found.spread.deviation == pytest.approx((0.14 / 3) ** 0.5 * 4 / 5)
    assert found.spread.n_units == 4


def test_the_p_value_of_five_that_fall_is_one_in_32() -> None:
    (found,) = weigh([pair(FALLEN, ZERO)], 0.05)
    assert found.p == pytest.approx(1 / 32)
    assert found.p_adjusted == pytest.approx(1 / 32)
    (risen,) = weigh([pair(ZERO, FALLEN)], 0.05)
    assert risen.p == 1.0


def test_signs_of_a_cluster_flip_together() -> None:
    clusters = {"q1": "x", "q2": "x", "q3": "x"}
    (found,) = weigh([pair(FALLEN, ZERO, clusters=clusters)], 0.05)
    assert (found.n_queries, found.n_units) == (5, 3)
    assert found.p == pytest.approx(1 / 8)
    assert found.n_needed == 5  # 1/32 is the first that is not above 0.05
    assert found.detectable is None


def test_more_clustered_queries_show_less() -> None:
    rng = np.random.default_rng(1)
    shared = np.repeat(rng.normal(0, 0.1, 30), 4)
    ids = [f"q{i:03}" for i in range(120)]
    before = dict(zip(ids, np.full(120, 0.5), strict=True))
    after = dict(zip(ids, 0.5 + shared, strict=True))
    clusters = {q: f"c{i // 4}" for i, q in enumerate(ids)}
    alone = smallest_loss(pair(before, after), 0.05)
    together = smallest_loss(pair(before, after, clusters=clusters), 0.05)
    assert alone is not None
    assert together is not None
    # four copies of a query tell no more than one: the error is twice as large
    assert together / alone == pytest.approx(2.0, rel=0.05)


def test_the_smallest_loss_is_two_and_a_half_errors_of_the_mean() -> None:
    # gains of +-0.1: sd 0.1 x sqrt(400/399), error 0.005; z(0.95) + z(0.8) = 1.645 + 0.842
    ids = [f"q{i:03}" for i in range(400)]
    before = dict.fromkeys(ids, 0.5)
    after = {q: 0.5 + 0.1 * (-1) ** i for i, q in enumerate(ids)}
    assert smallest_loss(pair(before, after), 0.05) == pytest.approx(0.01243, rel=0.01)


def test_the_loss_of_pairs_is_in_the_unit_of_the_measure() -> None:
    before, after = {"a": 0.1, "b": 0.4, "c": 1.0}, {"a": 0.05, "b": 0.2, "d": 1.0}
    # a and b: means 0.25 and 0.125, sums 0.5 and 0.25, geometric means 0.2 and 0.1
    for how, loss in (("mean", 0.125), ("sum", 0.25), ("geometric", 0.1)):
        found = pair(before, after, aggregate=how)  # type: ignore[arg-type]
        assert found.loss == pytest.approx(loss)
        assert found.n_alone == 2
        turned = pair(before, after, aggregate=how, higher_is_better=False)  # type: ignore[arg-type]
        assert turned.loss == pytest.approx(-loss)
    assert pair(before, after, within={"a", "c"}).n_alone == 1
    assert pair({}, {"d": 1.0}).loss == 0.0


def test_what_is_caught_is_significant_and_beyond_the_limit() -> None:
    # 0.84 errors of 0.01 above a limit of 0.02; under a detectable 0.03, above one of 0.025
    assert least_caught(0.02, 0.03, 0.01) == 0.03
    assert least_caught(0.02, 0.025, 0.01) == pytest.approx(0.0284, abs=1e-4)
    assert least_caught(0.02, None, 0.01) == pytest.approx(0.0284, abs=1e-4)
    assert least_caught(None, 0.03, 0.01) is None
    assert least_caught(0.02, None, None) is None


def test_a_sum_is_weighed_as_a_sum() -> None:
    ids = [f"q{i:03}" for i in range(100)]
    before = dict.fromkeys(ids, 5.0)
    after = {q: 5.0 + (i % 3 - 1) for i, q in enumerate(ids)}
    (one,), (many,) = (weigh([pair(before, after, aggregate=a)], 0.05) for a in ("mean", "sum"))
    assert one.low is not None
    assert one.detectable is not None
    assert many.low == pytest.approx(100 * one.low)
    assert many.detectable == pytest.approx(100 * one.detectable)
    assert many.p == one.p


def test_a_geometric_mean_is_tested_and_has_no_interval() -> None:
    (found,) = weigh([pair(FALLEN, dict.fromkeys(FALLEN, 0.05), aggregate="geometric")], 0.05)
    assert found.p == pytest.approx(1 / 32)
    assert (found.low, found.detectable) == (None, None)


def test_too_few_that_moved_say_nothing_of_another_change() -> None:
    ids = [f"q{i:03}" for i in range(100)]
    before = dict.fromkeys(ids, 0.5)
    nine = {q: 0.5 + (0.1 if i < 9 else 0.0) for i, q in enumerate(ids)}
    ten = {q: 0.5 + (0.1 if i < 10 else 0.0) for i, q in enumerate(ids)}
    assert smallest_loss(pair(before, nine), 0.05) is None
    assert smallest_loss(pair(before, ten), 0.05) is not None


def test_gains_of_none_and_all_are_bounded_as_losses_are() -> None:
    ids = [f"q{i:02}" for i in range(20)]
    before = dict.fromkeys(ids, 0.0)
    after = {q: float(i < 5) for i, q in enumerate(ids)}
    (up,), (down,) = weigh([pair(before, after)], None), weigh([pair(after, before)], None)
    assert up.low is not None
    assert down.high is not None
    assert up.low == pytest.approx(-down.high)
    assert 0 < up.low < 0.25
    (still,) = weigh([pair(before, before)], None)
    assert (still.low, still.high) == (None, None)


def test_nothing_to_pair_is_no_evidence() -> None:
    (found,) = weigh([pair({}, {})], 0.05)
    assert (found.n_queries, found.p, found.low, found.detectable) == (0, None, None, None)


def test_the_order_of_the_queries_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    values = {f"q{i}": float(x) for i, x in enumerate(rng.random(40))}
    turned = dict(reversed(values.items()))
    before = dict.fromkeys(values, 0.55)
    assert weigh([pair(before, values)], 0.05) == weigh([pair(before, turned)], 0.05)
