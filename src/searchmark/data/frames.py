"""Tables whose rows stand in order straight to hits, a stretch of whole queries at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.docids import SEED
from searchmark.data.hits import Hits, ScoreType, compared
from searchmark.data.judged import Judged
from searchmark.data.ranking import THREADS, Block, Ranked, joined, rank_block, side_by_side
from searchmark.data.rawtext import Irregular

Ints = NDArray[np.int64]

ROWS = 1 << 17
"""Rows ranked at a time: their temporaries stay in the processor's caches."""

_MANY = 4
"""With fewer rows a stretch than this, the rows are shuffled rather than many short queries."""


class ColumnIds(NamedTuple):
    """The document ids of a stretch of rows, beside those of the judgments."""

    column: pl.Series
    judged: pl.Series

    def same(self, position: Ints, row: Ints) -> NDArray[np.bool_]:
        """Tell, pair by pair, whether a row has the id of a judgment."""
        return (self.column[position] == self.judged[row]).to_numpy()

    def texts(self, first: int, last: int) -> list[str]:
        """Return the ids of the rows from first to last; code points sort as UTF-8 does."""
        ids: list[str] = self.column[first : last + 1].to_list()
        return ids


def hits_in_order(frame: pl.DataFrame, judged: Judged, scores: ScoreType) -> Hits:
    """Return the hits of `query_id`, `doc_id`, `score`; raises Irregular where rows are not so."""
    work = _ranking(judged, scores)
    return joined(work(frame), judged)


def hits_of_pieces(frames: Iterable[pl.DataFrame], judged: Judged, scores: ScoreType) -> Hits:
    """Return the hits of a table that comes piece by piece, cut anywhere."""
    found = side_by_side(_ranking(judged, scores), _whole_queries(frames), THREADS)
    return joined([block for blocks in found for block in blocks], judged)


def _ranking(judged: Judged, scores: ScoreType) -> Callable[[pl.DataFrame], list[Ranked]]:
    """Return what ranks the blocks of a frame of whole queries."""
    lookup = judged.text_lookup
    if lookup is None:
        raise Irregular
    codes = {name: i for i, name in enumerate(judged.query_ids)}

    def work(frame: pl.DataFrame) -> list[Ranked]:
        blocks = _blocks(frame, judged, codes, scores)
        return [rank_block(block, lookup, judged.n_queries) for block in blocks]

    return work


def _whole_queries(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows cut where the query changes; the last query of a piece waits for the next."""
    rest: pl.DataFrame | None = None
    for piece in frames:
        frame = piece if rest is None else pl.concat([rest, piece])
        begin = begins(frame["query_id"])
        cut = int(begin[-1]) if len(begin) else 0
        if cut:
            yield frame[:cut]
        rest = frame[cut:]
    if rest is not None and rest.height:
        yield rest


def _blocks(
    frame: pl.DataFrame, judged: Judged, codes: Mapping[str, int], scores: ScoreType
) -> Iterator[Block]:
    """Yield stretches of whole queries, about `ROWS` rows each."""
    query_ids, doc_ids = frame["query_id"], frame["doc_id"]
    score = compared(frame["score"].cast(pl.Float64).to_numpy(), scores)
    if np.isnan(score).any() or any(c.null_count() for c in frame.get_columns()):
        raise Irregular  # the general path names the row
    begin = begins(query_ids)
    if _MANY * len(begin) > frame.height:
        raise Irregular
    names = query_ids.gather(begin).to_list()
    n_queries = judged.n_queries
    code = np.array([codes.get(name, n_queries) for name in names], np.int64)
    ends = np.append(begin[1:], frame.height)
    first = 0
    while first < len(begin):
        start = int(begin[first])
        last = max(int(np.searchsorted(ends, start + ROWS, "right")), first + 1)
        end = int(ends[last - 1])
        ids = doc_ids[start:end]
        yield Block(
            begin=begin[first:last] - start,
            code=code[first:last],
            names=names[first:last],
            score=score[start:end],
            digest=ids.hash(SEED).to_numpy(),
            ids=ColumnIds(ids, judged.doc_ids.series),
        )
        first = last


def begins(query_ids: pl.Series) -> Ints:
    """Return the first row of each stretch of equal query ids."""
    if not len(query_ids):
        return np.zeros(0, np.int64)
    differs = (query_ids[1:] != query_ids[:-1]).to_numpy()
    return np.flatnonzero(np.concatenate([[True], differs]))
