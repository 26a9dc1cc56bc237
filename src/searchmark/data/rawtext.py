"""Fields of regular text straight from its bytes: no string is made.

A field is an offset and a length. Eight bytes at a time are looked at through a view that has a
64-bit word at *every* byte offset (little-endian: a field's first byte is the lowest), so hashing
a column of ids or reading a column of numbers is a handful of NumPy calls for a whole block.
Whatever is not regular raises `Irregular`, and the caller takes the general path.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from searchmark.data.docids import Packed

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

_U = np.uint64
_MASK = np.array([(1 << (8 * k)) - 1 for k in range(9)], _U)
_TOP = ~_MASK[::-1]
_MIX = _U(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads what it multiplies over all bits
_SPACE, _TAB, _NEWLINE = 32, 9, 10

# one byte repeated in all eight places of a word
_ONES, _TOPS = _U(0x0101010101010101), _U(0x8080808080808080)
_LOW, _HIGH = _U(0x0F0F0F0F0F0F0F0F), _U(0xF0F0F0F0F0F0F0F0)
_ZEROS, _DOTS = _U(0x3030303030303030), _U(0x2E2E2E2E2E2E2E2E)

_POWERS = 10.0 ** np.arange(16)
_INT_POWERS = (10 ** np.arange(9)).astype(_U)
_MAX_DIGITS = 15
"""An integer of 15 digits and a power of ten up to 15 are exact doubles, so is their quotient."""

_WIDEST = 32
_NUMBER_BYTES = np.zeros(256, np.bool_)
_NUMBER_BYTES[list(b"0123456789+-.eE\0")] = True


class Irregular(Exception):  # noqa: N818 - not an error: the text is for the general reader
    """The text is not of the regular form that this reader understands."""


class Unordered(Irregular):
    """The text is regular, and its lines stand in another order."""


def is_supported() -> bool:
    """Tell whether this machine's byte order is the one the tricks are written for."""
    return sys.byteorder == "little"


def words_at(buffer: NDArray[np.uint8]) -> Words:
    """Return a view with the 64-bit word that starts at each byte."""
    return np.ndarray(len(buffer) - 8, np.uint64, buffer.data, 0, (1,))


def field_ends(buffer: NDArray[np.uint8], n_bytes: int, n_fields: int) -> Ints:
    """Return where each field ends, shape (lines, n_fields).

    Every line must have `n_fields` fields, each one byte apart by a blank or a tab, and end in a
    newline.
    """
    body = buffer[:n_bytes]
    is_end = body <= _SPACE
    # counted over bytes, which the processor does by the dozen, not over the positions found
    n_lines = np.count_nonzero(body == _NEWLINE)
    n_apart = np.count_nonzero(body == _SPACE) + np.count_nonzero(body == _TAB)
    if not n_lines or n_apart != n_lines * (n_fields - 1):
        raise Irregular
    if is_end[0] or (is_end[1:] & is_end[:-1]).any():
        raise Irregular  # an empty field: two separators in a row
    found = np.flatnonzero(is_end)
    if len(found) != n_lines * n_fields:
        raise Irregular  # a control character
    ends = found.reshape(n_lines, n_fields)
    if (body[ends[:, -1]] != _NEWLINE).any():
        raise Irregular
    return ends


def check_utf8(data: bytes, buffer: NDArray[np.uint8]) -> None:
    """Leave bytes that are not UTF-8 to the general reader, which names the line."""
    if (buffer >= 0x80).any():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            raise Irregular from None


def word(words: Words, start: Ints, length: Ints, k: int) -> Words:
    """Return the k-th eight bytes of each field, zero behind its end."""
    if k == 0:
        return words[start] & _MASK[np.minimum(length, 8)]
    # a field that has ended must not be looked for beyond the end of the buffer
    at = np.where(length > 8 * k, start + 8 * k, 0)
    return words[at] & _MASK[np.clip(length - 8 * k, 0, 8)]


def n_words(length: Ints) -> int:
    """Return how many words the longest field has."""
    return (int(length.max(initial=1)) + 7) // 8


def hashes(words: Words, start: Ints, length: Ints) -> Words:
    """Return a 64-bit hash of each field: multiply and shift, a word at a time."""
    found = (word(words, start, length, 0) ^ length.astype(_U)) * _MIX
    for k in range(1, n_words(length)):
        # a field that has ended is left alone: how long others are must not change its hash
        step = (found ^ (found >> _U(32)) ^ word(words, start, length, k)) * _MIX
        found = np.where(length > 8 * k, step, found)
    return found ^ (found >> _U(29))


def equal(a: Packed, rows_a: Ints, b: Packed, rows_b: Ints) -> NDArray[np.bool_]:
    """Tell, pair by pair, whether two packed texts are the same bytes."""
    start_a, length_a = a.start[rows_a], a.length[rows_a]
    start_b, length_b = b.start[rows_b], b.length[rows_b]
    same: NDArray[np.bool_] = length_a == length_b
    shorter = np.where(same, length_a, 0)
    words_a, words_b = words_at(a.buffer), words_at(b.buffer)
    for k in range(n_words(shorter)):
        same &= word(words_a, start_a, shorter, k) == word(words_b, start_b, shorter, k)
    return same


def floats(buffer: NDArray[np.uint8], words: Words, start: Ints, length: Ints) -> Floats:
    """Return a column of numbers, each the double nearest to its text."""
    found = _fixed_point(words, start, length)
    if found is None:
        found = _decimals(words, start, length)
    return found if found is not None else _any_floats(buffer, start, length)


