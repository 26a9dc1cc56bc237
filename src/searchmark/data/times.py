"""Points in time, as logs write them."""

from datetime import UTC, date, datetime
from typing import Any

from searchmark.data.numerals import finite_number

_LARGEST = 1e18
_MILLISECONDS, _MICROSECONDS = 1e11, 1e14
"""From these numbers on (the year 5138 in either) the unit is a smaller one."""


def seconds(value: Any) -> float | None:
    """Return seconds since 1970, UTC; None for what is no time.

    Taken are dates and times of Python, ISO 8601 text, and numbers or their text: seconds,
    milliseconds or microseconds, told apart by their size. A time without a zone is UTC.
    """
    if isinstance(value, str):
        value = _parsed(value.strip())
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    if (size := abs(value)) > _LARGEST:
        return None
    return value / (1e6 if size >= _MICROSECONDS else 1e3 if size >= _MILLISECONDS else 1.0)


def written(moment: float) -> str:
    """Return a point in time as ISO 8601 text; one that no calendar has as seconds since 1970."""
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{moment:g}"


def _parsed(text: str) -> datetime | float | None:
    try:
        number = None if text.startswith(("+", "-")) else finite_number(text)
        return datetime.fromisoformat(text) if number is None else number
    except ValueError:
        return None
