"""Gain discounted by how far a ranking has fallen behind the best one, as in trec_eval."""

import numpy as np

from searchmark.measures.ndcg import GAINS, gains, ideal_gains
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import View, running, so_far


def binary_g(shown: View, measure: Measure) -> Values:
    """Average over the relevant documents of 1 / log2(2 + non-relevant results above).

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant. Unjudged results count as
    not relevant; a relevant document that is not retrieved adds 0.

    Notes
    -----
    ``(1/R) * sum of 1 / log2(2 + n)`` over the retrieved relevant documents, with n results above
    that are not relevant and R relevant documents in all.

    References
    ----------
    trec_eval (Buckley), experimental.

    Examples
    --------
    Relevant at ranks 1 and 4, with two others above the second: (1/1 + 1/log2(4)) / 2:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 4.0, "x": 3.0, "y": 2.0, "b": 1.0}}
    >>> score_dicts({"q": {"a": 1, "b": 1}}, run, "BinG")["q"]
    0.75
    """
    rel = measure.integer("rel")
    relevant = shown.grade >= rel
    query = shown.query[relevant]
    others = (shown.rank - so_far(shown.query, relevant))[relevant]
    n_relevant = shown.n_relevant(rel)
    total = shown.total(query, 1.0 / np.log2(2.0 + others))
    with np.errstate(invalid="ignore"):
        return np.where(n_relevant > 0, total / n_relevant, np.nan)


def g(shown: View, measure: Measure) -> Values:
    """Gain of each result, discounted by the gain that the best ranking is ahead at that rank.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `gains` of single grades; without them the gain is the grade. `rel` (a lower grade earns
        nothing).

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing earns a gain.

    Notes
    -----
    ``sum of gain(r) / log2(2 + best(r) - got(r))`` over ranks r, over the sum of all gains: got(r)
    is the gain collected up to rank r, best(r) that of the best ranking, where every place counts
    at least 1.

    References
    ----------
    trec_eval (Buckley), experimental.

    Examples
    --------
    Grade 1 at rank 2 of two, grade 3 not found: best 3 + 1, got 1: (1 / log2(2 + 4 - 1)) / 4:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"x": 2.0, "b": 1.0}}
    >>> round(score_dicts({"q": {"a": 3, "b": 1}}, run, "G")["q"], 4)
    0.1077
    """
    gain = gains(shown.grade, measure)
    found = gain > 0
    query, rank, gain = shown.query[found], shown.rank[found], gain[found]
    ideal_query, ideal_gain = ideal_gains(shown, measure)
    places = np.bincount(ideal_query, minlength=shown.n_queries)
    first = np.searchsorted(ideal_query, np.arange(shown.n_queries))
    best = running(ideal_query, np.maximum(ideal_gain, 1.0))
    held = np.minimum(rank, places[query])
    ahead = best[first[query] + held - 1] + (rank - held) if len(query) else gain
    total = shown.total(query, gain / np.log2(2.0 + ahead - running(query, gain)))
    whole = shown.total(ideal_query, ideal_gain)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, total / whole, np.nan)


BIN_G = Spec(
    name="BinG",
    summary="relevant documents discounted by the non-relevant results above them",
    compute=binary_g,
    cutoff="none",
    params={"rel": REL, "docs": DOCS},
    trec="binG",
    reference="trec_eval, experimental",
    edges=Edges(fewer_results="a relevant document that is not retrieved adds 0"),
)

G = Spec(
    name="G",
    summary="gain discounted by how far the ranking has fallen behind the best one",
    compute=g,
    cutoff="none",
    params={"gains": GAINS, "rel": REL, "docs": DOCS},
    trec="G",
    reference="trec_eval, experimental",
    ties="sampled",
    edges=Edges(
        fewer_results="a relevant document that is not retrieved adds 0",
        negative_grades="earn nothing",
    ),
)
