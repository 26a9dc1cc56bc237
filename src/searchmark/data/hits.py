"""The one ordering rule: a run and its judgments are reduced to hits, and measures see only those.

Inside a query documents stand by score descending, then by document id descending as bytes, scores
compared as doubles: what trec_eval 10 does. ``scores="float32"`` compares them as 32-bit floats,
as pytrec_eval does; ``order="rank"`` trusts the given ranks, for systems whose order is the truth.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.judged import Judged, coded
from searchmark.data.run import Run
from searchmark.errors import InputError

Order = Literal["score", "rank"]
ScoreType = Literal["float64", "float32"]

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
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

    @property
    def query(self) -> NDArray[np.int64]:
        """The query code of each hit."""
        return self.judged.query[self.row]

    @property
    def grade(self) -> NDArray[np.int64]:
        """The grade of each hit."""
        return self.judged.grade[self.row]


class Ordered(NamedTuple):
    """A run's rows of judged queries in the order that counts.

    `frame` has `code`, `doc_id` and the input row `at`; the arrays have one entry a row of it.
    """

    frame: pl.DataFrame
    rank: NDArray[np.int64]
    tie_first: NDArray[np.int64]
    tie_last: NDArray[np.int64]
    n_unjudged_queries: int
    n_duplicates: int


def find_hits(
    run: Run,
    judged: Judged,
    *,
    order: Order = "score",
    scores: ScoreType = "float64",
    keep_first: bool = False,
) -> Hits:
    """Reduce `run` to its hits; a document that occurs twice in a query is an error.

    With `keep_first` the first place of such a document counts and the others are dropped.
    """
    rows = put_in_order(run, judged, order=order, scores=scores, keep_first=keep_first)
    found = _match(rows.frame, judged)
    code = rows.frame["code"].to_numpy()
    n_retrieved = np.bincount(code, minlength=judged.n_queries)
    return Hits(
        judged=judged,
        row=found["row"].to_numpy(),
        rank=rows.rank[found["position"].to_numpy()],
        tie_first=rows.tie_first[found["position"].to_numpy()],
        tie_last=rows.tie_last[found["position"].to_numpy()],
        n_retrieved=n_retrieved,
        answered=n_retrieved > 0,
        failed=np.zeros(judged.n_queries, np.bool_),
        n_unjudged_queries=rows.n_unjudged_queries,
        n_duplicates=rows.n_duplicates,
        tokens=_tokens(run, rows.frame["at"]),
    )


def _tokens(run: Run, at: pl.Series) -> NDArray[np.float64] | None:
    """Return the tokens of the given rows of `run`, or None where it has no such column."""
    if "tokens" not in run.frame.columns:
        return None
    return run.frame["tokens"].gather(at).cast(pl.Float64).to_numpy()


def mark_calls(hits: Hits, *, answered: Collection[str], failed: Collection[str]) -> Hits:
    """Return `hits` with what the calls tell: an empty answer is an answer, a failure is none."""
    ids = hits.judged.query_ids
    failed_mask = np.array([q in failed for q in ids], np.bool_)
    answered_mask = np.array([q in answered for q in ids], np.bool_) & ~failed_mask
    return replace(hits, answered=answered_mask, failed=failed_mask)


def put_in_order(
    run: Run,
    judged: Judged,
    *,
    order: Order = "score",
    scores: ScoreType = "float64",
    keep_first: bool = False,
) -> Ordered:
    """Order the rows of judged queries and rank them from 1; see the module for the rule."""
    frame = run.frame.select(
        coded(run.frame["query_id"], judged.query_ids),
        "doc_id",
        pl.col("rank" if order == "rank" else "score").alias("key"),
    ).with_row_index("at")
    unjudged = run.frame["query_id"].filter(frame["code"] < 0).n_unique()
    frame = frame.filter(pl.col("code") >= 0)
    n_duplicates = _check_duplicates(frame, run, keep_first=keep_first)
    key = _falling_key(frame, run, order, scores)
    frame, key = _sorted(frame, key)
    if order == "score":
        frame = _ties_by_id(frame, key)
    if n_duplicates:
        first = frame.select(pl.struct("code", "doc_id").is_first_distinct()).to_series()
        frame, key = frame.filter(first), key[first.to_numpy()]
    return Ordered(frame, *_ranks(frame["code"].to_numpy(), key), unjudged, n_duplicates)


def _falling_key(
    frame: pl.DataFrame, run: Run, order: Order, scores: ScoreType
) -> NDArray[np.float64]:
    """Return the number that falls along a ranking: the score, or the rank negated."""
    key = frame["key"].to_numpy().astype(np.float64)
    if order == "rank":
        return -key
    if np.isnan(key).any():
        at = int(frame["at"][int(np.isnan(key).argmax())])
        raise InputError(
            "the score is NaN, which cannot be ordered", path=run.path, line=_line(run, at)
        )
    return key.astype(np.float32).astype(np.float64) if scores == "float32" else key


def _sorted(
    frame: pl.DataFrame, key: NDArray[np.float64]
) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Sort by query, then falling key; a run that already stands so is not touched."""
    code = frame["code"].to_numpy()
    step = np.diff(code)
    if (step >= 0).all() and not ((step == 0) & (key[1:] > key[:-1])).any():
        return frame, key
    by = np.lexsort((-key, code))
    return frame[by], key[by]


