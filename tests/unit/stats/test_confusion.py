import pytest

from searchmark.stats.confusion import confusion

FIRST = [0, 0, 0, 0, 1, 1, 3]
SECOND = [0, 0, 0, 1, 1, 2, 3]


def test_counts_and_shares():
    found = confusion(FIRST, SECOND)
    assert found.grades == (0, 1, 2, 3)
    assert found.counts == ((3, 1, 0, 0), (0, 1, 1, 0), (0, 0, 0, 0), (0, 0, 0, 1))
    assert [share.value for share in found.shares[0]] == [0.75, 0.25, 0.0, 0.0]


def test_shares_have_wilsons_interval():
    # 1 of 2, z = 1.96: (0.5 + 0.96036 +- 1.96 sqrt(0.125 + 0.240091)) / 2.92073
    share = confusion(FIRST, SECOND).shares[1][2]
    assert share.low == pytest.approx(0.0945, abs=1e-4)
    assert share.high == pytest.approx(0.9055, abs=1e-4)


def test_a_grade_the_first_judge_never_gave():
    shares = confusion(FIRST, SECOND).shares[2]
    assert {share.value for share in shares} == {None}
    assert shares[0].note == "the first judge gave no item grade 2"


def test_with_clusters_shares_are_resampled():
    clusters = [item // 7 for item in range(70)]
    found = confusion(FIRST * 10, SECOND * 10, clusters=clusters).shares[0][0]
    # every cluster is alike, so that their resamples are too
    assert found.value == 0.75
    assert (found.low, found.high) == (None, None)
    assert found.note == "the same in every resample of 10 clusters, so no interval can be drawn"


def test_the_order_of_the_items_changes_nothing():
    turned = confusion(FIRST[::-1], SECOND[::-1])
    assert turned == confusion(FIRST, SECOND)


def test_no_items():
    found = confusion([], [])
    assert (found.grades, found.counts, found.shares) == ((), (), ())
