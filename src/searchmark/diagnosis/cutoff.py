"""Where to cut off low scores, so that a query without an answer gets none, and what that costs."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf, nextafter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from searchmark.diagnosis.worth import can_be_answered

if TYPE_CHECKING:
    from searchmark.diagnosis.evidence import Evidence, Ranking

WORTH = 1e-9
"""A smaller gain than this is one of rounding."""


class Cutoff(NamedTuple):
    """What dropping every result with a score below `score` would do.

    `n_silenced` queries without an answer would get nothing any more. `n_lost` relevant results
    within k would be lost, `n_emptied` queries would lose all they have, and the mean nDCG@k would
    change by `change` (0 or less, except where grades earn a negative gain).
    """

    score: float
    n_silenced: int
    n_lost: int
    n_emptied: int
    change: float


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The cut-offs of one system, lowest first.

    `n_answered` of `n_no_answer` queries without an answer get results. `n_relevant` relevant
    results stand within k over all other queries; `tops` are those queries' top scores, rising.
    `suggested` is None where no cut-off is worth its cost.
    """

    system: str
    n_no_answer: int
    n_answered: int
    n_relevant: int
    tops: tuple[float, ...]
    candidates: tuple[Cutoff, ...]
    suggested: Cutoff | None

    @property
    def median_top(self) -> float | None:
        """The median top score of the queries that have an answer; None without any."""
        return median(self.tops) if self.tops else None

    def share_below(self, score: float) -> float | None:
        """Return the share of the queries with an answer whose top score is lower, 0 to 1."""
        return bisect_left(self.tops, score) / len(self.tops) if self.tops else None

    def silencing(self, score: float) -> Cutoff:
        """Return the lowest cut-off that silences a query without an answer and this top score."""
        return next(c for c in self.candidates if c.score > score)


class Scores(NamedTuple):
    """What cut-offs are reckoned from, of one system.

    `no_answer` are the top scores of queries without an answer, `best` the highest score of a
    relevant result of each other query that has one within k, `relevant` the scores of all relevant
    results within k, and `parts` score and share of nDCG@k of all results that have one. The mean
    is over `n_counted` queries.
    """

    no_answer: Sequence[float]
    best: Sequence[float]
    relevant: Sequence[float]
    parts: Sequence[tuple[float, float]]
    n_counted: int


def cutoffs_of(system: str, setup: "Evidence") -> Cutoffs:
    """Return what cutting off low scores of a system would silence, and what it would cost.

    Parameters
    ----------
    system
        A system whose scores mean the same from query to query and fall along its rankings.
    setup
        All queries: those known to have no answer give what could be silenced, those that have one
        in the corpus give the cost. A failed call tells neither.

    Returns
    -------
    Cutoffs
        A candidate for each different top score of a query without an answer, and the one to try.
    """
    asked = [(q, r) for q in setup.queries if not (r := q.ranking(system)).is_failure]
    unanswerable = [r for q, r in asked if q.is_unanswerable]
    answerable = [(q, r) for q, r in asked if can_be_answered(q, setup) and r.value is not None]
    relevant = [_relevant(r, q.k) for q, r in answerable]
    scores = Scores(
        no_answer=[top for r in unanswerable if (top := top_score(r)) is not None],
        best=[max(found) for found in relevant if found],
        relevant=[score for found in relevant for score in found],
        parts=[
            (d.score, d.part / q.ideal)
            for q, r in answerable
            for d in r.within(q.k)
            if d.part and d.score is not None
        ],
        n_counted=len(setup.values(system)),
    )
    candidates = tuple(candidates_of(scores))
    return Cutoffs(
        system=system,
        n_no_answer=len(unanswerable),
        n_answered=len(scores.no_answer),
        n_relevant=len(scores.relevant),
        tops=tuple(sorted(top for _, r in answerable if (top := top_score(r)) is not None)),
        candidates=candidates,
        suggested=suggest(candidates, scores.n_counted),
    )


def top_score(ranking: "Ranking") -> float | None:
    """Return the score of the first result; None without a result or a score."""
    return ranking.documents[0].score if ranking.documents else None


def candidates_of(scores: Scores) -> Iterator[Cutoff]:
    """Yield a cut-off above each different top score of a query without an answer, lowest first.

    It lies between that score and the next higher one of a relevant result or of another query
    without an answer, so it is as cheap as any that silences the query, and has few digits.

    Examples
    --------
    Two queries without an answer, and two others with one relevant result each, at rank 1:

    >>> scores = Scores([0.2, 0.4], [0.3, 0.8], [0.3, 0.8], [(0.3, 1.0), (0.8, 1.0)], 4)
    >>> for c in candidates_of(scores): print(c.score, c.n_silenced, c.n_lost, c.change)
    0.25 1 0 0.0
    0.6 2 1 -0.25
    """
    tops, relevant, best = (sorted(s) for s in (scores.no_answer, scores.relevant, scores.best))
    parts = sorted(scores.parts)
    lost_with = [0.0, *accumulate(share for _, share in parts)]
    bounds = sorted({*tops, *relevant})
    for top in sorted(set(tops)):
        above = bisect_right(bounds, top)
        cut = between(top, bounds[above] if above < len(bounds) else inf)
        lost = lost_with[bisect_left(parts, (cut, -inf))]
        yield Cutoff(
            score=cut,
            n_silenced=bisect_left(tops, cut),
            n_lost=bisect_left(relevant, cut),
            n_emptied=bisect_left(best, cut),
            change=-lost / scores.n_counted if lost else 0.0,
        )


def suggest(candidates: Sequence[Cutoff], n_counted: int) -> Cutoff | None:
    """Return the cut-off that does the most good; None where none does more good than harm.

    Notes
    -----
    Every query counts alike: a silenced one is worth 1, an answered one costs the nDCG@k that it
    loses. Of equally good ones the lowest is taken.
    """
    worth = {c: c.n_silenced + c.change * n_counted for c in candidates}
    best = max(worth.values(), default=0.0)
    if best <= WORTH:
        return None
    return next(c for c in candidates if worth[c] > best - WORTH)


def between(low: float, high: float) -> float:
    """Return a number above `low` and at most `high`, near their middle, with few digits.

    Examples
    --------
    >>> between(0.2892, 0.2979), between(3.0, 5.0), between(0.9, float("inf"))
    (0.29, 4.0, 0.91)
    """
    if high == inf:
        return max(round(low + 0.01, 2), nextafter(low, inf))
    middle = low + (high - low) / 2
    rounded = (round(middle, digits) for digits in range(1, 16))
    return next((x for x in rounded if low < x <= high), high)


def _relevant(ranking: "Ranking", k: int) -> list[float]:
    """Return the scores of the relevant results within k."""
    return [d.score for d in ranking.within(k) if d.gain > 0 and d.score is not None]
