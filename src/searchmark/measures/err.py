"""Expected reciprocal rank: where a reader who stops at a good answer is expected to stop."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Param, Spec, Values
from searchmark.measures.view import Floats, Ints, View, running


def expected_reciprocal_rank(shown: View, measure: Measure) -> Values:
    """Reciprocal of the rank at which a reader is expected to be satisfied.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None; `max`, the highest grade of the scale; `rel` (a lower grade satisfies
        nobody).

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Raises
    ------
    InputError
        Where a grade is above `max`.

    Notes
    -----
    ``sum over ranks r of (1/r) * p(r) * product of (1 - p(i)) over i < r`` with
    ``p = (2**grade - 1) / 2**max``. The scale is that of the judgments' design, not of one query,
    so that values of queries compare; gdeval's is 4.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance,
    CIKM 2009.

    Examples
    --------
    Grades 4 and 4 at ranks 1 and 2: 15/16 + 1/2 * 15/16 * 1/16:

    >>> from searchmark.measures.score import score_dicts
    >>> score_dicts({"q": {"a": 4, "b": 4}}, {"q": {"a": 2.0, "b": 1.0}}, "ERR")["q"]
    0.966796875
    """
    top = measure.integer("max")
    if len(shown.judged_grade) and int(shown.judged_grade.max()) > top:
        raise InputError(
            f"{measure}: the judgments have grade {int(shown.judged_grade.max())}, above max={top}",
            fix=f"write ERR(max={int(shown.judged_grade.max())}), the top of the scale",
        )
    rel = measure.integer("rel")
    found = shown.within(measure.cutoff) & (shown.grade >= rel)
    query, rank = shown.query[found], shown.rank[found]
    # by exponents alone, since 2**max need not be a number that a double holds
    stops = np.exp2(shown.grade[found] - float(top)) - np.exp2(-float(top))
    values = shown.total(query, stops * _arrives(query, stops) / rank)
    return np.where(shown.n_relevant(rel) > 0, values, np.nan)


def _arrives(query: Ints, stops: Floats) -> Floats:
    """Return the probability that the reader gets as far as each entry."""
    passes = running(query, 1 - stops, np.multiply)
    first = np.ones(len(query), np.bool_)
    first[1:] = query[1:] != query[:-1]
    return np.where(first, 1.0, np.concatenate([[1.0], passes[:-1]]) if len(query) else passes)


ERR = Spec(
    name="ERR",
    summary="expected reciprocal of the rank at which a reader is satisfied",
    compute=expected_reciprocal_rank,
    params={
        "max": Param("the highest grade of the scale", 4, low=1, kind="whole number"),
        "rel": REL,
        "docs": DOCS,
    },
    reference="Chapelle et al. 2009",
    edges=Edges(negative_grades="satisfy nobody"),
)
