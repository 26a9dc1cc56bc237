"""Interpolated precision at points of recall: the curve, and its average over eleven points."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, View, rank_within

ELEVEN = tuple(i / 10 for i in range(11))


def interpolated_precision(shown: View, measure: Measure) -> Values:
    """Best precision at any rank where recall is at least the given one.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `recall`, in [0, 1]; `rel`; `points`: how recall times R becomes a number of documents.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]: 0 where that recall is not reached, NaN where nothing is
    relevant.

    Notes
    -----
    With R relevant documents ``c = round(recall * R)`` must be found (halves up, as trec_eval 10;
    ``points=up`` takes ``int(recall * R + 0.9)``, as earlier releases and pytrec_eval); the value
    is the largest ``j / rank`` of the j-th relevant document over all j from c on.

    References
    ----------
    Salton and McGill, Introduction to Modern Information Retrieval, 1983; trec_eval.

    Examples
    --------
    Relevant at ranks 2 and 3 of two; for full recall 2/3, and no earlier point is better:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    >>> round(score_dicts({"q": {"a": 1, "b": 1}}, run, "IPrec@0.1")["q"], 4)
    0.6667
    """
    return _at(shown, measure, measure.number("recall"))


def average_of_points(shown: View, measure: Measure) -> Values:
    """Interpolated precision averaged over points of recall, by default 0, 0.1, ... 1.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `recalls`, other points, such as ``0.2;0.5;0.8``; `rel`; `points`, as in IPrec.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Examples
    --------
    The only relevant document at rank 2: one half at every point:

    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "IPrec11")["q"]
    0.5
    """
    recalls = _recalls(measure)
    total = np.zeros(shown.n_queries)
    for recall in sorted(recalls, reverse=True):  # the order in which trec_eval adds
        total = total + _at(shown, measure, recall)
    return total / len(recalls)


def _at(shown: View, measure: Measure, recall: float) -> Floats:
    rel = measure.integer("rel")
    relevant = shown.grade >= rel
    query = shown.query[relevant]
    found = rank_within(query)
    n_relevant = shown.n_relevant(rel)
    needed = _needed(recall * n_relevant, measure)
    enough = found >= needed[query]
    values = np.zeros(shown.n_queries)
    np.maximum.at(values, query[enough], (found / shown.rank[relevant])[enough])
    return np.where(n_relevant > 0, values, np.nan)


def _needed(wanted: Floats, measure: Measure) -> Floats:
    return np.trunc(wanted + 0.9) if measure["points"] == "up" else np.floor(wanted + 0.5)


def _recalls(measure: Measure) -> tuple[float, ...]:
    text = measure.text("recalls")
    if text is None:
        return ELEVEN
    try:
        recalls = tuple(float(part) for part in text.split(";"))
    except ValueError:
        recalls = (-1.0,)
    if not all(0 <= recall <= 1 for recall in recalls):
        raise InputError(
            f"recalls={text} is not a list of numbers from 0 to 1", fix="write recalls=0.2;0.5;0.8"
        )
    return recalls


_POINTS = Param(
    "how recall times the relevant documents becomes a whole number: to the nearest, or mostly up",
    "nearest",
    choices=("nearest", "up"),
)

IPREC = Spec(
    name="IPrec",
    summary="best precision at any rank where recall is at least the given one",
    compute=interpolated_precision,
    cutoff="required",
    at="recall",
    params={
        "recall": Param("the point of recall", None, low=0, high=1, kind="number"),
        "points": _POINTS,
        "rel": REL,
        "docs": DOCS,
    },
    trec_cut="iprec_at_recall",
    reference="Salton and McGill 1983",
    edges=Edges(fewer_results="a recall that is not reached has precision 0"),
)

IPREC_11 = Spec(
    name="IPrec11",
    summary="interpolated precision averaged over the recalls 0, 0.1, ... 1",
    compute=average_of_points,
    cutoff="none",
    params={
        "recalls": Param("other points of recall, such as 0.2;0.5;0.8", None),
        "points": _POINTS,
        "rel": REL,
        "docs": DOCS,
    },
    trec="11pt_avg",
    reference="Salton and McGill 1983",
    edges=IPREC.edges,
)
