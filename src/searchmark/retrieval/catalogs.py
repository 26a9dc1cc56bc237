"""A catalog that answers searches, whatever holds it: the index in memory or PostgreSQL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from searchmark.data.filters import Filter

Mode = Literal["bm25", "dense", "fused"]
"""By words, by meaning, or both joined by rank."""

DEPTH = 1000
"""How many results of each arm are fused: always so many, or pages would be of many rankings."""


@dataclass(frozen=True, slots=True)
class Found:
    """One document: its fields as they were given, and the text of it that counted.

    `best_text` is None where no vector of the document took part; `score` is None in a listing.
    """

    doc_id: str
    score: float | None
    fields: Mapping[str, Any]
    best_text: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the found documents, best first.

    `is_partial` says that the dense arm was needed and did not take part with all documents, `why`
    for what reason; `is_lexical` that it took no part at all. `total` is how many documents were
    found in all, None where nobody counted.
    """

    found: tuple[Found, ...]
    is_partial: bool = False
    total: int | None = None
    why: str = ""
    is_lexical: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """How a catalog is: sizes, the generation of its vectors, the state of its dense arm.

    `dense` is "ok", or the reason why the dense arm cannot take part.
    """

    n_documents: int
    n_waiting: int
    n_dead: int
    n_vectors: int
    generation: str
    dense: str


class CatalogSearch(Protocol):
    """What the service and the evaluation ask; every method may be called by many threads."""

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        """Return the documents at the places `offset` to `offset + limit` of the ranking."""
        ...

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        """Return documents that pass the filters by ascending id, those behind the id `after`."""
        ...

    def health(self) -> Health:
        """Return how the catalog is; OutsideError where it cannot be asked."""
        ...
