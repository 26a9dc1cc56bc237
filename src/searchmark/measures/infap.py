"""Average precision inferred from judgments of a sample of the pool."""

import numpy as np

from searchmark.measures.bpref import nonrelevant_above
from searchmark.measures.spec import DOCS, NEGATIVE, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import Ints, View, so_far

EPSILON = 0.00001
"""Keeps the estimate defined where nothing above was judged; trec_eval's constant."""


def inferred_ap(shown: View, measure: Measure) -> Values:
    """Average precision estimated where only a part of the pool was judged.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant; `negative`, what a negative grade says: with
        ``unjudged`` it marks a document of the pool that was not drawn for judging.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1] up to rounding; NaN where nothing is relevant.

    Notes
    -----
    A relevant document at rank k contributes ``1/k + (k-1)/k * (d/(k-1)) * (r + e)/(r + n + 2e)``,
    with r relevant, n judged non-relevant and d pooled documents above it, e = 0.00001. Where the
    whole pool was judged and nothing else retrieved, this is average precision.

    References
    ----------
    Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments,
    CIKM 2006.

    Examples
    --------
    Relevant at ranks 1 and 3, x between them outside the pool:
    (1 + 1/3 + 2/3 * 1/2 * (1 + e)/(1 + 2e)) / 2:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> round(score_dicts({"q": {"a": 1, "b": 1}}, run, "infAP")["q"], 4)
    0.8333
    """
    rel = measure.integer("rel")
    relevant = shown.grade >= rel
    query = shown.query[relevant]
    depth = (shown.rank[relevant] - 1).astype(np.float64)
    found = so_far(shown.query, relevant)[relevant] - 1
    wrong = nonrelevant_above(shown, measure)
    pooled = found + wrong + _undrawn_above(shown, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        # in the order of trec_eval's terms, so that the last bits agree
        rate = (found + EPSILON) / (found + wrong + 2 * EPSILON)
        at_hit = 1.0 / (depth + 1.0) + (depth / (depth + 1.0)) * (pooled / depth) * rate
        n_relevant = shown.n_relevant(rel)
        total = shown.total(query, np.where(depth > 0, at_hit, 1.0))
        return np.where(n_relevant > 0, total / n_relevant, np.nan)


def _undrawn_above(shown: View, measure: Measure) -> Ints:
    """Return how many documents of the pool above each relevant hit were not judged."""
    relevant = shown.grade >= measure.integer("rel")
    # where judgments are complete they are counted as non-relevant already
    are_undrawn = measure["negative"] == "unjudged" and not shown.hits.judged.complete
    return so_far(shown.query, (shown.grade < 0) & are_undrawn)[relevant]


INF_AP = Spec(
    name="infAP",
    summary="average precision estimated from judgments of a sample of the pool",
    compute=inferred_ap,
    cutoff="none",
    params={"rel": REL, "docs": DOCS, "negative": NEGATIVE},
    trec="infAP",
    reference="Yilmaz and Aslam 2006",
    ties="sampled",
    edges=Edges(
        fewer_results="a relevant document that is not retrieved adds 0",
        negative_grades="judged, not relevant; with `negative=unjudged` in the pool but not judged",
    ),
)
