"""Regular TREC files straight to judgments and hits: NumPy over raw bytes, block by block.

A block is a few megabytes cut where the query changes, so memory does not grow with the file. What
a block takes for granted is checked in it: six fields, one separator between them, falling scores,
each query in one stretch, no document twice. Anything else raises `Irregular`, and the file is read
again by the general path, which gives the same result, or the error with its line.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.data.docids import DocIds, Packed, padded
from searchmark.data.files import BOM, DAMAGED, open_bytes
from searchmark.data.hits import Hits, ScoreType, compared
from searchmark.data.judged import Judged, starts
from searchmark.data.lookup import Lookup
from searchmark.data.rawtext import (
    Irregular,
    check_utf8,
    equal,
    field_ends,
    floats,
    hashes,
    is_supported,
    n_words,
    word,
    words_at,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

BLOCK, SMALL_BLOCK = 1 << 20, 384 << 10
"""Bytes read at a time: the temporaries of one block stay in the processor's caches.

Small ones also stay clear of fresh pages, but cost threads more time in waiting for each other.
"""

THREADS = 2
SMALL = 8 << 20
"""A file of fewer bytes is read in small blocks before threads have started."""

_REACH = 1 << 16
_WANTED = {4: (0, 2, 3), 6: (0, 2, 4, 5)}
"""The fields that matter of judgments (query, document, grade) and runs (with score and tag)."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """A block's lines: start and length of the fields that matter, over one buffer."""

    data: bytes
    buffer: NDArray[np.uint8]
    words: NDArray[np.uint64]
    columns: dict[int, tuple[Ints, Ints]]

    def column(self, i: int) -> tuple[Ints, Ints]:
        """Return start and length of the i-th field of every line."""
        return self.columns[i]

    def text(self, start: int, length: int) -> bytes:
        """Return one field."""
        return self.data[start : start + length]


class BlockHits(NamedTuple):
    """What one block adds: its hits, its queries, how many documents each has, its last tag."""

    row: Ints
    rank: Ints
    tie_first: Ints
    tie_last: Ints
    names: list[bytes]
    code: Ints
    n_retrieved: Ints
    tag: bytes


def judged_from_trec(path: Path) -> Judged:
    """Read a regular qrels file; raises Irregular where it is none."""
    with open_bytes(path) as stream:
        table = _table(_whole(stream), 4)
    q_start, q_length = table.column(0)
    stretches = _stretches(table)
    names = [
        table.text(a, n)
        for a, n in zip(q_start[stretches].tolist(), q_length[stretches].tolist(), strict=True)
    ]
    codes = {name: i for i, name in enumerate(dict.fromkeys(names))}
    lengths = np.diff(np.append(stretches, len(q_start)))
    query = np.repeat(np.array([codes[name] for name in names], np.int64), lengths)
    d_start, d_length = table.column(2)
    grade = _grades(table)
    if len(codes) < len(names):
        by = np.argsort(query, kind="stable")
        query, d_start, d_length, grade = query[by], d_start[by], d_length[by], grade[by]
    judged = Judged(
        query_ids=tuple(name.decode() for name in codes),
        query=query,
        doc_ids=DocIds(packed=Packed(table.buffer, d_start, d_length)),
        grade=grade,
        start=starts(query, len(codes)),
    )
    if judged.lookup is None:
        raise Irregular  # a pair that is judged twice, most likely: the general path names the line
    return judged


def hits_from_trec(
    path: Path,
    judged: Judged,
    *,
    scores: ScoreType = "float64",
    block: int | None = None,
    threads: int | None = None,
) -> tuple[str, Hits]:
    """Return a regular run file's tag and hits; raises Irregular where it is none."""
    lookup = judged.lookup
    if lookup is None:
        raise Irregular
    codes = {name.encode(): i for i, name in enumerate(judged.query_ids)}

    def work(data: bytes) -> BlockHits:
        return _block_hits(_table(data, 6), judged, lookup, codes, scores)

    is_small = path.stat().st_size < SMALL
    if threads is None:
        threads = 1 if is_small else THREADS
    if block is None:
        block = SMALL_BLOCK if is_small else BLOCK
    try:
        with open_bytes(path) as stream:
            pieces = blocks(stream, block)
            if threads < 2:
                found = [work(piece) for piece in pieces]
            else:
                found = _side_by_side(work, pieces, threads)
    except DAMAGED:
        raise Irregular from None  # the general path tells of a damaged archive
    if not found:
        raise Irregular
    return found[-1].tag.decode(), _joined(found, judged)


