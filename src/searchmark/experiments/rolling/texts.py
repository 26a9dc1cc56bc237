"""What an entry is asked for by: texts that are made of the entry alone, always the same ones."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from searchmark.retrieval.analysis import tokenize
from searchmark.retrieval.stopwords import ENGLISH
from searchmark.systems.selection import Path

USUAL = {
    "name": "name || serviceName || title",
    "description": "description || text",
    "words": "description || text",
}
"""Kind of query -> where an entry has the text it is made of, unless somebody says otherwise."""

WORDS = "words"
"""The kind that takes the longest words; all others take the first ones."""

MOST_WORDS, MOST_CHARS = 16, 200
"""How long a query becomes."""

N_LONGEST = 4


class KnownItemQuery(NamedTuple):
    """One query: the entry it must bring back, the kind of its text, the text."""

    doc_id: str
    kind: str
    text: str

    @property
    def query_id(self) -> str:
        """The query's id; a kind has no blank in its name."""
        return f"{self.kind} {self.doc_id}"

    @property
    def digest(self) -> str:
        """What tells that an entry was asked for by another text."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def texts_of(document: Any, places: Mapping[str, Path]) -> dict[str, str]:
    """Return kind -> text of the kinds that the entry has anything for."""
    found = {}
    for kind, place in places.items():
        value = _plain(place.find(document))
        text = longest_words(value) if kind == WORDS else first_words(value)
        if text:
            found[kind] = text
    return found


def first_words(value: str) -> str:
    """Return the first words of a text, at most `MOST_WORDS` of them."""
    kept = ""
    for word in value.split()[:MOST_WORDS]:
        longer = f"{kept} {word}" if kept else word[:MOST_CHARS]
        if len(longer) > MOST_CHARS:
            break
        kept = longer
    return kept


def longest_words(value: str) -> str:
    """Return the longest words of a text that tell something, in its order."""
    words = [w for w in dict.fromkeys(tokenize(value)) if w not in ENGLISH and len(w) > 2]
    chosen = sorted(words, key=len, reverse=True)[:N_LONGEST]  # the first of equal length
    return first_words(" ".join(w for w in words if w in chosen))


def _plain(value: Any) -> str:
    """Return a text, or a list of texts joined; control characters, which APIs refuse, go."""
    parts = value if isinstance(value, list) else [value]
    text = " ".join(part for part in parts if isinstance(part, str))
    return "".join(c if c.isprintable() else " " for c in text)
