"""TREC run files whose lines stand in no order: NumPy over raw bytes, and no text is kept.

A first pass keeps three numbers a line (query, score, a hash of the document id) and the lines of
judged documents; sorted within each query they give every rank but those inside ties. A second pass
looks up the ids of the lines that share their score with a judged document, where there are any.
Memory is about 30 bytes a line. Anything that is not regular raises `Irregular`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.data.docids import Packed, pack
from searchmark.data.files import DAMAGED, open_bytes
from searchmark.data.hits import Hits, ScoreType, compared
from searchmark.data.judged import Judged
from searchmark.data.ranking import THREADS, side_by_side
from searchmark.data.rawtext import Irregular, equal, floats, hashes, words_at
from searchmark.data.rawtrec import Table, blocks, table_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

BLOCK = 1 << 20
LEAST = 32
"""With fewer lines a query than this, a call of NumPy for each query costs more than it saves."""
_RADIX = 1 << 16


class Lines(NamedTuple):
    """What is kept of a block: one entry a line, the query's code behind the last one if unjudged.

    `hit` and `row` are the lines of judged documents and the judgments they stand for; `others`
    the names of queries that are not judged.
    """

    code: NDArray[np.int32]
    score: Floats
    digest: Words
    hit: Ints
    row: Ints
    others: set[bytes]
    tag: str


class QueryCodes:
    """Query ids by a hash of their bytes: a table in which each id stands near its hash."""

    def __init__(self, query_ids: tuple[str, ...]) -> None:
        self._packed = pack(query_ids)
        digest = hashes(words_at(self._packed.buffer), self._packed.start, self._packed.length)
        bits = (8 * len(query_ids)).bit_length()
        self._shift, self._mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
        self._at = np.full(1 << bits, -1, np.int64)
        waiting, step = np.arange(len(query_ids)), 0
        while len(waiting):
            slot = self._slot(digest[waiting], step)
            free = self._at[slot] < 0
            self._at[slot[free]] = waiting[free]  # of several the last one stays
            waiting, step = waiting[self._at[slot] != waiting], step + 1

    def _slot(self, digest: Words, step: int) -> Ints:
        # the highest bits are the best mixed ones
        slot: Ints = (((digest >> self._shift) + np.uint64(step)) & self._mask).view(np.int64)
        return slot

    def of(self, table: Table, unknown: int) -> Ints:
        """Return the code of each line's query; `unknown` where there is none."""
        column = Packed(table.buffer, *table.column(0))
        digest = hashes(table.words, column.start, column.length)
        code = np.full(len(digest), unknown)
        lines, step = np.arange(len(digest)), 0
        while len(lines):
            known = self._at[self._slot(digest[lines], step)]
            lines, known = lines[known >= 0], known[known >= 0]
            same = equal(column, lines, self._packed, known)
            code[lines[same]] = known[same]
            lines, step = lines[~same], step + 1
        return code


def hits_from_shuffled(
    path: Path,
    judged: Judged,
    *,
    scores: ScoreType = "float64",
    block: int = BLOCK,
    least: int = LEAST,
) -> tuple[str, Hits]:
    """Return a run file's tag and hits, whatever the order of its lines."""
    lookup = judged.lookup
    if lookup is None:
        raise Irregular
    codes = QueryCodes(judged.query_ids)

    def work(data: bytes) -> Lines:
        table = table_of(data, 6)
        code = codes.of(table, judged.n_queries)
        digest = hashes(table.words, *table.column(2))
        hit, row = lookup.candidates(code, digest)
        column = Packed(table.buffer, *table.column(2))
        same = equal(column, hit, judged.doc_ids.packed, row)
        return Lines(
            code.astype(np.int32),
            compared(floats(table.buffer, table.words, *table.column(4)), scores),
            digest,
            hit[same],
            row[same],
            _names(table, np.flatnonzero(code == judged.n_queries)),
            table.last_tag,
        )

    try:
        with open_bytes(path) as stream:
            parts = side_by_side(work, blocks(stream, block), THREADS)
        if not parts:
            raise Irregular
        lengths = np.array([len(part.code) for part in parts])
        if lengths.sum() < least * judged.n_queries:
            raise Irregular
        others = set[bytes]().union(*(part.others for part in parts))
        tag = parts[-1].tag
        lines = _together(parts, lengths)
        del parts
        return tag, _ranked(lines, judged, len(others), _Reader(path, block, lengths))
    except DAMAGED:
        raise Irregular from None


def _names(table: Table, lines: Ints) -> set[bytes]:
    start, length = (part[lines].tolist() for part in table.column(0))
    return {table.text(a, n) for a, n in zip(start, length, strict=True)}


def _together(parts: list[Lines], lengths: Ints) -> Lines:
    before = np.cumsum(lengths) - lengths
    return Lines(
        np.concatenate([p.code for p in parts]),
        np.concatenate([p.score for p in parts]),
        np.concatenate([p.digest for p in parts]),
        np.concatenate([p.hit + at for p, at in zip(parts, before.tolist(), strict=True)]),
        np.concatenate([p.row for p in parts]),
        set(),
        parts[-1].tag,
    )


