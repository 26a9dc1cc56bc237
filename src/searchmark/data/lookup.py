"""Which retrieved documents are judged, at a few nanoseconds each.

Judged pairs are keyed by query and a hash of the document id. A bitmap with a stretch of slots for
each query answers most "not judged" at once; a query's slots lie together and stay in the cache.
The few rows that pass are searched for among the sorted keys. Equal hashes only make candidates:
the caller compares the ids themselves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_CODE_BITS = 26
_SHIFT = np.uint64(64 - _CODE_BITS)
_MAX_SLOT_BITS = 27


class Lookup(NamedTuple):
    """Judged pairs, sorted by key; `rows` are the judgments they stand for."""

    keys: Words
    rows: Ints
    bitmap: NDArray[np.bool_]
    slot_bits: int

    def candidates(self, code: Ints, digest: Words) -> tuple[Ints, Ints]:
        """Return (position, judgment row) of what may be judged; ids are still to be compared."""
        position = np.flatnonzero(self.bitmap[_slots(code, digest, self.slot_bits)])
        key = _keys(code[position], digest[position])
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        hit = self.keys[at] == key
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
    bitmap = np.zeros((n_queries + 1) << slot_bits, np.bool_)
    bitmap[_slots(code, digest, slot_bits)] = True
    return Lookup(ordered, by, bitmap, slot_bits)


def _keys(code: Ints, digest: Words) -> Words:
    return (code.astype(np.uint64) << _SHIFT) | (digest >> np.uint64(_CODE_BITS))


def _slots(code: Ints, digest: Words, slot_bits: int) -> Ints:
    mask = np.uint64((1 << slot_bits) - 1)
    return ((code << slot_bits) | (digest & mask).view(np.int64)).astype(np.int64, copy=False)
