"""Where the first relevant document stands."""

import numpy as np

from searchmark.measures.spec import DOCS, REL, Measure, Spec, Values
from searchmark.measures.view import View


def reciprocal_rank(shown: View, measure: Measure) -> Values:
    """Reciprocal of the rank of the first relevant document.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]: 0 where none is retrieved within the cutoff, NaN where
    nothing is relevant.

    References
    ----------
    Kantor and Voorhees, The TREC-5 confusion track, 1996.

    Examples
    --------
    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1}}, {"q": {"x": 3.0, "y": 2.0, "a": 1.0}}, "RR")["q"] * 3
    1.0
    """
    rel = measure.integer("rel")
    found = shown.within(measure.cutoff) & (shown.grade >= rel)
    values = np.zeros(shown.n_queries)
    np.maximum.at(values, shown.query[found], 1.0 / shown.rank[found])
    return np.where(shown.n_relevant(rel) > 0, values, np.nan)


def success(shown: View, measure: Measure) -> Values:
    """1 where a relevant document stands within the cutoff, else 0.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k; `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), 0 or 1; NaN where nothing is relevant.
    """
    rel = measure.integer("rel")
    found = shown.within(measure.cutoff) & (shown.grade >= rel)
    hit = shown.count(shown.query[found]) > 0
    return np.where(shown.n_relevant(rel) > 0, hit.astype(np.float64), np.nan)


RR = Spec(
    name="RR",
    summary="1 / rank of the first relevant document",
    compute=reciprocal_rank,
    params={"rel": REL, "docs": DOCS},
    aliases=("MRR",),
    trec="recip_rank",
    reference="Kantor and Voorhees 1996",
)

SUCCESS = Spec(
    name="Success",
    summary="1 where a relevant document stands within the cutoff",
    compute=success,
    cutoff="required",
    params={"rel": REL, "docs": DOCS},
    aliases=("Hit",),
    trec_cut="success",
)
