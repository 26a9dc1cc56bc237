"""How far the order inside ties moves a number: the worst, the expected and the best it could be.

Documents with one score stand in an order that nothing in the run decides (by id, as in
trec_eval). The band tells what every number between these orders could have been.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.expectation import CLOSED_FORMS
from searchmark.measures.score import aggregate, docs_flag, settle, values
from searchmark.measures.spec import Measure, Values
from searchmark.measures.view import Ints, so_far, view

if TYPE_CHECKING:
    from searchmark.data.hits import Hits

N_SAMPLES = 100
SMALL_TIE = 1024
"""Ties up to this size are shuffled whole; of larger ones only the judged documents' places are
drawn."""


class Band(NamedTuple):
    """What a mean over queries is in the worst and the best order inside ties, and on average.

    `is_exact` says whether `expected` is a closed form (or ties do not matter), not an average over
    drawn orders; `is_proven` whether `worst` and `best` are the ends over all orders, not those of
    the orders that were tried. `n_queries` counts the queries that ties move.
    """

    worst: float
    expected: float
    best: float
    is_exact: bool
    is_proven: bool
    n_queries: int


def band(
    hits: "Hits",
    measure: Measure,
    plain: Values | None = None,
    *,
    n_samples: int = N_SAMPLES,
    seed: int = 0,
) -> Band | None:
    """Tell how far the order inside ties moves the mean of `measure`.

    Parameters
    ----------
    hits
        Hits that know the first and last rank of their ties.
    measure
        Any measure.
    plain
        The measure's values in the order that counts, where they are known already.
    n_samples
        How many random orders are drawn where no closed form is known.
    seed
        Makes the drawn orders the same every time.

    Returns
    -------
    The band, or None where no query has a value, or where the measure looks at results that are
    not judged (tokens, filters), of whose ties the hits know nothing.

    Notes
    -----
    Unjudged documents in a tie count as not relevant. Worst and best put the better documents last
    and first in each tie; for measures that rise whenever a better document moves up these are the
    ends over all orders. The expectation over random orders is exact for P, R, Success, RelativeP,
    Rprec, NumRelRet, RR, AP, DCG, nDCG and RBP.

    References
    ----------
    McSherry and Najork, Computing information retrieval performance measures efficiently in the
    presence of tied scores, ECIR 2008.

    Examples
    --------
    The relevant a shares its score with x: RR is 1/2 or 1, so 3/4 on average:

    >>> from searchmark.data import Qrels, Run, find_hits, prepare
    >>> from searchmark.measures.notation import parse_measure
    >>> judged = prepare(Qrels.from_dict({"q": {"a": 1}}))
    >>> found = band(find_hits(Run.from_dict({"q": {"a": 1, "x": 1}}), judged), parse_measure("RR"))
    >>> (found.worst, found.expected, found.best)
    (0.5, 0.75, 1.0)
    """
    if measure.spec.ties == "unknown":
        return None
    if plain is None:
        plain = values(hits, measure)
    if np.isnan(plain).all():
        return None
    if measure.spec.ties == "unaffected" or not (hits.tie_last > hits.tie_first).any():
        number = _mean(plain, measure)
        return Band(number, number, number, is_exact=True, is_proven=True, n_queries=0)
    # ties move the values of the queries that have any; all others keep theirs
    codes, tied = hits.tied

    def all_values(some: Values) -> Values:
        every = plain.copy()
        every[codes] = some
        return every

    worst, best = (
        all_values(values(_by_grade(tied, measure, best=b), measure)) for b in (False, True)
    )
    closed = _closed_form(tied, measure)
    expected = None if closed is None else all_values(closed)
    drawn: list[Values] = []
    if expected is None:
        orders = _random_orders(tied, n_samples, seed)
        drawn = [all_values(values(order, measure)) for order in orders]
    is_proven = measure.spec.ties == "better-first"
    if not is_proven:
        worst, best = _ends([worst, best, plain, *drawn], measure)
    return Band(
        worst=_mean(worst, measure),
        expected=_mean(expected, measure)
        if expected is not None
        else float(np.mean([_mean(order, measure) for order in drawn])),
        best=_mean(best, measure),
        is_exact=expected is not None,
        is_proven=is_proven,
        n_queries=int((np.nan_to_num(worst) != np.nan_to_num(best)).sum()),
    )


def _mean(per_query: Values, measure: Measure) -> float:
    number = aggregate(per_query, measure)
    return float("nan") if number is None else number


def _ends(tried: list[Values], measure: Measure) -> list[Values]:
    """Return the worst and the best value of each query in the orders that were tried."""
    ends = [np.min(tried, axis=0), np.max(tried, axis=0)]
    return ends if measure.spec.higher_is_better else ends[::-1]


def _closed_form(hits: "Hits", measure: Measure) -> Values | None:
    form = CLOSED_FORMS.get(measure.spec.name)
    if form is None:
        return None
    return settle(form(view(hits, docs_flag(measure)), measure), hits, measure)


def _by_grade(hits: "Hits", measure: Measure, *, best: bool) -> "Hits":
    """Put the better documents of each tie first (or last), unjudged ones between."""
    moved = np.flatnonzero(hits.tie_last > hits.tie_first)
    grade = view(hits, docs_flag(measure)).grade[moved]
    tie = _tie_numbers(hits)[moved]
    by = np.lexsort((-grade if best else grade, tie))
    place = so_far(tie, np.ones(len(tie), np.bool_)) - 1
    size = np.bincount(tie)[tie]
    is_relevant = grade[by] > 0
    from_top = hits.tie_first[moved] + place
    from_bottom = hits.tie_last[moved] - (size - 1 - place)
    rank = hits.rank.copy()
    rank[moved[by]] = np.where(is_relevant == best, from_top, from_bottom)
    return _reranked(hits, rank)


def _random_orders(hits: "Hits", n_samples: int, seed: int) -> Iterator["Hits"]:
    """Draw orders inside ties: every order of a tie is as likely as any other."""
    rng = np.random.default_rng(seed)
    tie = _tie_numbers(hits)
    starts = np.flatnonzero(np.diff(tie, prepend=-1))
    ends = np.append(starts[1:], len(tie))
    moved = np.flatnonzero(hits.tie_last[starts] > hits.tie_first[starts])
    ranks = np.tile(hits.rank, (n_samples, 1))
    for start, end in zip(starts[moved].tolist(), ends[moved].tolist(), strict=True):
        first, last = int(hits.tie_first[start]), int(hits.tie_last[start])
        places = _draw(rng, last - first + 1, end - start, n_samples)
        ranks[:, start:end] = first + places
    for rank in ranks:
        yield _reranked(hits, rank)


def _draw(rng: "np.random.Generator", size: int, n: int, n_samples: int) -> Ints:
    """Return `n` different places of `size` in each of `n_samples` rows."""
    if size <= SMALL_TIE:
        return rng.permuted(np.tile(np.arange(size), (n_samples, 1)), axis=1)[:, :n]
    return np.array([rng.choice(size, n, replace=False) for _ in range(n_samples)])


def _tie_numbers(hits: "Hits") -> Ints:
    """Return for each hit the number of its tie, counted through all queries."""
    query = hits.query
    new = np.ones(len(query), np.bool_)
    new[1:] = (query[1:] != query[:-1]) | (hits.tie_first[1:] != hits.tie_first[:-1])
    return np.cumsum(new) - 1


def _reranked(hits: "Hits", rank: NDArray[np.int64]) -> "Hits":
    """Return the hits with new ranks; documents change places inside their ties only."""
    moved = np.flatnonzero(hits.tie_last > hits.tie_first)
    by = np.arange(len(rank))
    by[moved] = moved[np.lexsort((rank[moved], _tie_numbers(hits)[moved]))]
    return replace(hits, row=hits.row[by], rank=rank[by], tie_first=rank[by], tie_last=rank[by])
