"""Numbers and names inside sentences."""

from collections.abc import Sequence


def counted(n: int, noun: str) -> str:
    """Return a count with its noun: 1 query, 2 queries, 1,000 findings."""
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{n:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them: a, b and c."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)
