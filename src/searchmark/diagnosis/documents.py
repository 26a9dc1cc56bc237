"""The documents as rules read them: titles, the terms of each field, likeness of two."""

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from searchmark.diagnosis.lexicon import Lexicon
from searchmark.diagnosis.wording import cut
from searchmark.retrieval.analysis import Analyzer, tokenize

if TYPE_CHECKING:
    from searchmark.data.corpus import Corpus

Terms = frozenset[str]

_ENGLISH = Analyzer()


class Documents:
    """A corpus seen document by document; only the documents that are asked for are analysed.

    Terms are stemmed and without stop words, as the built-in keyword search makes them.
    """

    def __init__(self, corpus: "Corpus", names: Collection[str] = ()) -> None:
        self.corpus = corpus
        self._names = tuple(names)
        self._terms: dict[str, dict[str, Terms]] = {}
        self._all_terms: dict[str, Terms] = {}
        self._term_of: dict[str, str | None] = {}

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Document id -> its row in the corpus."""
        return {d: row for row, d in enumerate(self.corpus.doc_ids)}

    @cached_property
    def lexicon(self) -> Lexicon:
        """What the corpus knows of words and names."""
        return Lexicon.of(self.corpus, self._names)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields that hold text, in the corpus' order."""
        types = self.corpus.frame.schema.items()
        texts = (pl.String, pl.List(pl.String))
        return tuple(name for name, kind in types if kind in texts and name != "doc_id")

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.row_of

    def value(self, doc_id: str, field: str) -> Any:
        """Return what a field holds; None for an unknown document or field."""
        row = self.row_of.get(doc_id)
        if row is None or field not in self.corpus.frame.columns:
            return None
        return self.corpus.frame[field][row]

    def text(self, doc_id: str, field: str) -> str:
        """Return a field as text: a list joined by blanks, a gap empty."""
        value = self.value(doc_id, field)
        if isinstance(value, pl.Series):
            return " ".join(str(v) for v in value.to_list() if v is not None)
        return "" if value is None else str(value)

    def title(self, doc_id: str) -> str:
        """Return what a person would call the document: its title or name, or its id."""
        for field in (*self._names, "title", "name"):
            if text := self.text(doc_id, field).strip():
                return text
        named = (f for f in self.fields if f.lower().endswith("name"))
        return next((t for f in named if (t := self.text(doc_id, f).strip())), doc_id)

    def label(self, doc_id: str) -> str:
        """Return the title, cut where it is long, with the id; the id alone without a title."""
        title = self.title(doc_id)
        return doc_id if title == doc_id else f"{cut(title)} ({doc_id})"

    def terms(self, doc_id: str) -> Mapping[str, Terms]:
        """Return field -> the terms it holds, of the fields that hold any."""
        if doc_id not in self._terms:
            found = {f: self._analysed(self.text(doc_id, f)) for f in self.fields}
            self._terms[doc_id] = {f: terms for f, terms in found.items() if terms}
        return self._terms[doc_id]

    def all_terms(self, doc_id: str) -> Terms:
        """Return the terms of all fields together."""
        if doc_id not in self._all_terms:
            self._all_terms[doc_id] = frozenset().union(*self.terms(doc_id).values())
        return self._all_terms[doc_id]

    def likeness(self, a: str, b: str) -> float:
        """Return the share of the terms of two documents that they have in common, 0 to 1.

        Jaccard's: the terms of both over the terms of either; 0 where neither has any.
        """
        return jaccard(self.all_terms(a), self.all_terms(b))

    def _analysed(self, text: str) -> Terms:
        """Return the terms of a text; each word of the corpus is stemmed once."""
        known, words = self._term_of, set(tokenize(text))
        known.update({w: _ENGLISH.term(w) for w in words if w not in known})
        return frozenset(term for w in words if (term := known[w]) is not None)


def jaccard(a: Terms, b: Terms) -> float:
    """Return the terms of both over the terms of either, 0 to 1; 0 where neither has any."""
    n_both = len(a & b)
    n_either = len(a) + len(b) - n_both
    return n_both / n_either if n_either else 0.0
