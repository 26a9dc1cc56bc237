"""Discounted cumulative gain, and the same as a share of the best there could be."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, Ints, View, rank_within

MAX_GAIN = 1e100
"""The greatest gain, listed or added up: squares and cubes of it are still doubles."""

_LARGE = 512
"""From this grade on gains are compared with the best of their query, lest their sums overflow."""

GAINS = Param(
    "gains of single grades, such as 1:3.5;2:9, in place of what `dcg` gives them; they must not "
    "fall as grades rise",
    None,
)


def ndcg(shown: View, measure: Measure) -> Values:
    r"""Compute normalized discounted cumulative gain.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `dcg` (exp-log2: gain ``2**grade - 1``, log2: gain ``grade``; discount
        ``log2(rank + 1)`` in both), `gain` (graded, or binary: 1 for a relevant document), `gains`
        (of single grades), `rel` (a lower grade earns nothing).

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing earns a gain.

    Notes
    -----
    ``DCG@k = sum of gain(r) / log2(r + 1)`` over ranks r up to k; nDCG divides by the DCG of all
    judged documents in the order of their gain. Unjudged documents earn nothing. The share holds
    for grades of any size: great ones are scaled by the top grade of their query.

    References
    ----------
    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002;
    the exponential gain: Burges et al., Learning to rank using gradient descent, ICML 2005.

    Examples
    --------
    Judged a:3 b:1; the ranking b, a gives (1/1 + 7/1.585) / (7/1 + 1/1.585) = 5.416/7.631:

    >>> from searchmark.measures.score import score_dicts
    >>> round(score_dicts({"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "nDCG")["q"], 3)
    0.71
    """
    top = top_grades(shown, measure)
    gain = gains(shown.grade, measure, top=None if top is None else top[shown.query])
    found = discounted(shown, shown.query, shown.rank, gain, measure.cutoff)
    best = ideal_dcg(shown, measure, top)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, found / best, np.nan)


def dcg(shown: View, measure: Measure) -> Values:
    r"""Compute discounted cumulative gain.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        As for `ndcg`.

    Returns
    -------
    Values, shape (n_queries,), 0 or more; NaN where nothing earns a gain.

    Raises
    ------
    InputError
        Where the gains of a query add up to more than 1e100.

    Notes
    -----
    ``DCG@k = sum of gain(r) / log2(r + 1)`` over ranks r up to k. Its size depends on the grades
    and on how many documents are relevant, so it compares systems, not queries. It ends at 1e100,
    which is reached by the exponential gain of grade 333.

    References
    ----------
    Järvelin and Kekäläinen, TOIS 20(4), 2002.

    Examples
    --------
    Grade 3 at rank 1 and grade 1 at rank 3: 7/1 + 1/2:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> score_dicts({"q": {"a": 3, "b": 1}}, run, "DCG")["q"]
    7.5
    """
    best = ideal_dcg(shown, measure)
    if best.max(initial=0) > MAX_GAIN:
        query = shown.hits.judged.query_ids[int(best.argmax())]
        raise InputError(
            f"{measure}: the gains of query '{query}' add up to more than {MAX_GAIN:g}",
            fix="write DCG(dcg=log2), or nDCG, which is a share",
        )
    found = discounted(shown, shown.query, shown.rank, gains(shown.grade, measure), measure.cutoff)
    return np.where(best > 0, found, np.nan)


def top_grades(shown: View, measure: Measure) -> Ints | None:
    """Return the top grade of each query, where exponential gains are too great to be added up."""
    params = dict(measure.params)
    is_exponential = params.get("dcg") == "exp-log2" and params["gain"] != "binary"
    if not is_exponential or params["gains"] is not None:
        return None
    if int(shown.judged_grade.max(initial=0)) < _LARGE:
        return None
    top = np.zeros(shown.n_queries, np.int64)
    np.maximum.at(top, shown.judged_query, shown.judged_grade)
    return top


def gains(
    grade: Ints, measure: Measure, rel: int | None = None, *, top: Ints | None = None
) -> Floats:
    """Return what each grade earns; below `rel` (by default the measure's) nothing.

    With `top`, one entry a grade, the exponential gains are divided by 2**top.
    """
    params = dict(measure.params)
    worth = np.maximum(grade, 0).astype(np.float64)
    if params.get("gain") == "binary":
        worth = np.ones(len(grade))
    elif params.get("dcg") == "exp-log2" and top is not None:
        # scaling by a power of 2 changes no digit, so that ratios are those of the gains themselves
        below = (np.maximum(grade, 0) - top).astype(np.float64)
        worth = np.exp2(below) - np.exp2(-top.astype(np.float64))
    elif params.get("dcg") == "exp-log2":
        with np.errstate(over="ignore"):  # an infinite sum is told by who adds up
            worth = np.exp2(worth) - 1
    if params.get("gains") is not None:
        worth = _listed(grade, worth, str(params["gains"]))
    least = measure.integer("rel") if rel is None else rel
    return np.where(grade >= least, worth, 0.0)


def _listed(grade: Ints, worth: Floats, text: str) -> Floats:
    worth = worth.copy()
    for level, gain in _pairs(text):
        worth[grade == level] = gain
    if np.isinf(worth).any():
        raise InputError(
            f"gains={text}: grade {int(grade.max())} has no gain that a double holds",
            fix="list it too, or write dcg=log2",
        )
    in_order = worth[np.argsort(grade, kind="stable")]
    if (np.diff(in_order) < 0).any():
        raise InputError(f"gains={text}: a better grade must not earn less than a worse one")
    return worth


def _pairs(text: str) -> list[tuple[int, float]]:
    try:
        pairs = [part.split(":") for part in text.split(";")]
        found = [(int(level), float(gain)) for level, gain in pairs]
    except ValueError:
        raise InputError(
            f"gains={text} is not a list of GRADE:GAIN", fix="write gains=1:3.5;2:9"
        ) from None
    for level, gain in found:
        if not abs(gain) <= MAX_GAIN:  # which NaN is not either
            raise InputError(
                f"gains={text}: grade {level} cannot earn {gain:g}",
                fix=f"give finite numbers up to {MAX_GAIN:g}",
            )
    return found


def ideal_gains(
    shown: View, measure: Measure, rel: int | None = None, *, top: Ints | None = None
) -> tuple[Ints, Floats]:
    """Return query and gain of the judged documents that earn any, best first in each query."""
    by = shown.best_first()  # by grade, and so by gain: no better grade earns less
    query = shown.judged_query[by]
    tops = None if top is None else top[query]
    gain = gains(shown.judged_grade[by], measure, rel, top=tops)
    keep = gain > 0
    return query[keep], gain[keep]


def discounted(shown: View, query: Ints, rank: Ints, gain: Floats, cutoff: int | None) -> Floats:
    """Return each query's sum of gain / log2(rank + 1) over ranks up to the cutoff."""
    keep = gain > 0 if cutoff is None else (rank <= cutoff) & (gain > 0)
    return shown.total(query[keep], gain[keep] / np.log2(rank[keep] + 1.0))


def ideal_dcg(shown: View, measure: Measure, top: Ints | None = None) -> Floats:
    """Return the DCG of each query's best ranking; with `top`, one entry a query, over 2**top."""
    query, gain = ideal_gains(shown, measure, top=top)
    return discounted(shown, query, rank_within(query), gain, measure.cutoff)


_PARAMS = {
    "dcg": Param("gain and discount", "exp-log2", choices=("exp-log2", "log2")),
    "gain": Param("what a relevant document earns", "graded", choices=("graded", "binary")),
    "gains": GAINS,
    "rel": REL,
    "docs": DOCS,
}

NDCG = Spec(
    name="nDCG",
    summary="gain of the ranking, discounted by rank, as a share of the best possible",
    compute=ndcg,
    params=_PARAMS,
    trec="ndcg",
    trec_cut="ndcg_cut",
    empty="one",
    profiles={"trec": {"dcg": "log2"}},
    reference="Järvelin and Kekäläinen 2002; Burges et al. 2005",
    edges=Edges(
        fewer_results="the missing ranks earn nothing; the best ranking is cut at k, not at them",
        negative_grades="earn nothing",
    ),
)

DCG = Spec(
    name="DCG",
    summary="gain of the ranking, discounted by rank",
    compute=dcg,
    params=_PARAMS,
    high=None,
    profiles={"trec": {"dcg": "log2"}},
    reference="Järvelin and Kekäläinen 2002",
    edges=Edges(fewer_results="the missing ranks earn nothing", negative_grades="earn nothing"),
)
