"""The one ordering rule: a run's documents ranked, and those that are judged found among them.

Inside a query documents stand by score descending, then by document id descending as bytes, scores
compared as doubles: what trec_eval 10 does. ``scores="float32"`` compares them as 32-bit floats,
as pytrec_eval does; ``order="rank"`` trusts the given ranks, for systems whose order is the truth.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.distinct import repeated
from searchmark.data.docids import SEED
from searchmark.data.frames import hits_in_order
from searchmark.data.hits import Hits, Order, ScoreType, compared
from searchmark.data.judged import Judged, coded
from searchmark.data.rawtext import Irregular
from searchmark.data.run import Run, with_rank
from searchmark.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.zeros(0, np.int64)


class Rows(NamedTuple):
    """A run's rows of judged queries, as they were given.

    `at` is the row of the run, `code` the query; `key` falls along a ranking: the score, or the
    rank negated. `digest` is a hash of the document id.
    """

    at: Ints
    code: Ints
    key: Floats
    doc_ids: pl.Series
    digest: Words


class Ties(NamedTuple):
    """The places that share a score with another one, rising, and where each one's tie ends."""

    place: Ints
    first: Ints
    last: Ints


_NO_TIES = Ties(_NONE, _NONE, _NONE)


class Ordered(NamedTuple):
    """Rows in the order that counts: `by` says which row stands at each place.

    `start` is the first place of each query.
    """

    rows: Rows
    by: Ints
    start: Ints
    ties: Ties
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
    if order == "score" and "tokens" not in run.frame.columns:
        try:
            return _with_empty(hits_in_order(run.frame, judged, scores), run.empty)
        except Irregular:
            pass  # the general path sorts, or tells what is wrong and where
    ordered = put_in_order(run, judged, order=order, scores=scores, keep_first=keep_first)
    place, row = _match(ordered, judged)
    n_retrieved = np.diff(np.append(ordered.start, len(ordered.by)))
    first, last = _tie_ends(ordered.ties, place)
    before = ordered.start[judged.query[row]] - 1  # ranks count from 1
    hits = Hits(
        judged=judged,
        row=row,
        rank=place - before,
        tie_first=first - before,
        tie_last=last - before,
        n_retrieved=n_retrieved,
        answered=n_retrieved > 0,
        failed=np.zeros(judged.n_queries, np.bool_),
        n_unjudged_queries=ordered.n_unjudged_queries,
        n_duplicates=ordered.n_duplicates,
        tokens=_tokens(run, ordered),
    )
    return _with_empty(hits, run.empty)


def _with_empty(hits: Hits, empty: Sequence[str]) -> Hits:
    """Return `hits` knowing which queries were answered with nothing."""
    if not empty:
        return hits
    code = {q: i for i, q in enumerate(hits.judged.query_ids)}
    known = [code[q] for q in empty if q in code]
    answered = hits.answered.copy()
    answered[known] = True
    n_unjudged = hits.n_unjudged_queries + len(empty) - len(known)
    return replace(hits, answered=answered, n_unjudged_queries=n_unjudged)


def _tokens(run: Run, ordered: Ordered) -> Floats | None:
    """Return the tokens of each place, or None where the run has no such column."""
    if "tokens" not in run.frame.columns:
        return None
    return run.frame["tokens"].gather(ordered.rows.at[ordered.by]).cast(pl.Float64).to_numpy()


def put_in_order(
    run: Run,
    judged: Judged,
    *,
    order: Order = "score",
    scores: ScoreType = "float64",
    keep_first: bool = False,
) -> Ordered:
    """Order the rows of judged queries and rank them from 1; see the module for the rule."""
    rows, n_unjudged = _rows(run, judged, order, scores)
    n_duplicates = _check_duplicates(rows, run, keep_first=keep_first)
    by = _falling(rows)
    if n_duplicates:
        by = _first_places(rows, _ties_by_id(rows, by)[0] if order == "score" else by)
    by, ties = _ties_by_id(rows, by) if order == "score" else (by, _NO_TIES)
    counts = np.bincount(rows.code[by], minlength=judged.n_queries)
    return Ordered(rows, by, np.cumsum(counts) - counts, ties, n_unjudged, n_duplicates)


def _first_places(rows: Rows, by: Ints) -> Ints:
    """Drop documents that stand at an earlier place of their query already."""
    pairs = pl.DataFrame({"code": rows.code[by], "doc_id": rows.doc_ids.gather(by)})
    first = pairs.select(pl.struct("code", "doc_id").is_first_distinct()).to_series().to_numpy()
    kept: Ints = by[first]
    return kept


def _rows(run: Run, judged: Judged, order: Order, scores: ScoreType) -> tuple[Rows, int]:
    """Return the rows of judged queries, and how many queries of the run are not judged."""
    code = coded(run.frame["query_id"], judged.query_ids).to_numpy()
    at = np.arange(len(code))
    doc_ids = run.frame["doc_id"]
    n_unjudged = 0
    if (code < 0).any():
        outside = pl.Series(code < 0)
        n_unjudged = run.frame["query_id"].filter(outside).n_unique()
        doc_ids, at = doc_ids.filter(~outside), at[code >= 0]
        code = code[code >= 0]
    key = _key(run, at, order, scores)
    return Rows(at, code, key, doc_ids, doc_ids.hash(SEED).to_numpy()), n_unjudged


