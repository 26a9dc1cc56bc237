"""Tables whose rows stand in order straight to hits, a stretch of whole queries at a time."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.docids import SEED
from searchmark.data.hits import Hits, ScoreType, compared
from searchmark.data.judged import Judged
from searchmark.data.ranking import Block, joined, rank_block
from searchmark.data.rawtext import Irregular

Ints = NDArray[np.int64]

ROWS = 1 << 16
"""Rows ranked at a time: their temporaries stay in the processor's caches."""

_MANY = 4
"""With fewer rows a stretch than this, the rows are shuffled rather than many short queries."""


class ColumnIds(NamedTuple):
    """The document ids of a stretch of rows, beside those of the judgments."""

    column: pl.Series
    judged: pl.Series

    def same(self, position: Ints, row: Ints) -> NDArray[np.bool_]:
        """Tell, pair by pair, whether a row has the id of a judgment."""
        return (self.column.gather(position) == self.judged.gather(row)).to_numpy()

    def texts(self, first: int, last: int) -> list[str]:
        """Return the ids of the rows from first to last; code points sort as UTF-8 does."""
        ids: list[str] = self.column[first : last + 1].to_list()
        return ids


def hits_in_order(frame: pl.DataFrame, judged: Judged, scores: ScoreType) -> Hits:
    """Return the hits of `query_id`, `doc_id`, `score`; raises Irregular where rows are not so."""
    lookup = judged.text_lookup
    if lookup is None or not frame.height:
        raise Irregular
    query_ids, doc_ids = frame["query_id"], frame["doc_id"]
    score = compared(frame["score"].cast(pl.Float64).to_numpy(), scores)
    if np.isnan(score).any():
        raise Irregular  # the general path names the row
    begin = begins(query_ids)
    if _MANY * len(begin) > frame.height:
        raise Irregular
    names = query_ids.gather(begin).to_list()
    codes = {name: i for i, name in enumerate(judged.query_ids)}
    code = np.array([codes.get(name, judged.n_queries) for name in names], np.int64)
    ends = np.append(begin[1:], frame.height)
    ranked = []
    first = 0
    while first < len(begin):
        start = int(begin[first])
        last = max(int(np.searchsorted(ends, start + ROWS, "right")), first + 1)
        end = int(ends[last - 1])
        ids = doc_ids[start:end]
        block = Block(
            begin=begin[first:last] - start,
            code=code[first:last],
            names=names[first:last],
            score=score[start:end],
            digest=ids.hash(SEED).to_numpy(),
            ids=ColumnIds(ids, judged.doc_ids.series),
        )
        ranked.append(rank_block(block, lookup, judged.n_queries))
        first = last
    return joined(ranked, judged)


def begins(query_ids: pl.Series) -> Ints:
    """Return the first row of each stretch of equal query ids."""
    differs = (query_ids[1:] != query_ids[:-1]).to_numpy()
    return np.flatnonzero(np.concatenate([[True], differs]))