def blocks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the stream in pieces that begin and end with a query."""
    rest, wanted = stream.read(len(BOM)).removeprefix(BOM), size
    while piece := stream.read(wanted):
        data = rest + piece
        cut = _last_query(data)
        if cut <= 0:
            # one query so far: read on, and more each time, so that a huge one costs no square
            rest, wanted = data, 2 * wanted
            continue
        yield data[:cut]
        rest, wanted = data[cut:], size
    if rest:
        yield rest if rest.endswith(b"\n") else rest + b"\n"


def _last_query(data: bytes) -> int:
    """Return where the query of the last whole line begins; 0 where it begins the data."""
    end = data.rfind(b"\n")
    line = data.rfind(b"\n", 0, max(end, 0)) + 1
    first = data[line:end].split(None, 1)
    if not first:
        return 0
    # with the separator behind it, query 1 is not taken for query 10
    query = data[line : line + len(first[0]) + 1]
    if data.startswith(query):
        return 0
    reach = _REACH
    while reach < end:
        # looked for near the end first: most queries are far shorter than a block
        near = data.find(b"\n", end - reach) + 1
        if near and not data.startswith(query, near):
            return data.find(b"\n" + query, near - 1) + 1
        reach *= 4
    return data.find(b"\n" + query) + 1


def _side_by_side(
    work: Callable[[bytes], BlockHits], pieces: Iterable[bytes], threads: int
) -> list[BlockHits]:
    """Return the results in order, with a bounded number of pieces under way."""
    from concurrent.futures import ThreadPoolExecutor

    results: list[BlockHits] = []
    running: list[Future[BlockHits]] = []
    with ThreadPoolExecutor(threads) as workers:
        for piece in pieces:
            running.append(workers.submit(work, piece))
            if len(running) > 2 * threads:
                results.append(running.pop(0).result())
        return results + [future.result() for future in running]


def _table(data: bytes, n_fields: int) -> Table:
    if not is_supported():
        raise Irregular
    if not data.endswith(b"\n"):
        data += b"\n"
    buffer = padded(data)
    check_utf8(data, buffer)
    ends = field_ends(buffer, len(data), n_fields)
    columns = {i: _column(ends, i) for i in _WANTED[n_fields]}
    return Table(data, buffer, words_at(buffer), columns)


def _column(ends: Ints, i: int) -> tuple[Ints, Ints]:
    """Return start and length of the i-th field of every line."""
    start = np.zeros(len(ends), np.int64)
    if i:
        np.add(ends[:, i - 1], 1, out=start)
    else:
        np.add(ends[:-1, -1], 1, out=start[1:])
    return start, ends[:, i] - start


def _whole(stream: IO[bytes]) -> bytes:
    data = stream.read().removeprefix(BOM)
    if not data.strip():
        raise Irregular
    return data


def _stretches(table: Table) -> Ints:
    """Return the first line of each stretch of lines with one query."""
    start, length = table.column(0)
    differs = np.empty(len(start), np.bool_)
    differs[0] = True
    differs[1:] = length[1:] != length[:-1]
    for k in range(n_words(length)):
        part = word(table.words, start, length, k)
        differs[1:] |= part[1:] != part[:-1]
    return np.flatnonzero(differs)


def _grades(table: Table) -> Ints:
    """Read the grades: one digit at once, anything else one by one."""
    start, length = table.column(3)
    digit = table.buffer[start].astype(np.int64) - ord("0")
    if (length == 1).all() and ((digit >= 0) & (digit <= 9)).all():
        return digit
    texts = [table.text(a, n) for a, n in zip(start.tolist(), length.tolist(), strict=True)]
    if not all(t.lstrip(b"+-").isdigit() and len(t) < 18 for t in texts):
        raise Irregular
    try:
        return np.array([int(t) for t in texts], np.int64)
    except ValueError:
        raise Irregular from None


def _block_hits(
    table: Table,
    judged: Judged,
    lookup: Lookup,
    codes: dict[bytes, int],
    scores: ScoreType,
) -> BlockHits:
    """Rank the judged documents of one block; a block holds whole queries."""
    begin = _stretches(table)
    q_start, q_length = table.column(0)
    names = [
        table.text(a, n)
        for a, n in zip(q_start[begin].tolist(), q_length[begin].tolist(), strict=True)
    ]
    n_rows = np.diff(np.append(begin, len(q_start)))
    # rows of queries that are not judged have the code behind the last one
    code = np.array([codes.get(name, judged.n_queries) for name in names], np.int64)
    row_code = np.repeat(code, n_rows)
    same = _falling(table, begin, scores)
    d_start, d_length = table.column(2)
    digest = hashes(table.words, d_start, d_length)
    _check_distinct(digest, row_code, judged.n_queries)
    position, row = lookup.candidates(row_code, digest)
    right = equal(Packed(table.buffer, d_start, d_length), position, judged.doc_ids.packed, row)
    position, row = position[right], row[right]
    query_start = begin[np.searchsorted(begin, position, "right") - 1]
    place, first, last = _settle_ties(table, same, position)
    return BlockHits(
        row,
        place - query_start + 1,
        first - query_start + 1,
        last - query_start + 1,
        names,
        code,
        n_rows,
        table.text(*(int(part[-1]) for part in table.column(5))),
    )


def _falling(table: Table, begin: Ints, scores: ScoreType) -> Mask:
    """Return which lines have the score of the line before them, in the same query."""
    score = compared(floats(table.buffer, table.words, *table.column(4)), scores)
    inside = np.ones(len(score), np.bool_)
    inside[begin] = False
    if (inside[1:] & (score[1:] > score[:-1])).any():
        raise Irregular  # not in order: the general path sorts
    same = np.zeros(len(score), np.bool_)
    same[1:] = inside[1:] & (score[1:] == score[:-1])
    return same


def _check_distinct(digest: NDArray[np.uint64], row_code: Ints, n_queries: int) -> None:
    """Leave a document that occurs twice in a judged query to the general path."""
    counted = row_code < n_queries
    key = digest ^ ((row_code.astype(np.uint64) + np.uint64(1)) * _MIX)
    if not counted.all():
        key = key[counted]
    key.sort()
    if (key[1:] == key[:-1]).any():
        raise Irregular


def _settle_ties(table: Table, same: Mask, position: Ints) -> tuple[Ints, Ints, Ints]:
    """Return each hit's line after ties are settled, and the first and last line of its tie.

    Only ties that hold a judged document are put in order: by document id, the last one first.
    """
    place, first, last = position.copy(), position.copy(), position.copy()
    if not same.any():
        return place, first, last
    tied = same.copy()
    tied[:-1] |= same[1:]
    lines = np.flatnonzero(tied)
    opens = np.flatnonzero(~same[lines])  # entries of `lines` at which a tie begins
    closes = np.append(opens[1:], len(lines)) - 1
    hits = np.flatnonzero(tied[position])
    group = np.searchsorted(opens, np.searchsorted(lines, position[hits]), "right") - 1
    first[hits], last[hits] = lines[opens[group]], lines[closes[group]]
    start, length = table.column(2)
    settled: dict[tuple[int, int], dict[int, int]] = {}
    for hit, a, b in zip(hits.tolist(), first[hits].tolist(), last[hits].tolist(), strict=True):
        if (a, b) not in settled:
            ids = [
                table.text(s, n)
                for s, n in zip(start[a : b + 1].tolist(), length[a : b + 1].tolist(), strict=True)
            ]
            by = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
            settled[a, b] = {a + line: a + at for at, line in enumerate(by)}
        place[hit] = settled[a, b][int(position[hit])]
    return place, first, last


def _joined(found: list[BlockHits], judged: Judged) -> Hits:
    """Put the blocks together, hits by query and rank."""
    names = [name for block in found for name in block.names]
    if len(set(names)) < len(names):
        raise Irregular  # a query in two places of the file
    code = np.concatenate([b.code for b in found])
    counts = np.concatenate([b.n_retrieved for b in found])
    is_judged = code < judged.n_queries
    n_retrieved = np.zeros(judged.n_queries, np.int64)
    n_retrieved[code[is_judged]] = counts[is_judged]
    row = np.concatenate([b.row for b in found])
    rank = np.concatenate([b.rank for b in found])
    by = np.lexsort((rank, judged.query[row]))
    return Hits(
        judged=judged,
        row=row[by],
        rank=rank[by],
        tie_first=np.concatenate([b.tie_first for b in found])[by],
        tie_last=np.concatenate([b.tie_last for b in found])[by],
        n_retrieved=n_retrieved,
        answered=n_retrieved > 0,
        failed=np.zeros(judged.n_queries, np.bool_),
        n_unjudged_queries=int((~is_judged).sum()),
    )
