"""Which retrieved documents are judged, at a few nanoseconds each.

Judged pairs are keyed by query and a hash of the document id. A table with a stretch of slots for
each query answers most "not judged" at once, and says for the others which judgment of the query it
may be; a query's slots lie together and stay in the cache. Only where two judgments share a slot
are the sorted keys searched. Equal hashes only make candidates: the caller compares the ids
themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_CODE_BITS = 26
_SHIFT = np.uint64(64 - _CODE_BITS)
_MAX_SLOT_BITS = 27


_CROWDED = 255
"""Of a slot that two judgments share, or one whose number does not fit."""


class Lookup(NamedTuple):
    """Judged pairs, sorted by key; `rows` are the judgments they stand for.

    A query's keys begin at `start`; `slots` hold which of them it may be, from 1; 0 for none.
    """

    keys: Words
    rows: Ints
    start: Ints
    slots: NDArray[np.uint8]
    slot_bits: int

    def candidates(self, code: Ints, digest: Words) -> tuple[Ints, Ints]:
        """Return (position, judgment row) of what may be judged; ids are still to be compared."""
        mark = self.slots[_slots(code, digest, self.slot_bits)]
        position = np.flatnonzero(mark != 0)
        mark = mark[position]
        own = code[position]
        key = _keys(own, digest[position])
        at = self.start[own] + mark - 1
        crowded = np.flatnonzero(mark == _CROWDED)
        at[crowded] = np.searchsorted(self.keys, key[crowded])
        hit = self.keys[np.minimum(at, len(self.keys) - 1)] == key
        return position[hit], self.rows[at[hit]]


def build(code: Ints, digest: Words, n_queries: int) -> Lookup | None:
    """Return the lookup of judged pairs, or None where two of them have one key.

    Two pairs with one key are one pair judged twice, or a one-in-billions accident; either way the
    general path, which compares texts only, is the right one.
    """
    if n_queries >= 1 << _CODE_BITS or not len(code):
        return None
    key = _keys(code, digest)
    by = np.argsort(key)
    ordered = key[by]
    if (ordered[1:] == ordered[:-1]).any():
        return None
    # a query's judgments fill about a sixteenth of its slots
    wanted = int(16 * len(code) / max(n_queries, 1)).bit_length()
    slot_bits = max(4, min(wanted, _MAX_SLOT_BITS - n_queries.bit_length()))
    # one more query than there are: rows of queries that are not judged land there
    slots = np.zeros((n_queries + 1) << slot_bits, np.uint8)
    sorted_code = code[by]
    start = np.searchsorted(sorted_code, np.arange(n_queries + 1)).astype(np.int64)
    number = np.minimum(np.arange(len(by)) - start[sorted_code] + 1, _CROWDED).astype(np.uint8)
    slot = _slots(sorted_code, digest[by], slot_bits)
    slots[slot] = number
    slots[slot[slots[slot] != number]] = _CROWDED
    return Lookup(ordered, by, start, slots, slot_bits)


def _keys(code: Ints, digest: Words) -> Words:
    return (code.astype(np.uint64) << _SHIFT) | (digest >> np.uint64(_CODE_BITS))


def _slots(code: Ints, digest: Words, slot_bits: int) -> Ints:
    mask = np.uint64((1 << slot_bits) - 1)
    return ((code << slot_bits) | (digest & mask).view(np.int64)).astype(np.int64, copy=False)
