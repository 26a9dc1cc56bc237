import numpy as np
import pytest

from searchmark.stats.patterns import Draws, drawn_counts, spans, units_of


def all_counts(units, draws):
    return np.concatenate(list(drawn_counts(units, draws)))


@pytest.mark.parametrize("n_patterns", [3, 90])  # drawn at once, and one by one
def test_counts_are_those_of_drawing_items_with_replacement(n_patterns):
    pattern = np.concatenate([np.arange(n_patterns), np.zeros(60 - 3, dtype=np.int64)])
    counts = all_counts(units_of(pattern, n_patterns), Draws(resamples=20_000))
    n = len(pattern)
    p = np.bincount(pattern) / n
    assert (counts.sum(axis=1) == n).all()
    # five standard errors of a mean of 20,000 and, about, of a variance
    assert counts.mean(axis=0) == pytest.approx(n * p, abs=5 * (n * p.max() / 20_000) ** 0.5)
    assert counts.var(axis=0) == pytest.approx(n * p * (1 - p), rel=0.12)
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-n * p[0] * p[1], abs=0.2)


def test_clusters_are_merged_by_what_they_hold():
    units = units_of(np.array([0, 1, 1, 0, 2, 2]), 3, ["a", "a", "b", "b", "c", None])
    # a and b hold one 0 and one 1 each; c and the lone item one 2 each
    assert units.patterns.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert units.times.tolist() == [2, 2]
    assert units.counts.tolist() == [2, 2, 2]


def test_a_mean_has_the_interval_of_other_implementations_of_bca():
    # scipy.stats.bootstrap((x,), np.mean, method="BCa", n_resamples=400_000): 3.0 to 6.3
    units = units_of(np.array([0, 1, 2, 3, 4]).repeat(2), 5)
    values = np.array([1.0, 3.0, 4.0, 5.0, 9.0])
    found = spans([4.4], [lambda c: c @ values / c.sum(axis=1)], units, Draws(resamples=100_000))
    assert found[0].low == pytest.approx(3.0, abs=1e-9)
    assert found[0].high == pytest.approx(6.3, abs=1e-9)


def test_numbers_that_are_mostly_undefined_have_no_interval():
    def rarely(counts):
        return np.where(counts[:, 0] == 5, 1.0, np.nan)

    found = spans([1.0], [rarely], units_of(np.array([0, 1] * 5), 2), Draws())[0]
    assert (found.low, found.high) == (None, None)
    assert found.note.startswith("undefined in 7,")  # exactly 5 of 10 has chance 0.246
