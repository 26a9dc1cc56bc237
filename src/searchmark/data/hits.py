"""Hits: what a run is reduced to once, and all that measures see of it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.data.judged import Judged, starts

Order = Literal["score", "rank"]
ScoreType = Literal["float64", "float32"]


@dataclass(frozen=True, eq=False)  # without slots: what is derived is kept
class Hits:
    """The retrieved documents of a run that are judged, with their ranks, and each query's totals.

    A hit is one entry of `row` (which judgment), `rank` (from 1), `tie_first` and `tie_last` (the
    ranks of the first and last document that share its score). Hits stand by query, then rank.
    A query's totals have one entry a query of `judged`: `n_retrieved`; `answered`, whether the
    system gave an answer, be it an empty one; `failed`, whether it ended in an error. `violations`
    holds (query, rank) of retrieved documents that break the query's hard filters, where known.
    `tokens` has one entry a retrieved document, by query and rank, where the run tells them.
    """

    judged: Judged
    row: NDArray[np.int64]
    rank: NDArray[np.int64]
    tie_first: NDArray[np.int64]
    tie_last: NDArray[np.int64]
    n_retrieved: NDArray[np.int64]
    answered: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    has_filters: NDArray[np.bool_] | None = None
    violations: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    tokens: NDArray[np.float64] | None = None
    n_unjudged_queries: int = 0
    n_duplicates: int = 0

    @cached_property
    def query(self) -> NDArray[np.int64]:
        """The query code of each hit."""
        return self.judged.query[self.row]

    @cached_property
    def grade(self) -> NDArray[np.int64]:
        """The grade of each hit."""
        return self.judged.grade[self.row]

    @cached_property
    def tied(self) -> "tuple[NDArray[np.int64], Hits]":
        """The queries in which a judged document shares its score, and the hits of those alone."""
        # not np.unique: its first call imports all of numpy.ma
        codes = np.flatnonzero(np.bincount(self.query[self.tie_last > self.tie_first]))
        return codes, of_queries(self, codes)


def compared(score: NDArray[np.float64], scores: ScoreType) -> NDArray[np.float64]:
    """Return scores as they are compared: as doubles, or rounded to 32-bit floats first."""
    if scores == "float64":
        return score
    with np.errstate(over="ignore"):  # what is too large for a float is infinite, as in C
        return score.astype(np.float32).astype(np.float64)


def of_queries(hits: Hits, codes: NDArray[np.int64]) -> Hits:
    """Return the hits and judgments of some queries, as if there were no others."""
    judged = hits.judged
    code = np.full(judged.n_queries, -1)
    code[codes] = np.arange(len(codes))
    kept = np.flatnonzero(code[judged.query] >= 0)
    row = np.full(len(judged.query), -1)
    row[kept] = np.arange(len(kept))
    inside = row[hits.row] >= 0
    query = code[judged.query[kept]]
    part = replace(
        judged,
        query_ids=tuple(judged.query_ids[c] for c in codes.tolist()),
        query=query,
        doc_ids=judged.doc_ids.of(kept),
        grade=judged.grade[kept],
        start=starts(query, len(codes)),
        flags={name: flag[kept] for name, flag in judged.flags.items()},
    )
    return Hits(
        judged=part,
        row=row[hits.row[inside]],
        rank=hits.rank[inside],
        tie_first=hits.tie_first[inside],
        tie_last=hits.tie_last[inside],
        n_retrieved=hits.n_retrieved[codes],
        answered=hits.answered[codes],
        failed=hits.failed[codes],
    )


def mark_calls(hits: Hits, *, answered: Collection[str], failed: Collection[str]) -> Hits:
    """Return `hits` with what the calls tell: an empty answer is an answer, a failure is none."""
    ids = hits.judged.query_ids
    failed_mask = np.array([q in failed for q in ids], np.bool_)
    answered_mask = np.array([q in answered for q in ids], np.bool_) & ~failed_mask
    return replace(hits, answered=answered_mask, failed=failed_mask)
