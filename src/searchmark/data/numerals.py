"""Numbers as files write them: digits of ASCII, nothing that only Python would read."""

import re

MOST_DIGITS = 18
"""Digits that every 64-bit integer has room for."""

_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def whole_number(text: str) -> int | None:
    """Return the whole number that a text is; None for ``1_0``, ``²`` or more than 18 digits."""
    text = text.strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def finite_number(text: str) -> float | None:
    """Return the number that a text is; None for what is none, or greater than a double can be."""
    text = text.strip()
    number = float(text) if _NUMBER.fullmatch(text) else float("inf")
    return number if abs(number) < float("inf") else None
