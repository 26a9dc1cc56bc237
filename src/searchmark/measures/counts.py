"""Counts that every other number rests on; over queries they are summed."""

import numpy as np

from searchmark.measures.bpref import is_nonrelevant
from searchmark.measures.coverage import results_within
from searchmark.measures.spec import DOCS, NEGATIVE, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import View


def num_q(shown: View, measure: Measure) -> Values:
    """Count the query.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `missing`: whether a query without an answer counts.

    Returns
    -------
    Ones, shape (n_queries,).
    """
    return np.ones(shown.n_queries)


def num_ret(shown: View, measure: Measure) -> Values:
    """Count the retrieved documents.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None.

    Returns
    -------
    Counts, shape (n_queries,), 0 or more.

    Examples
    --------
    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}, "NumRet")["q"]
    2.0
    """
    return results_within(shown, measure.cutoff)


def num_rel(shown: View, measure: Measure) -> Values:
    """Count the relevant documents.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant.

    Returns
    -------
    Counts, shape (n_queries,), 0 or more.
    """
    return shown.n_relevant(measure.integer("rel"))


def num_rel_ret(shown: View, measure: Measure) -> Values:
    """Count the relevant documents that were retrieved.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `rel`.

    Returns
    -------
    Counts, shape (n_queries,), 0 or more.
    """
    found = shown.within(measure.cutoff) & (shown.grade >= measure.integer("rel"))
    return shown.count(shown.query[found])


def num_nonrel_judged_ret(shown: View, measure: Measure) -> Values:
    """Count the retrieved documents that somebody judged not relevant.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `rel`; `negative`, what a negative grade says.

    Returns
    -------
    Counts, shape (n_queries,), 0 or more. Where judgments are complete, every result that is not
    relevant.
    """
    if shown.hits.judged.complete:
        return results_within(shown, measure.cutoff) - num_rel_ret(shown, measure)
    found = shown.within(measure.cutoff) & is_nonrelevant(shown.grade, measure)
    return shown.count(shown.query[found])


_EDGES = Edges(
    nothing_relevant="counted as it is",
    fewer_results="counted as it is",
)

NUM_Q = Spec(
    name="NumQ",
    summary="number of queries",
    compute=num_q,
    cutoff="none",
    trec="num_q",
    high=None,
    has_ceiling=False,
    empty=None,
    missing="keep",
    aggregate="sum",
    ties="unaffected",
    edges=Edges(
        nothing_relevant="counts",
        nothing_retrieved="counts; `missing=skip` leaves out a query without an answer",
        nothing_judged="no matter",
        fewer_results="no matter",
        negative_grades="no matter",
    ),
)

NUM_RET = Spec(
    name="NumRet",
    summary="number of documents retrieved",
    compute=num_ret,
    trec="num_ret",
    high=None,
    has_ceiling=False,
    empty=None,
    aggregate="sum",
    ties="unaffected",
    edges=_EDGES,
)

NUM_REL = Spec(
    name="NumRel",
    summary="number of relevant documents",
    compute=num_rel,
    cutoff="none",
    params={"rel": REL, "docs": DOCS},
    trec="num_rel",
    high=None,
    has_ceiling=False,
    empty=None,
    missing="keep",
    aggregate="sum",
    ties="unaffected",
    edges=Edges(
        nothing_relevant="0",
        nothing_retrieved="counts; `missing=skip` leaves out a query without an answer",
        nothing_judged="no matter",
        fewer_results="no matter",
    ),
)

NUM_REL_RET = Spec(
    name="NumRelRet",
    summary="number of relevant documents retrieved",
    compute=num_rel_ret,
    params={"rel": REL, "docs": DOCS},
    trec="num_rel_ret",
    high=None,
    empty=None,
    aggregate="sum",
    edges=_EDGES,
)

NUM_NONREL_JUDGED_RET = Spec(
    name="NumNonrelJudgedRet",
    summary="number of documents retrieved that somebody judged not relevant",
    compute=num_nonrel_judged_ret,
    params={"rel": REL, "docs": DOCS, "negative": NEGATIVE},
    trec="num_nonrel_judged_ret",
    high=None,
    higher_is_better=False,
    has_ceiling=False,
    empty=None,
    aggregate="sum",
    ties="sampled",
    edges=Edges(
        nothing_relevant="counted as it is",
        nothing_judged="0",
        fewer_results="counted as it is",
        negative_grades="judged, not relevant; with `negative=unjudged` not counted",
    ),
)
