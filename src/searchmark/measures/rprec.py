"""Precision at as many results as there are relevant documents, and relative to what fits."""

import numpy as np

from searchmark.measures.spec import DOCS, REL, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, View

ROUND_UP = 0.9
"""Added to a multiple of R before its fraction is cut off, as in trec_eval."""


def r_precision(shown: View, measure: Measure) -> Values:
    """Precision of the first R results, R being how many documents are relevant.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`; `mult`, the multiple of R that is looked at.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Notes
    -----
    ``relevant among the first c / c`` with ``c = int(mult * R + 0.9)``, R itself where mult is 1;
    0 where c is 0. The divisor is c even where fewer documents were retrieved.

    References
    ----------
    Buckley and Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation in
    Information Retrieval, MIT Press 2005.

    Examples
    --------
    Two relevant documents, one of them among the first two:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> score_dicts({"q": {"a": 1, "b": 1}}, run, "Rprec")["q"]
    0.5
    """
    n_relevant = shown.n_relevant(measure.integer("rel"))
    places = r_places(shown, measure)
    found = _found(shown, measure, places)
    share = np.where(places > 0, found / np.maximum(places, 1), 0.0)
    return np.where(n_relevant > 0, share, np.nan)


def r_places(shown: View, measure: Measure) -> Floats:
    """Return how many results of each query are looked at."""
    n_relevant = shown.n_relevant(measure.integer("rel"))
    return np.trunc(measure.number("mult") * n_relevant + ROUND_UP)


def relative_precision(shown: View, measure: Measure) -> Values:
    """Precision at k as a share of the best that k places allow; the same of recall.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k; `rel`.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Notes
    -----
    ``relevant among the first k / min(k, R)`` with R relevant documents. Precision and recall have
    the same best ranking, so their shares of it are one number.

    Examples
    --------
    Both relevant documents are among the first three, where two are all there are:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> score_dicts({"q": {"a": 1, "b": 1}}, run, "RelativeP@3")["q"]
    1.0
    """
    n_relevant = shown.n_relevant(measure.integer("rel"))
    places = np.full(shown.n_queries, float(measure.cutoff or 1))
    found = _found(shown, measure, places)
    with np.errstate(invalid="ignore"):
        return np.where(n_relevant > 0, found / np.minimum(places, n_relevant), np.nan)


def _found(shown: View, measure: Measure, places: Floats) -> Floats:
    """Return how many relevant documents each query has among its first `places`."""
    keep = (shown.grade >= measure.integer("rel")) & (shown.rank <= places[shown.query])
    return shown.count(shown.query[keep])


RPREC = Spec(
    name="Rprec",
    summary="precision of as many results as there are relevant documents",
    compute=r_precision,
    cutoff="none",
    params={
        "mult": Param("multiple of the relevant documents", 1.0, low=0, kind="number"),
        "rel": REL,
        "docs": DOCS,
    },
    aliases=("RPrec",),
    trec="Rprec",
    trec_cut="Rprec_mult",
    trec_at="mult",
    reference="Buckley and Voorhees 2005",
)

RELATIVE_P = Spec(
    name="RelativeP",
    summary="precision (and recall) at k as a share of the best that k places allow",
    compute=relative_precision,
    cutoff="required",
    params={"rel": REL, "docs": DOCS},
    aliases=("RelativeR",),
    trec_cut="relative_P",
)