def _ties_by_id(frame: pl.DataFrame, key: NDArray[np.float64]) -> pl.DataFrame:
    """Put documents of one query with one score in the order of their ids, last id first."""
    code = frame["code"].to_numpy()
    same = (code[1:] == code[:-1]) & (key[1:] == key[:-1])
    if not same.any():
        return frame
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    group = np.cumsum(~np.concatenate([[False], same]))
    at = np.flatnonzero(tied)
    block = frame[at].with_columns(group=group[at], at_row=at)
    source = block.sort(["group", "doc_id"], descending=[False, True])["at_row"].to_numpy()
    by = np.arange(frame.height)
    by[at] = source
    return frame[by]


def _ranks(
    code: NDArray[np.int64], key: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rank, and the first and last rank of the tie, of rows that stand in order."""
    n = len(code)
    if n == 0:
        empty = np.zeros(0, np.int64)
        return empty, empty, empty
    new_query = np.concatenate([[True], code[1:] != code[:-1]])
    new_tie = new_query | np.concatenate([[True], key[1:] != key[:-1]])
    position = np.arange(n)
    query_start = np.maximum.accumulate(np.where(new_query, position, 0))
    tie_starts = np.flatnonzero(new_tie)
    lengths = np.diff(np.append(tie_starts, n))
    first = np.repeat(tie_starts, lengths)
    last = np.repeat(tie_starts + lengths - 1, lengths)
    return position - query_start + 1, first - query_start + 1, last - query_start + 1


def _match(frame: pl.DataFrame, judged: Judged) -> pl.DataFrame:
    """Return (position in the ordered run, judgment row) of every judged document retrieved."""
    pairs = pl.DataFrame({"code": judged.query, "doc_id": judged.doc_ids}).with_row_index("row")
    return (
        frame.lazy()
        .select("code", "doc_id")
        .with_row_index("position")
        .join(pairs.lazy(), on=["code", "doc_id"], how="inner")
        .select(pl.col("position").cast(pl.Int64), pl.col("row").cast(pl.Int64))
        .sort("position")
        .collect()
    )


def _check_duplicates(frame: pl.DataFrame, run: Run, *, keep_first: bool) -> int:
    """Count documents that occur again in their query; raise unless they may be dropped."""
    key = frame["doc_id"].hash(seed=7).to_numpy() ^ (
        frame["code"].to_numpy().view(np.uint64) * _MIX
    )
    ordered = np.sort(key)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return 0
    # equal hashes only point at candidates; the ids themselves decide
    suspects = frame.filter(np.isin(key, again))
    copies = suspects.filter(
        ~suspects.select(pl.struct("code", "doc_id").is_first_distinct()).to_series()
    )
    if copies.height and not keep_first:
        at = int(copies["at"][0])
        query, document = run.frame["query_id"][at], run.frame["doc_id"][at]
        raise InputError(
            f"the document '{document}' occurs twice for query '{query}'",
            path=run.path,
            line=_line(run, at),
            fix="remove one, or let the first place count (--first)",
        )
    return copies.height


def _line(run: Run, at: int) -> int | None:
    return run.lines[at] if run.lines else None
