"""Discounted cumulative gain, as a share of the best there could be."""

import numpy as np

from searchmark.measures.spec import DOCS, REL, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, Ints, View, rank_within

MAX_EXPONENT = 50
"""Grades above this have no exponential gain that a double can add up meaningfully."""


def ndcg(shown: View, measure: Measure) -> Values:
    r"""Compute normalized discounted cumulative gain.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `dcg` (exp-log2: gain ``2**grade - 1``, log2: gain ``grade``; discount
        ``log2(rank + 1)`` in both), `gain` (graded, or binary: 1 for a relevant document), `rel`
        (a lower grade earns nothing).

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing earns a gain.

    Notes
    -----
    ``DCG@k = sum of gain(r) / log2(r + 1)`` over ranks r up to k; nDCG divides by the DCG of all
    judged documents in the order of their gain. Unjudged documents earn nothing.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002;
    the exponential gain: Burges et al., Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    Judged a:3 b:1; the ranking b, a gives (1/1 + 7/1.585) / (7/1 + 1/1.585) = 5.416/7.631:

    >>> from searchmark.measures.score import score_dicts
    >>> round(score_dicts({"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "nDCG")["q"], 3)
    0.71
    """
    found = discounted(shown, shown.query, shown.rank, gains(shown.grade, measure), measure.cutoff)
    best = _ideal_dcg(shown, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, found / best, np.nan)


def gains(grade: Ints, measure: Measure) -> Floats:
    """Return what each grade earns; below `rel` nothing."""
    relevant = grade >= measure.integer("rel")
    if measure["gain"] == "binary":
        return relevant.astype(np.float64)
    graded = np.where(relevant, grade, 0).astype(np.float64)
    return np.exp2(np.minimum(graded, MAX_EXPONENT)) - 1 if measure["dcg"] == "exp-log2" else graded


def discounted(shown: View, query: Ints, rank: Ints, gain: Floats, cutoff: int | None) -> Floats:
    """Return each query's sum of gain / log2(rank + 1) over ranks up to the cutoff."""
    keep = gain > 0 if cutoff is None else (rank <= cutoff) & (gain > 0)
    return shown.total(query[keep], gain[keep] / np.log2(rank[keep] + 1.0))


def _ideal_dcg(shown: View, measure: Measure) -> Floats:
    gain = gains(shown.judged_grade, measure)
    by = np.lexsort((-gain, shown.judged_query))
    query = shown.judged_query[by]
    return discounted(shown, query, rank_within(query), gain[by], measure.cutoff)


NDCG = Spec(
    name="nDCG",
    summary="gain of the ranking, discounted by rank, as a share of the best possible",
    compute=ndcg,
    params={
        "dcg": Param("gain and discount", "exp-log2", choices=("exp-log2", "log2")),
        "gain": Param("what a relevant document earns", "graded", choices=("graded", "binary")),
        "rel": REL,
        "docs": DOCS,
    },
    aliases=("NDCG",),
    trec="ndcg",
    trec_cut="ndcg_cut",
    empty="one",
    profiles={"trec": {"dcg": "log2"}},
    reference="Järvelin and Kekäläinen 2002; Burges et al. 2005",
)
