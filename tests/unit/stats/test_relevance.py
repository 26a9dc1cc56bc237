import pytest

from searchmark.stats.relevance import binary_agreement

# relevant for both 3, for the first only 1, for the second only 2, for neither 4
FIRST = [2, 1, 1, 3, 0, 0, 0, 0, 0, -1]
SECOND = [1, 2, 1, 0, 1, 1, 0, 0, 0, 0]


def test_the_four_numbers():
    found = binary_agreement(FIRST, SECOND)
    assert found.share.value == pytest.approx(7 / 10)
    assert found.positive.value == pytest.approx(6 / 9)
    assert found.negative.value == pytest.approx(8 / 11)
    assert found.overlap.value == pytest.approx(3 / 6)


def test_rel_moves_the_line():
    # of grade 2 or more: the first judge's items 1 and 4, the second's item 2
    found = binary_agreement(FIRST, SECOND, rel=2)
    assert found.share.value == pytest.approx(7 / 10)
    assert found.overlap.value == 0.0


def test_shares_of_items_have_wilsons_interval():
    # 7 of 10, z = 1.96: (0.7 + 0.19207 +- 1.96 sqrt(0.021 + 0.0096036)) / 1.38415
    found = binary_agreement(FIRST, SECOND)
    assert found.share.low == pytest.approx(0.3968, abs=1e-4)
    assert found.share.high == pytest.approx(0.8922, abs=1e-4)
    # 3 of 6: (0.5 + 0.32012 +- 1.96 sqrt(0.041667 + 0.026677)) / 1.64024
    assert found.overlap.low == pytest.approx(0.1876, abs=1e-4)
    assert found.overlap.high == pytest.approx(0.8124, abs=1e-4)


def test_intervals_hold_the_value():
    found = binary_agreement(FIRST * 5, SECOND * 5)
    for number in (found.share, found.positive, found.negative, found.overlap):
        assert number.low < number.value < number.high


def test_judges_who_agree_on_all_still_have_an_interval_of_the_share():
    # 20 of 20: 1 - z^2/(n + z^2) = 1/(1 + 3.8415/20)
    found = binary_agreement([1, 0] * 10, [1, 0] * 10)
    assert found.share.low == pytest.approx(20 / 23.8415, abs=1e-4)
    assert found.share.high == 1.0
    assert (found.positive.value, found.positive.low) == (1.0, None)


def test_with_clusters_the_share_is_resampled():
    alone = binary_agreement(FIRST * 5, SECOND * 5).share
    clusters = [item % 10 for item in range(50)]  # the same item five times
    found = binary_agreement(FIRST * 5, SECOND * 5, clusters=clusters).share
    assert found.high - found.low > 1.7 * (alone.high - alone.low)


def test_nothing_relevant():
    found = binary_agreement([0, 0, 0], [0, 0, 0])
    assert found.share.value == 1.0
    assert found.positive.value is None
    assert found.positive.note == "no item is relevant for either judge"
    assert found.overlap.value is None
    assert found.negative.value == 1.0


def test_everything_relevant():
    found = binary_agreement([1, 1], [2, 1])
    assert found.negative.note == "every item is relevant for both judges"


def test_no_items():
    assert binary_agreement([], []).share.note == "no item was rated by two judges"
