"""nDCG averaged over points of a ranking instead of read at one cutoff, as in trec_eval."""

from typing import NamedTuple

import numpy as np

from searchmark.measures.ndcg import GAINS, gains, ideal_gains
from searchmark.measures.spec import DOCS, REL, Edges, Measure, Spec, Values
from searchmark.measures.view import Floats, Ints, View, rank_within, running


class _Curve(NamedTuple):
    """DCG as it grows: one entry a document that earns a gain, by query and rank.

    `first` and `n` tell where a query's entries start and how many there are.
    """

    query: Ints
    rank: Ints
    gain: Floats
    dcg: Floats
    first: Ints
    n: Ints

    def at(self, query: Ints, rank: Ints) -> Floats:
        """Return the DCG of each query up to the rank."""
        span = max(int(self.rank.max(initial=0)), int(rank.max(initial=0))) + 1
        below = np.searchsorted(self.query * span + self.rank, query * span + rank, side="right")
        n = below - self.first[query]
        padded = np.append(self.dcg, 0.0)
        return np.where(n > 0, padded[self.first[query] + n - 1], 0.0)

    def whole(self) -> Floats:
        """Return the DCG of each query's whole ranking."""
        padded = np.append(self.dcg, 0.0)
        return np.where(self.n > 0, padded[self.first + self.n - 1], 0.0)


def ndcg_at_relevant(shown: View, measure: Measure) -> Values:
    """NDCG at the rank of each relevant document, averaged over all relevant documents.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `gains` of single grades; without them the gain is the grade. `rel` (a lower grade earns
        nothing).

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing earns a gain.

    Notes
    -----
    A document that is not retrieved counts with the nDCG at the end of the ranking.

    References
    ----------
    trec_eval (Buckley), experimental.

    Examples
    --------
    Of two documents of grade 1 one is found, at rank 1: nDCG there is 1, and at the end
    1 / (1 + 1/log2(3)) = 0.6131 for the other:

    >>> from searchmark.measures.score import score_dicts
    >>> run = {"q": {"a": 2.0, "x": 1.0}}
    >>> round(score_dicts({"q": {"a": 1, "b": 1}}, run, "nDCGRel")["q"], 4)
    0.8066
    """
    got, best = _curve_of(shown, measure), _best(shown, measure)
    with np.errstate(invalid="ignore", divide="ignore"):
        at_hits = shown.total(got.query, got.dcg / best.at(got.query, got.rank))
        total = at_hits + (best.n - got.n) * got.whole() / best.whole()
        return np.where(best.n > 0, total / best.n, np.nan)


def ndcg_at_levels(shown: View, measure: Measure) -> Values:
    """NDCG averaged over the ranks where the best ranking passes from one grade to the next.

    Parameters
    ----------
    shown
        Hits by query and rank.
    measure
        `gains`, as in `ndcg_at_relevant`; `rel`: a query without a document of that grade is
        undefined, but lower grades earn their gain.

    Returns
    -------
    Values, shape (n_queries,), in [0, 1]; NaN where nothing is relevant.

    Notes
    -----
    With five documents of grade 3 and three of grade 1: nDCG at ranks 5 and 8, and at the end
    where more than one result follows rank 8, averaged.

    References
    ----------
    trec_eval (Buckley), experimental.

    Examples
    --------
    Grades 2 and 1, the second found at rank 1: nDCG@1 = 1/2, nDCG@2 = 1 / (2 + 1/log2(3)):

    >>> from searchmark.measures.score import score_dicts
    >>> round(score_dicts({"q": {"a": 2, "b": 1}}, {"q": {"b": 1.0}}, "RnDCG")["q"], 4)
    0.44
    """
    # here `rel` only says which queries count, not what earns a gain
    got, best = _curve_of(shown, measure, rel=1), _best(shown, measure, rel=1)
    is_last = np.ones(len(best.query), np.bool_)
    is_last[:-1] = (best.query[1:] != best.query[:-1]) | (best.gain[1:] != best.gain[:-1])
    query, rank = best.query[is_last], best.rank[is_last]
    n_points = shown.count(query)
    total = shown.total(query, got.at(query, rank) / best.at(query, rank))
    has_tail = (shown.n_retrieved > best.n + 1) & (best.n > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = total + np.where(has_tail, got.whole() / best.whole(), 0.0)
        is_defined = (best.n > 0) & (shown.n_relevant(measure.integer("rel")) > 0)
        return np.where(is_defined, total / (n_points + has_tail), np.nan)


def _curve_of(shown: View, measure: Measure, rel: int | None = None) -> _Curve:
    gain = gains(shown.grade, measure, rel)
    keep = gain > 0
    return _curve(shown, shown.query[keep], shown.rank[keep], gain[keep])


def _best(shown: View, measure: Measure, rel: int | None = None) -> _Curve:
    query, gain = ideal_gains(shown, measure, rel)
    return _curve(shown, query, rank_within(query), gain)


def _curve(shown: View, query: Ints, rank: Ints, gain: Floats) -> _Curve:
    dcg = running(query, gain / np.log2(rank + 1.0))
    first = np.searchsorted(query, np.arange(shown.n_queries))
    return _Curve(query, rank, gain, dcg, first, np.bincount(query, minlength=shown.n_queries))


_EDGES = Edges(fewer_results="what is not retrieved earns nothing", negative_grades="earn nothing")

NDCG_REL = Spec(
    name="nDCGRel",
    summary="nDCG at the rank of each relevant document, averaged",
    compute=ndcg_at_relevant,
    cutoff="none",
    params={"gains": GAINS, "rel": REL, "docs": DOCS},
    trec="ndcg_rel",
    reference="trec_eval, experimental",
    ties="sampled",
    edges=_EDGES,
)

R_NDCG = Spec(
    name="RnDCG",
    summary="nDCG averaged over the ranks where the best ranking changes grade",
    compute=ndcg_at_levels,
    cutoff="none",
    params={"gains": GAINS, "rel": REL, "docs": DOCS},
    trec="Rndcg",
    reference="trec_eval, experimental",
    edges=_EDGES,
)