def _fixed_point(words: Words, start: Ints, length: Ints) -> Floats | None:
    """Read decimals that all have as many digits behind the dot; None for anything else.

    Fields are looked at from their ends, where the dot has one place in all of them.
    """
    shortest, longest = int(length.min()), int(length.max())
    end = start + length
    if longest > _MAX_DIGITS + 1 or int(end[0]) < 8:
        return None
    last = words[end - 8]
    n_after = 7 - (int(last[0] ^ _DOTS).to_bytes(8, "little").rfind(0))
    if not 0 < n_after < min(8, shortest):
        return None
    if shortest < 8:  # what stands before a field is not its own
        last = last & _TOP[np.minimum(length, 8)]
    dot = 8 * (7 - n_after)  # its first bit in the last eight bytes
    if ((last ^ _DOTS) & _U(0xFF << dot)).any():
        return None
    # the digits before the dot move up into its place
    before, after = last & _U((1 << dot) - 1), last & ~_U((1 << (dot + 8)) - 1)
    value, bad = _digits_or_zeros(after | before << _U(8))
    if longest > 8:
        n_first = np.maximum(length - 8, 0)
        first = (words[start] & _MASK[n_first]) << ((8 - n_first) << 3).astype(_U)
        more, more_bad = _digits_or_zeros(first)
        value, bad = value + more * _U(10**7), bad or more_bad
    return None if bad else value.astype(np.float64) / _POWERS[n_after]


def _digits_or_zeros(text: Words) -> tuple[Words, bool]:
    """Return the number that eight bytes spell, zero bytes read as 0, and whether any is no digit.

    No field has a byte of 32 or less, so a byte is a digit where its two highest bits are 0, the
    next two are alike, and its lower half is at most 9.
    """
    low = text & _LOW
    wrong = (text & _U(0xC0C0C0C0C0C0C0C0)) | (((text >> _U(1)) ^ text) & _U(0x1010101010101010))
    wrong |= (low + _U(0x0606060606060606)) & _HIGH
    return _eight(low), bool(np.bitwise_or.reduce(wrong))


def _decimals(words: Words, start: Ints, length: Ints) -> Floats | None:
    """Read plain decimals of at most 8 digits on each side of the dot; None for anything else."""
    if int(length.max()) > 2 * 8 + 1:
        return None
    mixed = words[start] ^ _DOTS
    zero_bytes = (mixed - _ONES) & ~mixed & _TOPS  # the top bit of each byte that is a dot
    lowest = (zero_bytes & (~zero_bytes + _U(1))) - _U(1)  # all bits below the first such bit
    n_before = np.minimum(np.bitwise_count(lowest).astype(np.int64) >> 3, length)
    has_dot = n_before < length
    n_after = np.where(has_dot, length - n_before - 1, 0)
    n_digits = n_before + n_after
    if int(n_after.max()) > 8 or int(n_digits.min()) < 1 or int(n_digits.max()) > _MAX_DIGITS:
        return None
    # eight bytes without a dot: the ninth is one, or the number is longer than is read here
    unseen = start[has_dot & (n_before == 8)] + 8
    if len(unseen) and ((words[unseen] & _U(0xFF)) != (_DOTS & _U(0xFF))).any():
        return None
    whole, whole_ok = _digits(words[start], n_before)
    part, part_ok = _digits(words[np.where(has_dot, start + n_before + 1, 0)], n_after)
    if not (whole_ok & part_ok).all():
        return None
    value = whole * _INT_POWERS[n_after] + part
    return value.astype(np.float64) / _POWERS[n_after]


def _digits(text: Words, n: Ints) -> tuple[Words, NDArray[np.bool_]]:
    """Return the number that the first `n` (0 to 8) bytes spell, and whether all are digits.

    The digits are moved to the top of the word, so that the missing ones are leading zeros; then
    pairs, fours and eights are added up, three multiplications for eight digits.
    """
    shift = ((8 - n) << 3).astype(_U)
    # a shift by 64 is left to chance by C, so no digit at all is made to read as zero
    none = n == 0
    moved = np.where(none, _U(0), text << np.where(none, _U(0), shift))
    wanted = np.where(none, _U(0), _ZEROS << np.where(none, _U(0), shift))
    low = moved & _LOW
    is_digit = ((moved & _HIGH) == wanted) & (((low + _U(0x0606060606060606)) & _HIGH) == 0)
    return _eight(low), is_digit


def _eight(digits: Words) -> Words:
    """Return the number that eight bytes of 0 to 9 stand for, the first in the lowest byte."""
    pairs = digits * _U(10) + (digits >> _U(8))
    mask = _U(0x000000FF000000FF)
    fours = (pairs & mask) * _U(0x000F424000000064)
    eights: Words = fours + ((pairs >> _U(16)) & mask) * _U(0x0000271000000001)
    return eights >> _U(32)


def _any_floats(buffer: NDArray[np.uint8], start: Ints, length: Ints) -> Floats:
    """Read numbers of any form, signs and exponents too, through the C library."""
    if int(length.max()) > _WIDEST:
        raise Irregular
    rows = np.ndarray((len(buffer) - _WIDEST, _WIDEST), np.uint8, buffer.data, 0, (1, 1))[start]
    rows[np.arange(_WIDEST) >= length[:, None]] = 0
    if not _NUMBER_BYTES[rows].all():
        raise Irregular  # nan, inf, underscores, other digits: the general reader has a word to say
    try:
        return np.ascontiguousarray(rows).view(f"S{_WIDEST}")[:, 0].astype(np.float64)
    except ValueError:
        raise Irregular from None
