"""Words a few typing errors away from another, among hundreds of thousands."""

from collections.abc import Iterable

import numpy as np


class Neighbours:
    """Words with their letters as 64 bits: one glance at those rules most words out.

    A bit says that a letter occurs, another that it occurs again. One edit takes at most one letter
    away and brings one in, so words `limit` edits apart differ in at most twice as many bits.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words, key=lambda w: (len(w), w))
        lengths = np.array([len(w) for w in self._words], np.int64)
        self._starts = np.searchsorted(lengths, np.arange(lengths.max(initial=0) + 2))
        self._letters = np.array([_letters(w) for w in self._words], np.uint64)

    def within(self, word: str, limit: int) -> list[tuple[str, int]]:
        """Return the words at most `limit` edits away from `word`, with their distances."""
        longest = len(self._starts) - 1
        first = self._starts[min(max(len(word) - limit, 0), longest)]
        last = self._starts[min(len(word) + limit + 1, longest)]
        differing = np.bitwise_count(self._letters[first:last] ^ np.uint64(_letters(word)))
        likely = first + np.flatnonzero(differing <= 2 * limit)
        found = ((w, distance(word, w, limit)) for w in (self._words[i] for i in likely.tolist()))
        return [(w, d) for w, d in found if d <= limit]


def distance(a: str, b: str, limit: int) -> int:
    """Return how many edits make one word of the other.

    Parameters
    ----------
    a, b
        Two words.
    limit
        The largest distance of interest.

    Returns
    -------
    Number of letters inserted, dropped, replaced or swapped with their neighbour, no letter being
    edited twice; a number above `limit` where there are more.

    Notes
    -----
    Optimal string alignment, the restricted form of Damerau-Levenshtein distance.

    References
    ----------
    F. J. Damerau, A technique for computer detection and correction of spelling errors, 1964.

    Examples
    --------
    >>> distance("wether", "weather", 2), distance("recieve", "receive", 2)
    (1, 1)
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        above, row = row, [i]
        for j, other in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before = above
    return row[-1]


def _letters(word: str) -> int:
    bits = 0
    for letter in word:
        bit = 1 << (ord(letter) & 31)
        bits |= bit << 32 if bits & bit else bit
    return bits
