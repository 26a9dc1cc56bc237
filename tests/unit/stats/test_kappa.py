import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.kappa import kappa
from searchmark.stats.patterns import Draws

# 10 items: (0,0) x 4, (0,1) x 1, (1,1) x 2, (1,2) x 1, (2,2) x 1, (2,0) x 1
FIRST = [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
SECOND = [0, 0, 0, 0, 1, 1, 1, 2, 2, 0]
# grades of the first 5, 3, 2; of the second 5, 3, 2


def test_plain():
    # alike 7/10; by chance (25 + 9 + 4)/100 = 0.38; (0.70 - 0.38)/(1 - 0.38)
    assert kappa(FIRST, SECOND).value == pytest.approx(0.32 / 0.62)


def test_linear():
    # apart (1 + 1 + 2)/10 = 0.4
    # by chance (2*5*3 * 1 + 2*3*2 * 1 + 2*5*2 * 2)/100 = (30 + 12 + 40)/100 = 0.82
    assert kappa(FIRST, SECOND, weights="linear").value == pytest.approx(1 - 0.4 / 0.82)


def test_quadratic():
    # apart (1 + 1 + 4)/10 = 0.6; by chance (30 + 12 + 80)/100 = 1.22
    assert kappa(FIRST, SECOND, weights="quadratic").value == pytest.approx(1 - 0.6 / 1.22)


def test_a_grade_that_nobody_gave_keeps_its_place():
    # grades 0, 1, 3: from 1 to 3 it is two steps. Apart 2/4;
    # each judge 1/4 zeros; first 1/2 ones, 1/4 threes; second 1/4 ones, 1/2 threes
    # by chance (0,1) 1/16 + (1,0) 2/16 + 3*((0,3) 2/16 + (3,0) 1/16) + 2*((1,3) 4/16 + (3,1) 1/16)
    found = kappa([0, 1, 1, 3], [0, 1, 3, 3], weights="linear")
    assert found.value == pytest.approx(1 - (2 / 4) / (3 / 16 + 9 / 16 + 10 / 16))


def test_less_than_chance_is_negative():
    # never alike, by chance 1/2
    assert kappa([0, 1], [1, 0]).value == -1.0


def test_one_and_the_same_grade_for_all_is_undefined():
    found = kappa([1, 1, 1], [1, 1, 1])
    assert (found.value, found.low, found.high, found.n_items) == (None, None, None, 3)
    assert found.note is not None
    assert "same grade" in found.note


def test_no_items():
    found = kappa([], [])
    assert (found.value, found.n_items, found.note) == (None, 0, "no item was rated by two judges")


def test_perfect_agreement_has_a_value_and_no_interval():
    found = kappa([0, 1, 2, 1], [0, 1, 2, 1])
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert found.note is not None
    assert "no interval" in found.note


def test_one_item_has_no_interval():
    found = kappa([0], [1])
    # alike never; by chance never either: 1 - 1/1
    assert (found.value, found.low) == (0.0, None)
    assert found.note == "one item only; an interval needs at least two"


def test_resamples_without_a_value_are_counted():
    # ten items, two of them differ from the rest: 0.8**10 = 11% of resamples hold neither
    found = kappa([0] * 8 + [1, 1], [0] * 8 + [1, 0])
    assert found.note is not None
    left_out = int(found.note.split(" of ")[0].replace(",", ""))
    assert left_out == pytest.approx(1074, abs=120)  # 10,000 * 0.107; 120 is 4 standard deviations


def judged(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, n)
    return first, np.where(rng.random(n) < 0.6, first, rng.integers(0, 4, n))


def test_the_interval_agrees_with_the_large_sample_formula():
    # Fleiss, Cohen and Everitt 1969 for the plain kappa
    first, second = judged(2000)
    table = np.zeros((4, 4))
    np.add.at(table, (first, second), 1 / 2000)
    row, column, seen = table.sum(axis=1), table.sum(axis=0), np.trace(table)
    chance = row @ column
    k = (seen - chance) / (1 - chance)
    both = row[None, :] + column[:, None]  # both[i, j] = row[j] + column[i]
    a = (np.diag(table) * (1 - np.diag(both) * (1 - k)) ** 2).sum()
    b = (1 - k) ** 2 * ((table - np.diag(np.diag(table))) * both**2).sum()
    variance = (a + b - (k - chance * (1 - k)) ** 2) / (2000 * (1 - chance) ** 2)
    found = kappa(first, second)
    assert found.low == pytest.approx(k - 1.96 * variance**0.5, abs=0.002)
    assert found.high == pytest.approx(k + 1.96 * variance**0.5, abs=0.002)


@pytest.mark.parametrize("clusters", [None, [item // 5 for item in range(400)]])
def test_the_order_of_the_items_changes_nothing(clusters):
    first, second = judged(400)
    by = np.random.default_rng(0).permutation(400)
    moved = None if clusters is None else [f"c{clusters[item]}" for item in by]
    assert kappa(first, second, clusters=clusters) == kappa(first[by], second[by], clusters=moved)


def test_the_seed_makes_the_draws():
    first, second = judged(100)
    one, again = (kappa(first, second, draws=Draws(seed=1)) for _ in range(2))
    assert one == again
    assert one.low != kappa(first, second, draws=Draws(seed=2)).low


def test_a_higher_level_is_wider():
    first, second = judged(100)
    wide, narrow = (kappa(first, second, draws=Draws(level=level)) for level in (0.99, 0.8))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_clusters_are_drawn_whole():
    # every item four times over: no more is known than from 100 items
    first, second = judged(100)
    single = kappa(first, second)
    four = [np.repeat(ratings, 4) for ratings in (first, second)]
    found = kappa(*four, clusters=np.repeat(np.arange(100), 4).tolist())
    assert (found.value, found.n_items) == (pytest.approx(single.value), 400)
    assert found.low == pytest.approx(single.low, abs=0.01)
    assert found.high == pytest.approx(single.high, abs=0.01)
    plain = kappa(*four)
    assert plain.high - plain.low < 0.6 * (found.high - found.low)


def test_clusters_of_one_item_are_items():
    first, second = judged(50)
    names = [None if item % 2 else str(item) for item in range(50)]
    assert kappa(first, second, clusters=names) == kappa(first, second)


def test_one_cluster_has_no_interval():
    found = kappa(FIRST, SECOND, clusters=["q"] * 10)
    assert found.low is None
    assert found.note == "one cluster only; an interval needs at least two"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 0], [1], "the first judge rated 2 items, the second 1"),
        ([1, None], [1, 0], "rating 2 of the first judge is nan"),
        ([1, 0], [1.5, 0], r"rating 1 of the second judge is 1\.5"),
        ([1, 0], [float("inf"), 0], "rating 1 of the second judge is inf"),
        ([[1, 0]], [[1, 0]], "2 dimensions"),
        (["good", "bad"], [1, 0], "not all numbers"),
    ],
)
def test_bad_ratings(first, second, message):
    with pytest.raises(InputError, match=message):
        kappa(first, second)


def test_bad_settings():
    with pytest.raises(InputError, match="weights=quadratc is unknown; did you mean 'quadratic'"):
        kappa([0], [0], weights="quadratc")
    with pytest.raises(InputError, match="1 clusters for 2 items"):
        kappa([0, 1], [0, 1], clusters=["a"])
    with pytest.raises(InputError, match="level=95 is no share"):
        Draws(level=95)
    with pytest.raises(InputError, match="resamples=10 is too few"):
        Draws(resamples=10)
    with pytest.raises(InputError, match="the seed cannot be -1"):
        Draws(seed=-1)
