"""Precision, recall and their average over the ranks of relevant documents."""

import numpy as np

from searchmark.measures.spec import DOCS, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import Floats, View, rank_within


def precision(shown: View, measure: Measure) -> Values:
    """Share of the first k results that are relevant.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k; `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant. The divisor is k even
    where fewer documents were retrieved, as in trec_eval.

    Examples
    --------
    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "P@4")["q"]
    0.25
    """
    rel = measure.integer("rel")
    return np.where(
        shown.n_relevant(rel) > 0, _found(shown, measure) / (measure.cutoff or 1), np.nan
    )


def recall(shown: View, measure: Measure) -> Values:
    """Share of the relevant documents that stand within the cutoff.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant. The divisor is all
    relevant documents, even where there are more than k.

    Examples
    --------
    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1, "z": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "R@2")["q"]
    0.5
    """
    return _share(_found(shown, measure), shown.n_relevant(measure.integer("rel")))


def average_precision(shown: View, measure: Measure) -> Values:
    """Precision at the rank of each relevant document, averaged over all relevant documents.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant. A relevant document that
    is not retrieved counts as precision 0.

    Notes
    -----
    ``(1/R) * sum of j / rank`` over the retrieved relevant documents, the j-th at its rank, with R
    relevant documents in all.

    References
    ----------
    Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.

    Examples
    --------
    Relevant at ranks 1 and 3: (1/1 + 2/3) / 2:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> round(score_dicts({"q": {"a": 1, "b": 1}}, run, "AP")["q"], 4)
    0.8333
    """
    rel = measure.integer("rel")
    found = shown.within(measure.cutoff) & (shown.grade >= rel)
    query, rank = shown.query[found], shown.rank[found]
    at_hit = rank_within(query) / rank
    return _share(shown.total(query, at_hit), shown.n_relevant(rel))


def _found(shown: View, measure: Measure) -> Floats:
    keep = shown.within(measure.cutoff) & (shown.grade >= measure.integer("rel"))
    return shown.count(shown.query[keep])


def _share(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


P = Spec(
    name="P",
    summary="share of the first k results that are relevant",
    compute=precision,
    cutoff="required",
    params={"rel": REL, "docs": DOCS},
    aliases=("Precision",),
    trec_cut="P",
)

R = Spec(
    name="R",
    summary="share of the relevant documents that stand within the cutoff",
    compute=recall,
    params={"rel": REL, "docs": DOCS},
    aliases=("Recall",),
    trec_cut="recall",
    empty="one",
)

AP_EDGES = Edges(fewer_results="a relevant document that is not retrieved adds 0")

AP = Spec(
    name="AP",
    summary="precision at each relevant document, averaged over all relevant ones",
    compute=average_precision,
    params={"rel": REL, "docs": DOCS},
    aliases=("MAP",),
    trec="map",
    trec_cut="map_cut",
    reference="Buckley and Voorhees 2000",
    edges=AP_EDGES,
)

GMAP = Spec(
    name="GMAP",
    summary="geometric mean of AP over queries, each at least 0.00001",
    compute=average_precision,
    params={"rel": REL, "docs": DOCS},
    aliases=("GM-AP",),
    trec="gm_map",
    aggregate="geometric",
    reference="Robertson, On GMAP, CIKM 2006",
    edges=AP_EDGES,
)
