"""Expected values of measures over random orders inside ties, in closed form.

McSherry and Najork, Computing information retrieval performance measures efficiently in the
presence of tied scores, ECIR 2008; for the measures they leave out by the same reasoning.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.ndcg import gains, ideal_dcg, top_grades
from searchmark.measures.rbp import hit_gain
from searchmark.measures.rprec import r_places
from searchmark.measures.spec import Measure, Values
from searchmark.measures.view import Floats, Ints, View, rank_within

ClosedForm = Callable[[View, Measure], Values]


def _over(part: Floats, whole: Floats | float, shown: View, measure: Measure) -> Values:
    """Return part / whole, NaN where nothing is relevant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(np.asarray(whole) > 0, part / whole, 0.0)
    return np.where(shown.n_relevant(measure.integer("rel")) > 0, share, np.nan)


def _expected_found(shown: View, measure: Measure, places: Floats | None = None) -> Floats:
    """Return how many relevant documents are expected among the first places of each query."""
    if places is None:
        limit = np.inf if measure.cutoff is None else float(measure.cutoff)
        places = np.full(shown.n_queries, limit)
    relevant = shown.grade >= measure.integer("rel")
    query, first, last = _places(shown, relevant)
    inside = np.clip(places[query] - first + 1, 0, last - first + 1)
    return shown.total(query, inside / (last - first + 1))