def _key(run: Run, at: Ints, order: Order, scores: ScoreType) -> Floats:
    """Return the number that falls along a ranking: the score, or the rank negated."""
    frame = with_rank(run.frame) if order == "rank" else run.frame
    column = frame["rank" if order == "rank" else "score"]
    column = column if len(at) == len(column) else column.gather(at)
    if order == "rank":
        if column.null_count():
            line = _line(run, int(at[int(column.is_null().arg_max() or 0)]))
            what = "the rank is no integer, and ranks decide the order"
            raise InputError(what, path=run.path, line=line)
        return -column.to_numpy().astype(np.float64)
    key = column.to_numpy().astype(np.float64)
    if np.isnan(key).any():
        line = _line(run, int(at[int(np.isnan(key).argmax())]))
        raise InputError("the score is NaN, which cannot be ordered", path=run.path, line=line)
    return compared(key, scores)


def _falling(rows: Rows) -> Ints:
    """Return the places by query, then falling key; a run that stands so is only looked at."""
    step = np.diff(rows.code)
    if (step >= 0).all() and not ((step == 0) & (rows.key[1:] > rows.key[:-1])).any():
        return np.arange(len(rows.code))
    table = pl.DataFrame({"code": rows.code, "key": rows.key}).with_row_index("at")
    by = table.sort(["code", "key"], descending=[False, True])["at"]
    return by.cast(pl.Int64).to_numpy()


def _ties_by_id(rows: Rows, by: Ints) -> tuple[Ints, Ties]:
    """Put documents of one query with one score in the order of their ids, last id first."""
    code, key = rows.code[by], rows.key[by]
    same = (code[1:] == code[:-1]) & (key[1:] == key[:-1])
    joined = np.flatnonzero(same)
    if not len(joined):
        return by, _NO_TIES
    tied_too = np.zeros(len(by), np.bool_)
    tied_too[joined] = tied_too[joined + 1] = True
    place = np.flatnonzero(tied_too)
    opens = np.flatnonzero(np.concatenate([[True], ~same[place[1:] - 1]]))
    sizes = np.diff(np.append(opens, len(place)))
    row = by[place]
    tied = pl.DataFrame(
        {
            "group": np.repeat(np.arange(len(opens)), sizes),
            "doc_id": rows.doc_ids.gather(row),
            "row": row,
        }
    )
    settled = by.copy()
    settled[place] = tied.sort(["group", "doc_id"], descending=[False, True])["row"].to_numpy()
    first = np.repeat(place[opens], sizes)
    return settled, Ties(place, first, first + np.repeat(sizes, sizes) - 1)


def _tie_ends(ties: Ties, place: Ints) -> tuple[Ints, Ints]:
    """Return the first and last place of the tie that each place stands in; itself without one."""
    first, last = place.copy(), place.copy()
    if len(ties.place) and len(place):
        at = np.minimum(np.searchsorted(ties.place, place), len(ties.place) - 1)
        tied = ties.place[at] == place
        first[tied], last[tied] = ties.first[at[tied]], ties.last[at[tied]]
    return first, last


def _match(ordered: Ordered, judged: Judged) -> tuple[Ints, Ints]:
    """Return place and judgment row of every judged document retrieved, by place."""
    rows, ids = ordered.rows, judged.doc_ids.series
    place_of = np.full(len(rows.code), -1)
    place_of[ordered.by] = np.arange(len(ordered.by))
    lookup = judged.text_lookup
    if lookup is None:
        found, row = _match_by_join(rows, judged)
    else:
        found, row = lookup.candidates(rows.code, rows.digest)
        # equal hashes only make candidates: the ids themselves decide
        right = (rows.doc_ids.gather(found) == ids.gather(row)).to_numpy()
        found, row = found[right], row[right]
    place = place_of[found]
    place, row = place[place >= 0], row[place >= 0]  # a repeated document that was dropped
    by = np.argsort(place)
    return place[by], row[by]


def _match_by_join(rows: Rows, judged: Judged) -> tuple[Ints, Ints]:
    """Match by the texts alone, where two judged pairs of one query have one hash."""
    pairs = pl.DataFrame({"code": judged.query, "doc_id": judged.doc_ids.series})
    given = pl.DataFrame({"code": rows.code, "doc_id": rows.doc_ids}).with_row_index("found")
    both = given.join(pairs.with_row_index("row"), on=["code", "doc_id"], how="inner")
    return both["found"].cast(pl.Int64).to_numpy(), both["row"].cast(pl.Int64).to_numpy()


def _check_duplicates(rows: Rows, run: Run, *, keep_first: bool) -> int:
    """Count documents that occur again in their query; raise unless they may be dropped."""
    key = rows.digest ^ ((rows.code.view(np.uint64) + np.uint64(1)) * _MIX)
    again = repeated(key)
    if not len(again):
        return 0
    # equal hashes only point at suspects; the ids themselves decide
    suspects = np.flatnonzero(np.isin(key, again))
    pairs = pl.DataFrame({"code": rows.code[suspects], "doc_id": rows.doc_ids.gather(suspects)})
    first = pairs.select(pl.struct("code", "doc_id").is_first_distinct()).to_series().to_numpy()
    copies = suspects[~first]
    if len(copies) and not keep_first:
        at = int(rows.at[copies[0]])
        query, document = run.frame["query_id"][at], run.frame["doc_id"][at]
        raise InputError(
            f"the document '{document}' occurs twice for query '{query}'",
            path=run.path,
            line=_line(run, at),
            fix="remove one, or let the first place count (--first)",
        )
    return len(copies)


def _line(run: Run, at: int) -> int | None:
    return (run.lines[at] or None) if run.lines else None
