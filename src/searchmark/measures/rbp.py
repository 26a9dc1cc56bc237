"""Rank-biased precision, and how much of it the judgments leave open."""

import numpy as np

from searchmark.measures.spec import DOCS, NEGATIVE, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, View


def rank_biased_precision(shown: View, measure: Measure) -> Values:
    """Gain per result that a reader looks at who goes on from one to the next with chance p.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `p`, the reader's persistence; `gain` (binary: 1 for a relevant
        document; graded: the grade as a share of the query's top grade); `rel`.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Notes
    -----
    ``(1 - p) * sum of gain(r) * p**(r - 1)`` over ranks r. It is a lower bound: `RBPResidual` is
    what unjudged and unretrieved documents could add.

    References
    ----------
    Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness,
    TOIS 27(1), 2008.

    Examples
    --------
    Relevant at ranks 1 and 3: (1 - 0.5) * (1 + 0.25):

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> score_dicts({"q": {"a": 1, "b": 1}}, run, "RBP(p=0.5)")["q"]
    0.625
    """
    p, rel = measure.number("p"), measure.integer("rel")
    found = shown.within(measure.cutoff) & (shown.grade >= rel)
    query = shown.query[found]
    weight = np.power(p, shown.rank[found] - 1.0)
    total = shown.total(query, hit_gain(shown, measure)[found] * weight)
    return np.where(shown.n_relevant(rel) > 0, (1.0 - p) * total, np.nan)


def rbp_residual(shown: View, measure: Measure) -> Values:
    """Return how much RBP could rise if everything unjudged were as good as can be.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `p`; `end`, whether what lies beyond the last result counts even where
        every result was judged (trec_eval says no); `negative`, what a negative grade says.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; 1 where nothing was retrieved.

    Notes
    -----
    ``p**n + (1 - p) * sum of p**(r - 1)`` over the unjudged among the n results, which is
    ``1 - (1 - p) * sum of p**(r - 1)`` over the judged ones. Where judgments are complete, only
    what lies beyond the last result is left: ``p**n``.

    References
    ----------
    Moffat and Zobel, TOIS 27(1), 2008.

    Examples
    --------
    Judged at rank 1 only: 1 - 0.5 * 1:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 2.0, "x": 1.0}}
    >>> score_dicts({"q": {"a": 1}}, run, "RBPResidual(p=0.5)")["q"]
    0.5
    """
    p = measure.number("p")
    n_results = shown.n_retrieved.astype(np.float64)
    if measure.cutoff is not None:
        n_results = np.minimum(n_results, measure.cutoff)
    if shown.hits.judged.complete:
        n_judged, left = n_results, np.power(p, n_results)
    else:
        known = shown.within(measure.cutoff) & ((shown.grade >= 0) | _counts_negative(measure))
        n_judged = shown.count(shown.query[known])
        seen = shown.total(shown.query[known], np.power(p, shown.rank[known] - 1.0))
        left = 1.0 - (1.0 - p) * seen
    return np.where((measure["end"] == "if-unjudged") & (n_judged == n_results), 0.0, left)


def hit_gain(shown: View, measure: Measure) -> Floats:
    """Return what each hit would earn were it relevant."""
    if measure["gain"] == "binary":
        return np.ones(len(shown.grade))
    top = np.ones(shown.n_queries, np.int64)
    np.maximum.at(top, shown.judged_query, shown.judged_grade)
    return shown.grade / top[shown.query]


def _counts_negative(measure: Measure) -> bool:
    return measure["negative"] == "judged"


PERSISTENCE = Param("chance that the reader goes on to the next", 0.8, low=0, high=1, kind="number")

RBP = Spec(
    name="RBP",
    summary="gain per result that a patient reader looks at",
    compute=rank_biased_precision,
    params={
        "p": PERSISTENCE,
        "gain": Param(
            "what a relevant document earns: 1, or its grade as a share of the query's top grade",
            "binary",
            choices=("binary", "graded"),
        ),
        "rel": REL,
        "docs": DOCS,
    },
    trec="rbp",
    profiles={"trec": {"p": 0.9, "gain": "graded"}},
    reference="Moffat and Zobel 2008",
    edges=Edges(negative_grades="earn nothing"),
)

RBP_RESIDUAL = Spec(
    name="RBPResidual",
    summary="how much RBP could rise if everything unjudged were relevant",
    compute=rbp_residual,
    params={
        "p": PERSISTENCE,
        "end": Param(
            "whether what lies beyond the results is open too",
            "always",
            choices=("always", "if-unjudged"),
        ),
        "negative": NEGATIVE,
    },
    trec="rbp_resid",
    higher_is_better=False,
    has_ceiling=False,
    empty=None,
    missing="keep",
    profiles={"trec": {"p": 0.9, "end": "if-unjudged"}},
    reference="Moffat and Zobel 2008",
    ties="sampled",
    edges=Edges(
        nothing_relevant="no matter",
        nothing_retrieved="1, all is open",
        nothing_judged="1, all is open",
        fewer_results="what lies beyond them is open",
        negative_grades="judged; with `negative=unjudged` open",
    ),
)
