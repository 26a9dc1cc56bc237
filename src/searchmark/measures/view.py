"""Hits as one measure sees them: grades with `docs=` applied, relevant documents counted."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, nearest

if TYPE_CHECKING:
    from searchmark.data.hits import Hits

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """Hits and judged grades after ``docs=FLAG``: documents without the flag count as grade 0.

    `query`, `rank` and `grade` have one entry a hit, by query and rank; `judged_query` and
    `judged_grade` one a judgment, by query.
    """

    hits: "Hits"
    query: Ints
    rank: Ints
    grade: Ints
    judged_query: Ints
    judged_grade: Ints

    @property
    def n_queries(self) -> int:
        """How many queries are evaluated."""
        return self.hits.judged.n_queries

    @property
    def n_retrieved(self) -> Ints:
        """How many documents each query retrieved."""
        return self.hits.n_retrieved

    def n_relevant(self, rel: int) -> Floats:
        """Return how many documents each query has with a grade of at least `rel`."""
        if not self.has_own_grades:
            return self.hits.judged.n_relevant(rel)
        return self.count(self.judged_query[self.judged_grade >= rel])

    @property
    def has_own_grades(self) -> bool:
        """Whether the grades are other than those judged, because of ``docs=FLAG``."""
        return self.judged_grade is not self.hits.judged.grade

    def best_first(self) -> Ints:
        """Return the rows of the judgments by query and falling grade."""
        if not self.has_own_grades:
            return self.hits.judged.best_first
        return np.lexsort((-self.judged_grade, self.judged_query))

    def count(self, query: Ints) -> Floats:
        """Return how often each query occurs in `query`."""
        return np.bincount(query, minlength=self.n_queries).astype(np.float64)

    def total(self, query: Ints, amount: Floats) -> Floats:
        """Return the sum of `amount` of each query, added in rank order."""
        return np.bincount(query, amount, self.n_queries).astype(np.float64)

    def within(self, cutoff: int | None) -> NDArray[np.bool_]:
        """Tell which hits stand within the cutoff."""
        if cutoff is None:
            return np.ones(len(self.rank), np.bool_)
        return self.rank <= cutoff


def view(hits: "Hits", docs: str | None = None) -> View:
    """Return the hits as a measure with ``docs=docs`` sees them."""
    judged = hits.judged
    grade = judged.grade
    if docs is not None:
        if docs not in judged.flags:
            raise InputError(
                f"docs={docs} names no true-or-false field of the corpus",
                fix=nearest(docs, judged.flags),
            )
        grade = np.where(judged.flags[docs], grade, np.minimum(grade, 0))
    return View(hits, hits.query, hits.rank, grade[hits.row], judged.query, grade)


def ideal(shown: View, rel: int) -> View:
    """Return the best ranking there can be: every relevant document, best grade first, no other."""
    by = shown.best_first()
    by = by[shown.judged_grade[by] >= rel]
    query = shown.judged_query[by]
    rank = rank_within(query)
    hits = replace(
        shown.hits,
        row=by,
        rank=rank,
        tie_first=rank,
        tie_last=rank,
        n_retrieved=np.bincount(query, minlength=shown.n_queries),
        answered=np.ones(shown.n_queries, np.bool_),
        failed=np.zeros(shown.n_queries, np.bool_),
        tokens=None if shown.hits.tokens is None else np.zeros(len(by)),
        violations=None if shown.hits.violations is None else (query[:0], query[:0]),
    )
    return replace(shown, hits=hits, query=query, rank=rank, grade=shown.judged_grade[by])


def so_far(query: Ints, flag: NDArray[np.bool_]) -> Ints:
    """Return how many entries of its query are true up to and including each entry."""
    counted = np.cumsum(flag)
    starts = _starts(query)
    before: Ints = counted[starts] - flag[starts]
    return counted - np.repeat(before, np.diff(np.append(starts, len(query))))


def running(query: Ints, amount: Floats, step: np.ufunc = np.add) -> Floats:
    """Return `amount` added up (or what `step` does) within each query, entry by entry.

    One query at a time, because a sum over all of them minus its start loses the last bits.
    """
    out = np.empty(len(amount))
    starts = _starts(query).tolist()
    for start, end in zip(starts, [*starts, len(query)][1:], strict=True):
        step.accumulate(amount[start:end], out=out[start:end])
    return out


def rank_within(query: Ints) -> Ints:
    """Return 1, 2, 3, ... within each stretch of equal entries of the sorted `query`."""
    starts = _starts(query)
    lengths = np.diff(np.append(starts, len(query)))
    return np.arange(len(query)) - np.repeat(starts, lengths) + 1


def _starts(query: Ints) -> Ints:
    if not len(query):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], query[1:] != query[:-1]]))
