"""Discounted cumulative gain, and the same as a share of the best there could be."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, Ints, View, rank_within

MAX_EXPONENT = 50
"""Grades above this have no exponential gain that a double can add up meaningfully."""

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
    judged documents in the order of their gain. Unjudged documents earn nothing.

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
    found = discounted(shown, shown.query, shown.rank, gains(shown.grade, measure), measure.cutoff)
    best = ideal_dcg(shown, measure)
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

    Notes
    -----
    ``DCG@k = sum of gain(r) / log2(r + 1)`` over ranks r up to k. Its size depends on the grades
    and on how many documents are relevant, so it compares systems, not queries.

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
    found = discounted(shown, shown.query, shown.rank, gains(shown.grade, measure), measure.cutoff)
    return np.where(ideal_dcg(shown, measure) > 0, found, np.nan)


def gains(grade: Ints, measure: Measure, rel: int | None = None) -> Floats:
    """Return what each grade earns; below `rel` (by default the measure's) nothing."""
    params = dict(measure.params)
    worth = np.maximum(grade, 0).astype(np.float64)
    if params.get("gain") == "binary":
        worth = np.ones(len(grade))
    elif params.get("dcg") == "exp-log2":
        worth = np.exp2(np.minimum(worth, MAX_EXPONENT)) - 1
    if params.get("gains") is not None:
        worth = _listed(grade, worth, str(params["gains"]))
    least = measure.integer("rel") if rel is None else rel
    return np.where(grade >= least, worth, 0.0)


def _listed(grade: Ints, worth: Floats, text: str) -> Floats:
    worth = worth.copy()
    for level, gain in _pairs(text):
        worth[grade == level] = gain
    in_order = worth[np.argsort(grade, kind="stable")]
    if (np.diff(in_order) < 0).any():
        raise InputError(f"gains={text}: a better grade must not earn less than a worse one")
    return worth


def _pairs(text: str) -> list[tuple[int, float]]:
    try:
        pairs = [part.split(":") for part in text.split(";")]
        return [(int(level), float(gain)) for level, gain in pairs]
    except ValueError:
        raise InputError(
            f"gains={text} is not a list of GRADE:GAIN", fix="write gains=1:3.5;2:9"
        ) from None


def ideal_gains(shown: View, measure: Measure, rel: int | None = None) -> tuple[Ints, Floats]:
    """Return query and gain of the judged documents that earn any, best first in each query."""
    by = shown.best_first()  # by grade, and so by gain: no better grade earns less
    gain = gains(shown.judged_grade[by], measure, rel)
    keep = gain > 0
    return shown.judged_query[by[keep]], gain[keep]


def discounted(shown: View, query: Ints, rank: Ints, gain: Floats, cutoff: int | None) -> Floats:
    """Return each query's sum of gain / log2(rank + 1) over ranks up to the cutoff."""
    keep = gain > 0 if cutoff is None else (rank <= cutoff) & (gain > 0)
    return shown.total(query[keep], gain[keep] / np.log2(rank[keep] + 1.0))


def ideal_dcg(shown: View, measure: Measure) -> Floats:
    """Return the DCG of each query's best ranking."""
    query, gain = ideal_gains(shown, measure)
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
