"""What a number rests on, and whether a system stays silent or within bounds when it should."""

import numpy as np

from searchmark.errors import InputError
from searchmark.measures.spec import REL, Measure, Spec, Values
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


def num_ret(shown: View, measure: Measure) -> Values:
    """Count the retrieved documents.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        No parameters.

    Returns
    -------
    Counts, shape (n_queries,), 0 or more.
    """
    return results_within(shown, measure.cutoff)


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
)

NUM_RET = Spec(
    name="NumRet",
    summary="number of documents retrieved",
    compute=num_ret,
    high=None,
    has_ceiling=False,
    empty=None,
    trec="num_ret",
)

NO_ANSWER = Spec(
    name="NoAnswer",
    summary="over queries with nothing relevant: 1 where nothing was returned",
    compute=no_answer,
    cutoff="none",
    params={"rel": REL},
    empty=None,
    missing=None,
)

FILTER_OK = Spec(
    name="FilterOK",
    summary="share of the results within the cutoff that satisfy the query's hard filters",
    compute=filter_ok,
    has_ceiling=False,
    empty=None,
    missing=None,
)
