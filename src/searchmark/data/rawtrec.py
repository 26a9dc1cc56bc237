"""Regular TREC files straight to judgments and hits: NumPy over raw bytes, block by block.

A block is a few megabytes cut where the query changes, so memory does not grow with the file. What
a block takes for granted is checked in it: six fields, one separator between them, falling scores,
each query in one stretch, no document twice. Anything else raises `Irregular`, and the file is read
again by the general path, which gives the same result, or the error with its line.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.data.docids import DocIds, Packed, padded
from searchmark.data.files import BOM, DAMAGED, open_bytes
from searchmark.data.hits import Hits, ScoreType, compared
from searchmark.data.judged import Judged, starts
from searchmark.data.ranking import (
    THREADS,
    Block,
    Ranked,
    joined,
    rank_block,
    side_by_side,
)
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

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

BLOCK, SMALL_BLOCK = 1 << 20, 384 << 10
"""Bytes read at a time: the temporaries of one block stay in the processor's caches.

Small ones also stay clear of fresh pages, but cost threads more time in waiting for each other.
"""

SMALL = 8 << 20
"""A file of fewer bytes is read in small blocks before threads have started."""

_REACH = 1 << 16
_WANTED = {4: (0, 2, 3), 6: (0, 2, 4, 5)}
"""The fields that matter of judgments (query, document, grade) and runs (with score and tag)."""


class Table(NamedTuple):
    """A block's lines: start and length of the fields that matter, over one buffer."""

    data: bytes
    buffer: NDArray[np.uint8]
    words: NDArray[np.uint64]
    columns: dict[int, tuple[Ints, Ints]]

    def column(self, i: int) -> tuple[Ints, Ints]:
        """Return start and length of the i-th field of every line."""
        return self.columns[i]

    @property
    def last_tag(self) -> str:
        """The tag of the last line of a run."""
        return self.text(*(int(part[-1]) for part in self.columns[5])).decode()

    def text(self, start: int, length: int) -> bytes:
        """Return one field."""
        return self.data[start : start + length]


class TextIds(NamedTuple):
    """The document ids of a table's lines, beside those of the judgments."""

    table: Table
    judged: Packed

    def same(self, position: Ints, row: Ints) -> Mask:
        """Tell, pair by pair, whether a line has the id of a judgment."""
        return equal(Packed(self.table.buffer, *self.table.column(2)), position, self.judged, row)

    def texts(self, first: int, last: int) -> list[bytes]:
        """Return the ids of the lines from first to last."""
        start, length = (part[first : last + 1].tolist() for part in self.table.column(2))
        return [self.table.text(a, n) for a, n in zip(start, length, strict=True)]


def judged_from_trec(path: Path) -> Judged:
    """Read a regular qrels file; raises Irregular where it is none."""
    with open_bytes(path) as stream:
        table = table_of(_whole(stream), 4)
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

    def work(data: bytes) -> tuple[str, Ranked]:
        table = table_of(data, 6)
        block = _block(table, judged, codes, scores)
        return table.last_tag, rank_block(block, lookup, judged.n_queries)

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
                found = side_by_side(work, pieces, threads)
    except DAMAGED:
        raise Irregular from None  # the general path tells of a damaged archive
    if not found:
        raise Irregular
    return found[-1][0], joined([ranked for _, ranked in found], judged)


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


def table_of(data: bytes, n_fields: int) -> Table:
    """Return the lines of a text, each of so many fields."""
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


def _block(table: Table, judged: Judged, codes: dict[bytes, int], scores: ScoreType) -> Block:
    """Return a table's lines as a block; a table of `blocks` holds whole queries."""
    begin = _stretches(table)
    start, length = (part[begin].tolist() for part in table.column(0))
    names = [table.text(a, n) for a, n in zip(start, length, strict=True)]
    return Block(
        begin=begin,
        code=np.array([codes.get(name, judged.n_queries) for name in names], np.int64),
        names=names,
        score=compared(floats(table.buffer, table.words, *table.column(4)), scores),
        digest=hashes(table.words, *table.column(2)),
        ids=TextIds(table, judged.doc_ids.packed),
    )
