"""Keys that occur twice, found without sorting: by who wins a place in a table."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_ROUNDS = 8


def repeated(key: Words) -> Words:
    """Return keys that occur more than once; none, as a rule.

    Every key writes its position into the slot that its low bits name. Whoever then reads another
    position there has lost the slot to a later key: an equal one, which is what is looked for, or
    a stranger. Losers of strangers play again among themselves, so that equal keys, which always
    share a slot, meet in the end. Each round leaves a small share of the last; keys that were made
    to collide are sorted after a few.
    """
    # eight slots a key: one key in sixteen loses its slot to a stranger
    bits = max(8, len(key).bit_length() + 3)
    mask = np.uint64((1 << bits) - 1)
    table = np.empty(1 << bits, np.int32)  # only slots that were written are read
    found: list[Words] = []
    for _ in range(_ROUNDS):
        slot = (key & mask).view(np.int64)
        position = np.arange(len(key), dtype=np.int32)
        table[slot] = position
        winner = table[slot]
        lost = np.flatnonzero(winner != position)
        if not len(lost):
            return np.concatenate(found) if found else key[:0]
        equal = key[lost] == key[winner[lost]]
        found.append(key[lost[equal]])
        key = key[lost]
    key = np.sort(key)
    return np.concatenate([*found, key[1:][key[1:] == key[:-1]]])
