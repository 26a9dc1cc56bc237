"""Binary preference: how many judged non-relevant documents stand above the relevant ones."""

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.spec import DOCS, NEGATIVE, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import Floats, Ints, View, so_far


def bpref(shown: View, measure: Measure) -> Values:
    """Share of the preferences of relevant over judged non-relevant documents that hold.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant; `negative`, what a negative grade says.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Notes
    -----
    ``(1/R) * sum over retrieved relevant documents of 1 - min(n, R) / min(N, R)``, with R relevant
    and N judged non-relevant documents, n of these above the relevant one. Documents that nobody
    judged are passed over. Where judgments are complete, every other document is non-relevant.

    References
    ----------
    Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, in the
    form that trec_eval computes.

    Examples
    --------
    Relevant a and b, non-relevant m and n; m stands above b only: (1 + (1 - 1/2)) / 2:

    >>> from searchmark.measures.score import score_dicts
    >>> qrels = {"q": {"a": 1, "b": 1, "m": 0, "n": 0}}
    >>> score_dicts(qrels, {"q": {"a": 4.0, "m": 3.0, "x": 2.0, "b": 1.0}}, "Bpref")["q"]
    0.75
    """
    rel = measure.integer("rel")
    relevant = shown.grade >= rel
    query = shown.query[relevant]
    above = nonrelevant_above(shown, measure)
    n_relevant = shown.n_relevant(rel)
    reach = np.minimum(_n_nonrelevant(shown, measure), n_relevant)[query]
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = np.where(above > 0, 1.0 - np.minimum(above, n_relevant[query]) / reach, 1.0)
        return np.where(n_relevant > 0, shown.total(query, kept) / n_relevant, np.nan)


def nonrelevant_above(shown: View, measure: Measure) -> Ints:
    """Return how many judged non-relevant documents stand above each relevant hit."""
    relevant = shown.grade >= measure.integer("rel")
    if shown.hits.judged.complete:
        return (shown.rank - so_far(shown.query, relevant))[relevant]
    return so_far(shown.query, is_nonrelevant(shown.grade, measure))[relevant]


def is_nonrelevant(grade: Ints, measure: Measure) -> NDArray[np.bool_]:
    """Tell which judgments say not relevant."""
    below = grade < measure.integer("rel")
    return below & (grade >= 0) if measure["negative"] == "unjudged" else below


def _n_nonrelevant(shown: View, measure: Measure) -> Floats:
    if shown.hits.judged.complete:
        return np.full(shown.n_queries, np.inf)
    return shown.count(shown.judged_query[is_nonrelevant(shown.judged_grade, measure)])


BPREF = Spec(
    name="Bpref",
    summary="share of the preferences of relevant over judged non-relevant documents that hold",
    compute=bpref,
    cutoff="none",
    params={"rel": REL, "docs": DOCS, "negative": NEGATIVE},
    trec="bpref",
    reference="Buckley and Voorhees 2004",
    edges=Edges(
        nothing_judged="0; unjudged results are passed over",
        fewer_results="a relevant document that is not retrieved keeps no preference",
        negative_grades="judged, not relevant; with `negative=unjudged` passed over",
    ),
)

GM_BPREF = Spec(
    name="GMBpref",
    summary="geometric mean of Bpref over queries, each at least 0.00001",
    compute=bpref,
    cutoff="none",
    params={"rel": REL, "docs": DOCS, "negative": NEGATIVE},
    trec="gm_bpref",
    aggregate="geometric",
    reference="Buckley and Voorhees 2004; Robertson 2006",
    edges=BPREF.edges,
)
