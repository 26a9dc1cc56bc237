"""Which differences of two words are slips of the hand or ear, and which make another word.

"commute" is one letter away from "compute", and no misspelling of it: m and p neither lie side by
side nor sound alike.
"""

from itertools import groupby, pairwise

_VOWELS = frozenset("aeiouy")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SOUNDS = str.maketrans("zq", "sk")
_ALIKE = ("ckq", "csz", "fv", "dt", "gj", "mn", "bp")


def is_slip(word: str, near: str) -> bool:
    """Tell whether `word` may be what was typed for `near`, a word at most two edits away.

    Parameters
    ----------
    word, near
        Two different words in lower case.

    Returns
    -------
    True where the first letters agree (or the first two are swapped) and the words differ by one
    pair of neighbours swapped, one letter missing, one letter too many, one letter for another that
    lies or sounds near, or by anything that leaves the order of the consonants as it is.

    Notes
    -----
    Not slips: another letter in a word of four, a letter more at the end unless the last is doubled
    ("maxim", "maxima"), and words without a vowel as what was meant: those are abbreviations.

    Examples
    --------
    >>> is_slip("wether", "weather"), is_slip("commute", "compute")
    (True, False)
    """
    if word[0] != near[0] and word[:2] != near[1::-1]:
        return False
    if not _VOWELS & set(near) and near.isascii():
        return False
    typed, meant = _difference(word, near)
    if len(typed) == 1 and not meant:
        return _is_easily_added(word, near)
    if len(word) == 4 and len(typed) == len(meant) == 1:
        return False
    if not typed or typed == meant[::-1] or _consonants(word) == _consonants(near):
        return True
    return len(typed) == len(meant) == 1 and _is_near(typed, meant)


def _difference(word: str, near: str) -> tuple[str, str]:
    """Return what is left of two words without their common beginning and end."""
    first = next((i for i, (a, b) in enumerate(zip(word, near, strict=False)) if a != b), None)
    first = min(len(word), len(near)) if first is None else first
    word, near = word[first:], near[first:]
    end = 0
    while end < min(len(word), len(near)) and word[-1 - end] == near[-1 - end]:
        end += 1
    return word[: len(word) - end], near[: len(near) - end]


def _is_easily_added(word: str, near: str) -> bool:
    """Tell whether the letter too many is doubled, a vowel, an h or a key beside."""
    at = next((i for i, letter in enumerate(near) if word[i] != letter), len(near))
    added, beside = word[at], word[max(at - 1, 0) : at] + word[at + 1 : at + 2]
    if added in beside:
        return True
    return at < len(near) and (
        added in _VOWELS or added == "h" or any(_is_key(added, b) for b in beside)
    )


def _is_near(a: str, b: str) -> bool:
    """Tell whether two letters are two vowels, lie side by side on the keyboard or sound alike."""
    both = {a, b}
    return both <= _VOWELS or _is_key(a, b) or any(both <= set(group) for group in _ALIKE)


def _is_key(a: str, b: str) -> bool:
    return {a, b} in _KEYS


def _keys() -> list[set[str]]:
    """Return the pairs of letters side by side on a QWERTY keyboard; a key touches two below."""
    beside = [{a, b} for row in _ROWS for a, b in pairwise(row)]
    below = [
        {key, under[i]}
        for row, under in pairwise(_ROWS)
        for column, key in enumerate(row)
        for i in (column - 1, column)
        if 0 <= i < len(under)
    ]
    return beside + below


_KEYS = _keys()


def _consonants(word: str) -> str:
    """Return the consonants in order, doubled ones once, s for z and k for q."""
    return "".join(c for c, _ in groupby(word.translate(_SOUNDS)) if c not in _VOWELS)
