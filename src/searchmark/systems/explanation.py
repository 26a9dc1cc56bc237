"""Why a system ranks a document where it does, for systems that can tell."""

from dataclasses import dataclass
from typing import Protocol

from searchmark.systems.protocol import Query, System


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a score: what it is worth, what it is, and the parts that it is made of."""

    value: float | None
    description: str
    details: tuple["Reason", ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a system says of one document for one query.

    `rank` is None where the document is not among the `depth` first. `reason` is None where the
    system gives none; `note` then says why.
    """

    doc_id: str
    depth: int
    rank: int | None = None
    score: float | None = None
    reason: Reason | None = None
    note: str = ""


class ExplainingSystem(System, Protocol):
    """A system that can explain a hit."""

    def explain(self, query: Query, doc_id: str, k: int = 100) -> Explanation:
        """Return why the document is ranked where it is, or why it is not among the `k` first."""
        ...