class _Reader(NamedTuple):
    """Looks up document ids by line, in a second pass over the file."""

    path: Path
    block: int
    lengths: Ints

    def ids(self, lines: Ints) -> Iterator[bytes]:
        """Yield the ids of the given lines, which must rise."""
        first = 0
        with open_bytes(self.path) as stream:
            for data, length in zip(blocks(stream, self.block), self.lengths.tolist(), strict=True):
                wanted = lines[
                    np.searchsorted(lines, first) : np.searchsorted(lines, first + length)
                ]
                if len(wanted):
                    text = np.frombuffer(data, np.uint8)
                    ends = np.flatnonzero(text == ord("\n"))
                    if len(ends) != length:
                        raise Irregular  # the file is being written to
                    for line in (wanted - first).tolist():
                        yield data[ends[line - 1] + 1 if line else 0 : ends[line]].split()[2]
                first += length


def _ranked(lines: Lines, judged: Judged, n_others: int, reader: _Reader) -> Hits:
    counts = np.bincount(lines.code, minlength=judged.n_queries + 1)
    by = _by_query(lines.code)
    start = np.cumsum(counts) - counts
    _check_distinct(lines.digest[by], start[:-1], counts[:-1])
    hit, row = lines.hit, lines.row
    order = np.argsort(judged.query[row], kind="stable")
    hit, row = hit[order], row[order]
    query, value = judged.query[row], lines.score[hit]
    score = lines.score[by]
    above, tied = np.empty(len(hit), np.int64), np.empty(len(hit), np.int64)
    bounds = np.searchsorted(query, np.arange(judged.n_queries + 1)).tolist()
    for code in np.flatnonzero(counts[:-1]).tolist():
        own = score[start[code] : start[code] + counts[code]]
        own.sort()
        these = slice(bounds[code], bounds[code + 1])
        not_above = np.searchsorted(own, value[these], "right")
        above[these] = len(own) - not_above
        tied[these] = not_above - np.searchsorted(own, value[these], "left")
    rank = above + 1
    _settle(rank, tied, _Tied(lines, by, start, counts), hit, query, reader)
    order = np.lexsort((rank, query))
    n_retrieved = counts[:-1].astype(np.int64)
    return Hits(
        judged=judged,
        row=row[order],
        rank=rank[order],
        tie_first=(above + 1)[order],
        tie_last=(above + tied)[order],
        n_retrieved=n_retrieved,
        answered=n_retrieved > 0,
        failed=np.zeros(judged.n_queries, np.bool_),
        n_unjudged_queries=n_others,
    )


def _by_query(code: NDArray[np.int32]) -> Ints:
    """Return the lines by query; NumPy sorts 16-bit numbers by radix, many times quicker."""
    by = np.argsort((code % _RADIX).astype(np.uint16), kind="stable")
    if int(code.max()) >= _RADIX:
        by = by[np.argsort((code[by] // _RADIX).astype(np.uint16), kind="stable")]
    return by


def _check_distinct(digest: Words, start: Ints, counts: Ints) -> None:
    """Leave a document that occurs twice in a judged query to the general path."""
    for a, n in zip(start.tolist(), counts.tolist(), strict=True):
        own = digest[a : a + n]
        own.sort()
        if (own[1:] == own[:-1]).any():
            raise Irregular


class _Tied(NamedTuple):
    """All lines by query, to find those that share a score."""

    lines: Lines
    by: Ints
    start: Ints
    counts: Ints

    def of(self, query: int, line: int) -> Ints:
        """Return the lines of a query that have the score of one of them."""
        start = int(self.start[query])
        own = self.by[start : start + int(self.counts[query])]
        tied: Ints = own[self.lines.score[own] == self.lines.score[line]]
        return tied


def _settle(rank: Ints, tied: Ints, ties: _Tied, hit: Ints, query: Ints, reader: _Reader) -> None:
    """Move the hits of each tie to their places: by document id, the last one first."""
    groups: dict[tuple[int, int], Ints] = {}
    members: dict[tuple[int, int], list[int]] = {}
    for at in np.flatnonzero(tied > 1).tolist():
        key = (int(query[at]), int(rank[at]))
        members.setdefault(key, []).append(at)
        if key not in groups:
            groups[key] = ties.of(int(query[at]), int(hit[at]))
    if not groups:
        return
    wanted = np.sort(np.concatenate(list(groups.values())))
    ids = dict(zip(wanted.tolist(), reader.ids(wanted), strict=True))
    for key, lines in groups.items():
        ordered = sorted(lines.tolist(), key=ids.__getitem__, reverse=True)
        place = {line: at for at, line in enumerate(ordered)}
        for at in members[key]:
            rank[at] += place[int(hit[at])]
