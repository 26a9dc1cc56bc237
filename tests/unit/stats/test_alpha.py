import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats.alpha import krippendorff_alpha

X = None
# the example with missing values of Krippendorff 2011, section D; one row a judge
JUDGES = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
    [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
]
ITEMS = np.array(JUDGES, dtype=float).T


@pytest.mark.parametrize(
    ("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_published_example(scale, expected):
    found = krippendorff_alpha(ITEMS, scale=scale)
    assert round(found.value, 3) == expected
    assert found.n_items == 11  # the last one was rated once
    assert found.low < found.value < found.high


def by_definition(table, scale):
    """Krippendorff's coincidence matrix, written out."""
    units = [[v for v in row if not np.isnan(v)] for row in np.asarray(table, dtype=float)]
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({v for unit in units for v in unit})
    seen = {(c, k): 0.0 for c in values for k in values}
    for unit in units:
        for i, c in enumerate(unit):
            for j, k in enumerate(unit):
                if i != j:
                    seen[c, k] += 1 / (len(unit) - 1)
    of = {c: sum(seen[c, k] for k in values) for c in values}
    n = sum(of.values())

    def apart(c, k):
        if scale == "nominal":
            return float(c != k)
        if scale == "interval":
            return (c - k) ** 2
        between = [v for v in values if min(c, k) <= v <= max(c, k)]
        return (sum(of[v] for v in between) - (of[c] + of[k]) / 2) ** 2

    observed = sum(seen[c, k] * apart(c, k) for c in values for k in values)
    expected = sum(of[c] * of[k] * apart(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("n_judges", [2, 3, 5])
def test_as_the_definition_says(scale, n_judges):
    rng = np.random.default_rng(n_judges)
    table = (rng.integers(0, 4, (60, 1)) + rng.integers(0, 2, (60, n_judges))).astype(float)
    table[rng.random(table.shape) < 0.25] = np.nan
    found = krippendorff_alpha(table, scale=scale)
    assert found.value == pytest.approx(by_definition(table, scale), abs=1e-12)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_many_values_with_gaps_as_the_definition_says(scale):
    rng = np.random.default_rng(7)
    table = np.round(rng.normal(size=(30, 1)) + rng.normal(size=(30, 4)), 1)
    table[rng.random(table.shape) < 0.2] = np.nan
    found = krippendorff_alpha(table, scale=scale)
    assert found.value == pytest.approx(by_definition(table, scale), abs=1e-12)
    assert found.low < found.value < found.high


def test_two_judges_worked_by_hand():
    # one of three items differs: 2/6 of the ratings' pairs; of all pairs 2*3*3/30 differ
    assert krippendorff_alpha([[1, 1], [0, 0], [1, 0]]).value == pytest.approx(1 - (2 / 6) / 0.6)


def test_interval_ratings_may_be_any_numbers():
    # differences within 0.5**2 and 0.5**2, twice each, over 4 ratings: 1/4
    # among 0.25, 0.75, 2.25, 2.75: (0.25 + 4 + 6.25 + 2.25 + 4 + 0.25) * 2 / 12
    found = krippendorff_alpha([[0.25, 0.75], [2.25, 2.75]], scale="interval")
    assert found.value == pytest.approx(1 - 0.25 / (17 * 2 / 12))


def test_far_from_zero_makes_no_difference():
    near = krippendorff_alpha(ITEMS, scale="interval")
    far = krippendorff_alpha(ITEMS + 1e6, scale="interval")
    assert far.value == pytest.approx(near.value, abs=1e-9)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_who_gave_which_rating_and_the_order_of_items_change_nothing(scale):
    rng = np.random.default_rng(0)
    moved = rng.permuted(ITEMS, axis=1)[rng.permutation(12)]
    assert krippendorff_alpha(moved, scale=scale) == krippendorff_alpha(ITEMS, scale=scale)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("same", [0.0, 0.1, 3.0])
def test_all_ratings_the_same_is_undefined(scale, same):
    found = krippendorff_alpha(np.full((3, 3), same), scale=scale)
    assert found.value is None
    assert found.note is not None
    assert "all ratings are the same" in found.note


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("table", [np.empty((0, 2)), [[1, X], [X, 2]], [[1], [2]]])
def test_no_item_with_two_ratings(scale, table):
    found = krippendorff_alpha(table, scale=scale)
    assert (found.value, found.n_items) == (None, 0)
    assert found.note == "no item was rated by two judges"


def test_clusters_are_those_of_the_items_that_count():
    # each item in four copies that share a cluster; an item with one rating has one of its own
    table = np.vstack([np.repeat(ITEMS[:11], 4, axis=0), [[1, np.nan, np.nan, np.nan]]])
    clusters = [*np.repeat(np.arange(11), 4).tolist(), "other"]
    found = krippendorff_alpha(table, clusters=clusters)
    plain = krippendorff_alpha(table)
    assert found.n_items == 44
    assert found.value == plain.value
    assert found.high - found.low > 1.5 * (plain.high - plain.low)


def test_bad_input():
    with pytest.raises(InputError, match="the scale ratio is unknown"):
        krippendorff_alpha(ITEMS, scale="ratio")
    with pytest.raises(InputError, match="1 dimensions, not two"):
        krippendorff_alpha([1, 2])
    with pytest.raises(InputError, match="no table of numbers"):
        krippendorff_alpha([[1, 2], [1]])
    with pytest.raises(InputError, match="item 2 by judge 1 is infinite"):
        krippendorff_alpha([[1, 2], [float("inf"), 1]])
    with pytest.raises(InputError, match="1 clusters for 12 items"):
        krippendorff_alpha(ITEMS, clusters=["a"])
