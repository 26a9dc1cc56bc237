"""Cohen's kappa and the table of confusions, against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, jaccard_score

from searchmark.stats.confusion import confusion
from searchmark.stats.kappa import kappa
from searchmark.stats.patterns import Draws
from searchmark.stats.relevance import binary_agreement

QUICK = Draws(resamples=100)  # only the values are compared
GRADES = list(range(-1, 5))  # scikit-learn counts steps in this list, we the grades themselves
BOTH = st.lists(st.tuples(st.sampled_from(GRADES), st.sampled_from(GRADES)), min_size=1)


def apart(pairs):
    return np.array(pairs).T


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@given(pairs=BOTH)
@settings(max_examples=100, deadline=None)
def test_kappa(weights, pairs):
    first, second = apart(pairs)
    ours = kappa(first, second, weights=weights, draws=QUICK).value
    if len({grade for pair in pairs for grade in pair}) == 1:
        assert ours is None  # scikit-learn divides by 0 here
        return
    theirs = cohen_kappa_score(
        first, second, labels=GRADES, weights=None if weights == "none" else weights
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


@given(pairs=BOTH)
@settings(max_examples=50, deadline=None)
def test_confusion(pairs):
    first, second = apart(pairs)
    found = confusion(first, second, draws=QUICK)
    assert found.grades == tuple(np.unique(pairs).tolist())
    theirs = confusion_matrix(first, second, labels=GRADES)
    given_by_either = np.isin(GRADES, pairs)
    assert np.array_equal(found.counts, theirs[given_by_either][:, given_by_either])


@given(pairs=BOTH)
@settings(max_examples=50, deadline=None)
def test_overlap(pairs):
    first, second = (ratings >= 1 for ratings in apart(pairs))
    ours = binary_agreement(first, second, draws=QUICK).overlap.value
    if not (first | second).any():
        assert ours is None
        return
    assert ours == pytest.approx(jaccard_score(first, second), abs=1e-12)
