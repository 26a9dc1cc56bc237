"""Ranks of the judged documents in rows that stand in order already: queries whole, scores falling.

Both quick readers, of raw text and of tables, bring their rows here; whatever does not stand as it
should raises `Irregular`, and the general path (`data.ordering`) sorts.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.data.distinct import repeated
from searchmark.data.hits import Hits
from searchmark.data.judged import Judged
from searchmark.data.lookup import Lookup
from searchmark.data.rawtext import Irregular, Unordered

if TYPE_CHECKING:
    from concurrent.futures import Future

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

T = TypeVar("T")
U = TypeVar("U")

THREADS = 2

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Ids(Protocol):
    """The document ids of a block's rows."""

    def same(self, position: Ints, row: Ints) -> Mask:
        """Tell, pair by pair, whether a row has the id of a judgment."""
        ...

    def texts(self, first: int, last: int) -> list[bytes] | list[str]:
        """Return the ids of the rows from first to last, in a form that sorts as their bytes do."""
        ...


class Block(NamedTuple):
    """Rows of whole queries: `begin` is the first row of each of them.

    `code` and `name` have one entry a query; a query that is not judged has the code behind the
    last one. `score` and `digest` (a hash of the document id) have one entry a row.
    """

    begin: Ints
    code: Ints
    names: list[bytes] | list[str]
    score: Floats
    digest: Words
    ids: Ids


class Ranked(NamedTuple):
    """What one block adds: its hits, its queries, and how many documents each of them has."""

    row: Ints
    rank: Ints
    tie_first: Ints
    tie_last: Ints
    names: list[bytes] | list[str]
    code: Ints
    n_retrieved: Ints


def rank_block(block: Block, lookup: Lookup, n_queries: int) -> Ranked:
    """Rank the judged documents of a block, after looking whether its rows stand in order."""
    n_rows = np.diff(np.append(block.begin, len(block.score)))
    row_code = np.repeat(block.code, n_rows)
    same = _falling(block)
    _check_distinct(block.digest, row_code, n_queries)
    position, row = lookup.candidates(row_code, block.digest)
    # equal hashes only make candidates: the ids themselves decide
    right = block.ids.same(position, row)
    position, row = position[right], row[right]
    start = np.repeat(block.begin, n_rows)[position]
    place, first, last = _settle_ties(block.ids, same, position)
    return Ranked(
        row,
        place - start + 1,
        first - start + 1,
        last - start + 1,
        block.names,
        block.code,
        n_rows,
    )


def _falling(block: Block) -> Mask:
    """Return which rows have the score of the row before them, in the same query."""
    score = block.score
    inside = np.ones(len(score), np.bool_)
    inside[block.begin] = False
    if (inside[1:] & (score[1:] > score[:-1])).any():
        raise Unordered
    same = np.zeros(len(score), np.bool_)
    same[1:] = inside[1:] & (score[1:] == score[:-1])
    return same


def _check_distinct(digest: Words, row_code: Ints, n_queries: int) -> None:
    """Leave a document that occurs twice in a judged query to the general path."""
    counted = row_code < n_queries
    key = digest ^ ((row_code.view(np.uint64) + np.uint64(1)) * _MIX)
    if not counted.all():
        key = key[counted]
    if len(repeated(key)):
        raise Irregular


def _settle_ties(ids: Ids, same: Mask, position: Ints) -> tuple[Ints, Ints, Ints]:
    """Return each hit's row after ties are settled, and the first and last row of its tie.

    Only ties that hold a judged document are put in order: by document id, the last one first.
    """
    place, first, last = position.copy(), position.copy(), position.copy()
    if not same.any():
        return place, first, last
    tied = same.copy()
    tied[:-1] |= same[1:]
    rows = np.flatnonzero(tied)
    opens = np.flatnonzero(~same[rows])  # entries of `rows` at which a tie begins
    closes = np.append(opens[1:], len(rows)) - 1
    hits = np.flatnonzero(tied[position])
    group = np.searchsorted(opens, np.searchsorted(rows, position[hits]), "right") - 1
    first[hits], last[hits] = rows[opens[group]], rows[closes[group]]
    settled: dict[int, dict[int, int]] = {}
    for hit, a, b in zip(hits.tolist(), first[hits].tolist(), last[hits].tolist(), strict=True):
        if a not in settled:
            texts = ids.texts(a, b)
            by = sorted(range(len(texts)), key=texts.__getitem__, reverse=True)
            settled[a] = {a + row: a + at for at, row in enumerate(by)}
        place[hit] = settled[a][int(position[hit])]
    return place, first, last


def side_by_side(work: Callable[[U], T], pieces: Iterable[U], threads: int) -> list[T]:
    """Return the results in order, with a bounded number of pieces under way."""
    from concurrent.futures import ThreadPoolExecutor

    results: list[T] = []
    running: list[Future[T]] = []
    with ThreadPoolExecutor(threads) as workers:
        for piece in pieces:
            running.append(workers.submit(work, piece))
            if len(running) > 2 * threads:
                results.append(running.pop(0).result())
        return results + [future.result() for future in running]


def joined(blocks: list[Ranked], judged: Judged) -> Hits:
    """Put blocks together, hits by query and rank; a query in two places is irregular."""
    if not blocks:
        raise Irregular
    names = [name for block in blocks for name in block.names]
    if len(set(names)) < len(names):
        raise Unordered
    code = np.concatenate([b.code for b in blocks])
    counts = np.concatenate([b.n_retrieved for b in blocks])
    is_judged = code < judged.n_queries
    n_retrieved = np.zeros(judged.n_queries, np.int64)
    n_retrieved[code[is_judged]] = counts[is_judged]
    row = np.concatenate([b.row for b in blocks])
    rank = np.concatenate([b.rank for b in blocks])
    first = np.concatenate([b.tie_first for b in blocks])
    last = np.concatenate([b.tie_last for b in blocks])
    place = judged.query[row] * (int(rank.max(initial=0)) + 1) + rank
    if (place[1:] < place[:-1]).any():
        by = place.argsort(kind="stable")  # which is quick on what is nearly in order: ties alone
        row, rank, first, last = row[by], rank[by], first[by], last[by]
    return Hits(
        judged=judged,
        row=row,
        rank=rank,
        tie_first=first,
        tie_last=last,
        n_retrieved=n_retrieved,
        answered=n_retrieved > 0,
        failed=np.zeros(judged.n_queries, np.bool_),
        n_unjudged_queries=int((~is_judged).sum()),
    )
