"""Numbers and names inside sentences."""

from collections.abc import Sequence

from searchmark.diagnosis.limits import TOLERANCE

LONGEST = 60
"""Of a title or a value inside a sentence, in characters."""

MORE = " ..."

MOST_DIGITS = 10
"""They tell apart what is further apart than `TOLERANCE`."""


def counted(n: int, noun: str) -> str:
    """Return a count with its noun: 1 query, 2 queries, 1,000 findings."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{n:,} {noun}s"


def are(n: int) -> str:
    """Return the verb that goes with a count."""
    return "is" if n == 1 else "are"


def told(value: float, limit: float, digits: int) -> str:
    """Return a value with some digits, with more where these would show it as the limit.

    Examples
    --------
    >>> told(0.70004, 0.7, 4), told(0.70012, 0.7, 4), told(0.7, 0.7, 4)
    ('0.70004', '0.7001', '0.7000')
    """
    most = digits if abs(value - limit) <= TOLERANCE else MOST_DIGITS
    shown = (f"{value:.{n}f}" for n in range(digits, most))
    return next((s for s in shown if float(s) != limit), f"{value:.{most}f}")


def cut(text: str, most: int = LONGEST) -> str:
    """Return a text on one line, cut where it is long.

    Examples
    --------
    >>> cut("A long title of  something", 12), cut("Donaudampfschiff", 12)
    ('A long ...', 'Donaudam ...')
    """
    whole = " ".join(text.split())
    if len(whole) <= most:
        return whole
    start = whole[: most - len(MORE)]
    words = start if whole[len(start)] == " " else start.rpartition(" ")[0]
    return (words or start).rstrip() + MORE


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: a, b and c."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)
