"""Measures of the retrieved set: order does not matter, and how much was retrieved does."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from searchmark.measures.spec import DOCS, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, View


class _Counts(NamedTuple):
    """Relevant documents retrieved, documents retrieved, relevant documents, a query each."""

    both: Floats
    retrieved: Floats
    relevant: Floats


Formula = Callable[[_Counts, Measure], Floats]


def of_the_set(shown: View, measure: Measure, formula: Formula) -> Values:
    """Apply a formula to the counts of each query.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant, and what the formula takes.
    formula
        From counts to values.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]: 0 where nothing was retrieved, NaN where nothing is
    relevant.

    Notes
    -----
    With n documents retrieved, R relevant and b both: SetP ``b/n``, SetR ``b/R``, SetAP
    ``b*b/(n*R)``, SetRelativeP ``b/min(n, R)``, SetF ``(beta + 1) * P * R / (beta * P + R)`` of
    SetP and SetR.

    References
    ----------
    van Rijsbergen, Information Retrieval, 1979; trec_eval.

    Examples
    --------
    One of two results is relevant, and one of four relevant documents is found:

    >>> from searchmark.measures.score import score_dicts
    >>> qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
    >>> run = {"q": {"a": 2.0, "x": 1.0}}
    >>> [score_dicts(qrels, run, m)["q"] for m in ("SetP", "SetR", "SetAP", "SetRelativeP")]
    [0.5, 0.25, 0.125, 0.5]
    """
    counts = _counts(shown, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(counts.both > 0, formula(counts, measure), 0.0)
    return np.where(counts.relevant > 0, share, np.nan)


def utility(shown: View, measure: Measure) -> Values:
    """Weighted sum of what was and was not retrieved.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        Weights `a` (relevant, retrieved), `b` (not relevant, retrieved), `c` (relevant, not
        retrieved), `d` (neither); `n`, documents in the collection, without which `d` means little;
        `rel`.

    Returns
    -------
    Values, shape (n_queries,), of any size and sign, also where nothing is relevant.

    References
    ----------
    trec_eval; Hull, The TREC-6 filtering track, 1997.

    Examples
    --------
    One relevant document and two others: 1 - 2:

    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}, "Utility")["q"]
    -1.0
    """
    both, retrieved, relevant = _counts(shown, measure)
    return (
        measure.number("a") * both
        + measure.number("b") * (retrieved - both)
        + measure.number("c") * (relevant - both)
        + measure.number("d") * (measure.integer("n") + both - retrieved - relevant)
    )


def _counts(shown: View, measure: Measure) -> _Counts:
    rel = measure.integer("rel")
    both = shown.count(shown.query[shown.grade >= rel])
    return _Counts(both, shown.n_retrieved.astype(np.float64), shown.n_relevant(rel))


def _precision(counts: _Counts, _: Measure) -> Floats:
    return counts.both / counts.retrieved


def _recall(counts: _Counts, _: Measure) -> Floats:
    return counts.both / counts.relevant


def _average_precision(counts: _Counts, _: Measure) -> Floats:
    return (counts.both * counts.both) / (counts.retrieved * counts.relevant)


def _relative_precision(counts: _Counts, _: Measure) -> Floats:
    return counts.both / np.minimum(counts.retrieved, counts.relevant)


def _f(counts: _Counts, measure: Measure) -> Floats:
    beta = measure.number("beta")
    p, r = counts.both / counts.retrieved, counts.both / counts.relevant
    return (beta + 1.0) * p * r / (beta * p + r)


_EDGES = Edges(fewer_results="no cutoff")
_PARAMS = {"rel": REL, "docs": DOCS}

SET_P = Spec(
    name="SetP",
    summary="share of all results that are relevant",
    compute=partial(of_the_set, formula=_precision),
    cutoff="none",
    params=_PARAMS,
    trec="set_P",
    ties="unaffected",
    edges=_EDGES,
)

SET_R = Spec(
    name="SetR",
    summary="share of the relevant documents that were retrieved at all",
    compute=partial(of_the_set, formula=_recall),
    cutoff="none",
    params=_PARAMS,
    trec="set_recall",
    empty="one",
    ties="unaffected",
    edges=_EDGES,
)

SET_AP = Spec(
    name="SetAP",
    summary="SetP times SetR",
    compute=partial(of_the_set, formula=_average_precision),
    cutoff="none",
    params=_PARAMS,
    trec="set_map",
    ties="unaffected",
    edges=_EDGES,
)

SET_F = Spec(
    name="SetF",
    summary="weighted harmonic mean of SetP and SetR",
    compute=partial(of_the_set, formula=_f),
    cutoff="none",
    params={"beta": Param("weight of recall", 1.0, low=0, kind="number"), **_PARAMS},
    trec="set_F",
    reference="van Rijsbergen 1979",
    ties="unaffected",
    edges=_EDGES,
)

SET_RELATIVE_P = Spec(
    name="SetRelativeP",
    summary="SetP as a share of the best a set of that size could have",
    compute=partial(of_the_set, formula=_relative_precision),
    cutoff="none",
    params=_PARAMS,
    aliases=("SetRelP",),
    trec="set_relative_P",
    ties="unaffected",
    edges=_EDGES,
)

UTILITY = Spec(
    name="Utility",
    summary="weighted sum of relevant and other documents, retrieved and not",
    compute=utility,
    cutoff="none",
    params={
        "a": Param("worth of a relevant document retrieved", 1.0, kind="number"),
        "b": Param("worth of another document retrieved", -1.0, kind="number"),
        "c": Param("worth of a relevant document not retrieved", 0.0, kind="number"),
        "d": Param("worth of another document not retrieved", 0.0, kind="number"),
        "n": Param("documents in the collection", 0, low=0, kind="whole number"),
        **_PARAMS,
    },
    trec="utility",
    low=None,
    high=None,
    has_ceiling=False,
    empty=None,
    reference="trec_eval",
    ties="unaffected",
    edges=Edges(
        nothing_relevant="the results count as not relevant",
        fewer_results="no cutoff",
    ),
)
