"""Which documents contain a whole query text inside a field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.analysis import fold

_END = "\0"


@dataclass(frozen=True, slots=True, eq=False)
class SubstringIndex:
    """Every value of the chosen fields in one text, so that a search is one pass over it."""

    joined: str
    ends: NDArray[np.int64]
    n_docs: int

    @classmethod
    def build(cls, fields: Mapping[str, Sequence[str]]) -> "SubstringIndex":
        """Index the values, given as one sequence a field with an entry a document."""
        values = [plain(value) for texts in fields.values() for value in texts]
        n_docs = len(values) // len(fields) if fields else 0
        ends = np.cumsum([len(value) + 1 for value in values], dtype=np.int64)
        return cls("".join(value + _END for value in values), ends, n_docs)

    def rows(self, text: str) -> NDArray[np.int64]:
        """Return the documents that contain `text` without its outer blanks, in any case.

        A text of nothing but blanks is contained in none.
        """
        wanted = plain(text)
        places = list(self._places(wanted)) if wanted else []
        return np.unique(np.array(places, np.int64) % max(self.n_docs, 1))

    def _places(self, wanted: str) -> Iterator[int]:
        """Yield the number of each value that contains `wanted`."""
        start = self.joined.find(wanted)
        while start >= 0:
            place = int(np.searchsorted(self.ends, start, side="right"))
            yield place
            start = self.joined.find(wanted, int(self.ends[place]))


def plain(text: str) -> str:
    """Return a text as it is compared: without case and outer blanks."""
    return fold(text).replace(_END, " ").strip()
