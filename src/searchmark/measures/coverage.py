"""What a number rests on, and whether a system stays silent or within bounds when it should."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import NEGATIVE, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import Floats, View


def judged(shown: View, measure: Measure) -> Values:
    """Share of the results within the cutoff that somebody judged.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k or None.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]: judged results / min(k, retrieved); NaN where nothing
    was retrieved. 1 where the judgments are complete.
    """
    n_results = results_within(shown, measure.cutoff)
    n_judged = (
        n_results
        if shown.hits.judged.complete
        else shown.count(shown.query[shown.within(measure.cutoff)])
    )
    with np.errstate(invalid="ignore"):
        return np.where(n_results > 0, n_judged / np.maximum(n_results, 1), np.nan)


def results_within(shown: View, cutoff: int | None) -> Floats:
    """Return how many results each query has within the cutoff."""
    n = shown.n_retrieved if cutoff is None else np.minimum(shown.n_retrieved, cutoff)
    return n.astype(np.float64)


def unjudged(shown: View, measure: Measure) -> Values:
    """Share of the first k places that hold a result nobody judged.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `cutoff` k; `negative`, what a negative grade says.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; the divisor is k even where fewer were retrieved, so this
    is not 1 - Judged@k. 0 where judgments are complete.

    Examples
    --------
    Of the first four places two hold unjudged results and one holds none:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 3.0, "x": 2.0, "y": 1.0}}
    >>> score_dicts({"q": {"a": 1}}, run, "Unjudged@4")["q"]
    0.5
    """
    if shown.hits.judged.complete:
        return np.zeros(shown.n_queries)
    known = shown.within(measure.cutoff)
    if measure["negative"] == "unjudged":
        known &= shown.grade >= 0
    n_known = shown.count(shown.query[known])
    return (results_within(shown, measure.cutoff) - n_known) / (measure.cutoff or 1)


def no_answer(shown: View, measure: Measure) -> Values:
    """1 where nothing is relevant and the system returned nothing; 0 where it returned something.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `rel`, the least grade that is relevant.

    Returns
    -------
    Values, shape (n_queries,), 0 or 1; NaN where something is relevant, so the mean is over the
    queries without an answer. A query that failed counts as 0: an error is no refusal.
    """
    silent = (shown.n_retrieved == 0) & ~shown.hits.failed
    nothing = shown.n_relevant(measure.integer("rel")) == 0
    return np.where(nothing, silent.astype(np.float64), np.nan)


def filter_ok(shown: View, measure: Measure) -> Values:
    """Share of the results within the cutoff that satisfy the query's hard filters.

    Parameters
    ----------
    shown
        Hits by query and rank, with `violations`.
    measure
        `cutoff` k or None.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where the query has no filters or nothing was
    retrieved.

    Raises
    ------
    InputError
        Where filters or corpus are not known, so that nothing can be said.
    """
    if shown.hits.violations is None or shown.hits.has_filters is None:
        raise InputError(
            "FilterOK needs a corpus and queries with 'filters'",
            fix='add "filters": {"field": "value"} to the queries, or leave FilterOK out',
        )
    query, rank = shown.hits.violations
    wrong = shown.count(query if measure.cutoff is None else query[rank <= measure.cutoff])
    n_results = results_within(shown, measure.cutoff)
    right = 1 - wrong / np.maximum(n_results, 1)
    return np.where(shown.hits.has_filters & (n_results > 0), right, np.nan)


JUDGED = Spec(
    name="Judged",
    summary="share of the results within the cutoff that somebody judged",
    compute=judged,
    has_ceiling=False,
    empty=None,
    missing=None,
    ties="sampled",
    edges=Edges(
        nothing_relevant="no matter",
        nothing_retrieved="undefined, left out",
        nothing_judged="0",
        fewer_results="the divisor is how many there are",
        negative_grades="judged",
    ),
)

UNJUDGED = Spec(
    name="Unjudged",
    summary="share of the first k places that hold a result nobody judged",
    compute=unjudged,
    cutoff="required",
    params={"negative": NEGATIVE},
    trec_cut="unj",
    higher_is_better=False,
    has_ceiling=False,
    empty=None,
    ties="sampled",
    edges=Edges(
        nothing_relevant="no matter",
        nothing_judged="every result counts",
        fewer_results="the missing places count as judged",
        negative_grades="judged; with `negative=unjudged` not judged",
    ),
)

NO_ANSWER = Spec(
    name="NoAnswer",
    summary="over queries with nothing relevant: 1 where nothing was returned",
    compute=no_answer,
    cutoff="none",
    params={"rel": REL},
    empty=None,
    missing=None,
    ties="unaffected",
    edges=Edges(
        nothing_relevant="1 or 0; where something is relevant undefined, left out",
        nothing_retrieved="1 where nothing is relevant, 0 where the query failed",
        nothing_judged="no matter",
        fewer_results="no matter",
    ),
)

FILTER_OK = Spec(
    name="FilterOK",
    summary="share of the results within the cutoff that satisfy the query's hard filters",
    compute=filter_ok,
    has_ceiling=False,
    empty=None,
    missing=None,
    ties="unknown",
    edges=Edges(
        nothing_relevant="no matter",
        nothing_retrieved="undefined, left out; so is a query without filters",
        nothing_judged="no matter",
        fewer_results="the divisor is how many there are",
        negative_grades="no matter",
    ),
)