def _places(shown: View, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Return query, first and last possible rank of the chosen hits."""
    hits = shown.hits
    return shown.query[chosen], hits.tie_first[chosen], hits.tie_last[chosen]


def _precision(shown: View, measure: Measure) -> Values:
    return _over(_expected_found(shown, measure), float(measure.cutoff or 1), shown, measure)


def _recall(shown: View, measure: Measure) -> Values:
    n_relevant = shown.n_relevant(measure.integer("rel"))
    return _over(_expected_found(shown, measure), n_relevant, shown, measure)


def _relative_precision(shown: View, measure: Measure) -> Values:
    n_relevant = shown.n_relevant(measure.integer("rel"))
    places = np.minimum(n_relevant, float(measure.cutoff or 1))
    return _over(_expected_found(shown, measure), places, shown, measure)


def _r_precision(shown: View, measure: Measure) -> Values:
    places = r_places(shown, measure)
    return _over(_expected_found(shown, measure, places), places, shown, measure)


def _dcg(shown: View, measure: Measure, top: Ints | None = None) -> Floats:
    gain = gains(shown.grade, measure, top=None if top is None else top[shown.query])
    query, first, last = _places(shown, gain > 0)
    weight = _mean_weight(first, last, lambda rank: 1 / np.log2(rank + 1), measure.cutoff)
    return shown.total(query, gain[gain > 0] * weight)


def _ndcg(shown: View, measure: Measure) -> Values:
    top = top_grades(shown, measure)
    best = ideal_dcg(shown, measure, top)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, _dcg(shown, measure, top) / best, np.nan)


def _plain_dcg(shown: View, measure: Measure) -> Values:
    return np.where(ideal_dcg(shown, measure) > 0, _dcg(shown, measure), np.nan)


def _rbp(shown: View, measure: Measure) -> Values:
    p = measure.number("p")
    relevant = shown.grade >= measure.integer("rel")
    query, first, last = _places(shown, relevant)
    weight = _mean_weight(first, last, lambda rank: np.power(p, rank - 1), measure.cutoff)
    total = shown.total(query, hit_gain(shown, measure)[relevant] * weight)
    return _over((1 - p) * total, 1.0, shown, measure)


def _average_precision(shown: View, measure: Measure) -> Values:
    """Add up, over the places of each tie, the chance of a relevant document times its precision.

    At place i of a tie of n with t relevant ones, that chance is t/n, and the i - 1 places before
    it are expected to hold (i - 1)(t - 1)/(n - 1) others.
    """
    tie = _ties(shown, measure)
    size = (tie.last - tie.first + 1).astype(np.float64)
    end = tie.last if measure.cutoff is None else np.minimum(tie.last, measure.cutoff)
    places = np.maximum(end - tie.first + 1, 0)
    inverse = _summed(tie.first, end, lambda rank: 1 / rank)
    others = (tie.n_relevant - 1) / np.maximum(size - 1, 1)
    spread = (tie.n_above + 1) * inverse + others * (places - tie.first * inverse)
    # a document that is not tied contributes as ever, to the last bit
    at_tie = np.where(
        size > 1,
        tie.n_relevant / size * spread,
        np.where(places > 0, (tie.n_above + 1) / tie.first, 0.0),
    )
    n_relevant = shown.n_relevant(measure.integer("rel"))
    return _over(shown.total(tie.query, at_tie), n_relevant, shown, measure)


def _reciprocal_rank(shown: View, measure: Measure) -> Values:
    return _of_first_tie(shown, measure, _first_at)


def _success(shown: View, measure: Measure) -> Values:
    return _of_first_tie(shown, measure, _any_within)


def _of_first_tie(
    shown: View, measure: Measure, chance: Callable[[int, int, int, float], float]
) -> Values:
    """Apply `chance` to rank, size and relevant documents of each query's first tie with any."""
    tie = _ties(shown, measure)
    limit = np.inf if measure.cutoff is None else float(measure.cutoff)
    result = measure.spec.compute(shown, measure)
    # only where that document is tied is there anything to expect
    for at in np.flatnonzero((tie.n_above == 0) & (tie.last > tie.first)).tolist():
        first, size = int(tie.first[at]), int(tie.last[at] - tie.first[at] + 1)
        result[tie.query[at]] = chance(first, size, int(tie.n_relevant[at]), limit)
    return result


def _first_at(first: int, size: int, n_relevant: int, limit: float) -> float:
    """Return the expected 1/rank of the first of `n_relevant` among `size` tied documents."""
    place = np.arange(size - n_relevant + 1)
    none_here = (size - n_relevant - place) / (size - place)
    none_before = np.concatenate([[1.0], np.cumprod(none_here)[:-1]])
    rank = first + place
    return float((none_before * n_relevant / (size - place) / rank)[rank <= limit].sum())


def _any_within(first: int, size: int, n_relevant: int, limit: float) -> float:
    """Return the chance that one of `n_relevant` among `size` stands within the cutoff."""
    place = np.arange(int(min(max(limit - first + 1, 0), size)))
    return 1.0 - float(np.prod(np.maximum(size - n_relevant - place, 0) / (size - place)))


class _Ties(NamedTuple):
    """Ties that hold a relevant document: query, first and last rank, how many, how many above."""

    query: Ints
    first: Ints
    last: Ints
    n_relevant: Ints
    n_above: Ints


def _ties(shown: View, measure: Measure) -> _Ties:
    relevant = shown.grade >= measure.integer("rel")
    query, first = shown.query[relevant], shown.hits.tie_first[relevant]
    new = np.ones(len(query), np.bool_)
    new[1:] = (query[1:] != query[:-1]) | (first[1:] != first[:-1])
    starts = np.flatnonzero(new)
    return _Ties(
        query[new],
        first[new],
        shown.hits.tie_last[relevant][new],
        np.diff(np.append(starts, len(query))),
        rank_within(query)[new] - 1,
    )


def _mean_weight(
    first: Ints, last: Ints, weight: Callable[[Floats], Floats], cutoff: int | None
) -> Floats:
    """Return what `weight` gives on average over the ranks of a tie, 0 beyond the cutoff."""
    end = last if cutoff is None else np.minimum(last, cutoff)
    mean = _summed(first, end, weight) / (last - first + 1)
    # a document that is not tied weighs as ever, to the last bit
    alone = np.where(end >= first, weight(first.astype(np.float64)), 0.0)
    return np.where(last > first, mean, alone)


def _summed(first: Ints, last: Ints, weight: Callable[[Floats], Floats]) -> Floats:
    """Return the sum of `weight` over the ranks from first to last; 0 where there are none."""
    upto = np.cumsum(weight(np.arange(1.0, last.max(initial=0) + 1)))
    padded = np.concatenate([[0.0], upto])
    return np.where(
        last >= first, padded[np.maximum(last, 0)] - padded[np.minimum(first, last + 1) - 1], 0.0
    )


CLOSED_FORMS: Mapping[str, ClosedForm] = {
    "AP": _average_precision,
    "DCG": _plain_dcg,
    "NumRelRet": lambda shown, measure: _expected_found(shown, measure),
    "P": _precision,
    "R": _recall,
    "RBP": _rbp,
    "RR": _reciprocal_rank,
    "RelativeP": _relative_precision,
    "Rprec": _r_precision,
    "Success": _success,
    "nDCG": _ndcg,
}
"""Name of a measure -> its expected values, NaN where nothing is relevant."""
