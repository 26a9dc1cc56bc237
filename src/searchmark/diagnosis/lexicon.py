"""What a corpus knows of words and names."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from searchmark.diagnosis.neighbours import Neighbours
from searchmark.retrieval.analysis import Analyzer, fold, tokenize

if TYPE_CHECKING:
    from searchmark.data.corpus import Corpus

IDENTIFIERS = frozenset(
    ("sku", "mpn", "model", "modelnumber", "partnumber", "gtin", "ean", "upc", "isbn", "asin")
)
"""Fields that hold what a thing is ordered by; compared without case and underscores."""

_COLON_WORD = re.compile(r"[^\s:]+:[^\s]+")
_STEMS = Analyzer(stop_words=False)


class Named(NamedTuple):
    """The document that a text names, and the field that holds the name."""

    doc_id: str
    field: str


class Lexicon:
    """The words and names of a corpus; each part is made when it is first asked for.

    Words are those of `retrieval.analysis.tokenize`: in lower case, not stemmed.
    """

    def __init__(self, corpus: "Corpus", names: Sequence[str] = ()) -> None:
        self._corpus = corpus
        self._names = tuple(names) or name_fields(corpus.frame.columns)
        self.fields = frozenset(corpus.frame.columns)
        self._near: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of(cls, corpus: "Corpus", names: Sequence[str] = ()) -> "Lexicon":
        """Return the lexicon of a corpus.

        Parameters
        ----------
        corpus
            The documents.
        names
            Fields that hold a title or name; by default `title`, `name`, `label` and those that end
            in `Name` or `_name`. Identifiers (`doc_id`, `sku`, `model`, ...) are names as well.
        """
        return cls(corpus, names)

    def __len__(self) -> int:
        """Return how many documents there are."""
        return len(self._corpus)

    def named(self, text: str) -> Named | None:
        """Return the first document that has this text as its name, and the field that says so.

        Case, blanks and punctuation are folded; where names differ in nothing else ("C++", "C#"),
        the one written like the text is meant.
        """
        as_written, letters = _keys(text)
        return self._by_name.get(as_written) or self._by_letters.get(letters)

    def is_name(self, text: str) -> str | None:
        """Return the id of the document that has this text as its title, name or identifier."""
        found = self.named(text)
        return found and found.doc_id

    def begun_name(self, text: str, *, alone: bool = False) -> Named | None:
        """Return a document whose name begins with this text; `alone` asks for the only such."""
        _, letters = _keys(text)
        at = bisect_left(self._letters_in_order, letters)
        found = [n for n in self._letters_in_order[at : at + 2] if n.startswith(letters)]
        if not letters or not found or (alone and len(found) > 1):
            return None
        return self._by_letters[found[0]]

    def document_frequency(self, word: str) -> int:
        """Return how many documents hold a word in any field of text; 0 for an unknown one."""
        return self.frequencies.get(word, 0)

    def number_with(self, word: str) -> int:
        """Return how many documents hold a word, or else its plural."""
        return self.frequencies.get(word) or self.frequencies.get(word + "s", 0)

    def knows(self, word: str) -> bool:
        """Tell whether the corpus holds a word in this or another inflection."""
        return word in self.frequencies or inflects(word, self.frequencies, self._stems)

    def completions(self, prefix: str) -> tuple[str, ...]:
        """Return the words that begin with a prefix (a word begins with itself), in order."""
        first = bisect_left(self._words, prefix)
        last = bisect_left(self._words, prefix + chr(0x10FFFF))
        return tuple(self._words[first:last])

    def near(self, word: str) -> tuple[str, ...]:
        """Return the known words that an unknown one may have been meant for, the likeliest first.

        Parameters
        ----------
        word
            A word in lower case.

        Returns
        -------
        Words by Damerau-Levenshtein distance, then those in most documents, then in order. Words of
        4 to 7 letters may be 1 edit away, longer ones 2; nothing is near shorter and known ones.
        The singular of a word counts as known.
        """
        if word not in self._near:
            self._near[word] = self._search(word)
        return self._near[word]

    def nearest(self, word: str) -> str | None:
        """Return the likeliest of the words near an unknown one; None where there is none."""
        return next(iter(self.near(word)), None)

    def writes(self, text: str) -> bool:
        """Tell whether a document holds these characters, a colon among them, as one word."""
        return text.lower() in self._colon_words

    def field_of(self, text: str) -> str | None:
        """Return a field that holds these characters, a colon among them, as its whole value."""
        return self._colon_words.get(text.lower()) or None

    def _search(self, word: str) -> tuple[str, ...]:
        if len(word) < 4 or word in self.frequencies:
            return ()
        found = self._neighbours.within(word, 2 if len(word) >= 8 else 1)
        found.sort(key=lambda f: (f[1], -self.number_with(f[0]), f[0]))
        return tuple(near for near, _ in found)

    @cached_property
    def frequencies(self) -> Counter[str]:
        """Word -> number of documents that hold it."""
        counts: Counter[str] = Counter()
        for text in self._corpus.joined(self._text_fields):
            counts.update(set(tokenize(text)))
        return counts

    @property
    def _text_fields(self) -> list[str]:
        kinds = (pl.String, pl.List(pl.String))
        schema = self._corpus.frame.schema.items()
        return [name for name, kind in schema if kind in kinds and name != "doc_id"]

    @cached_property
    def _words(self) -> list[str]:
        return sorted(self.frequencies)

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(stem, self.frequencies))

    @cached_property
    def _neighbours(self) -> Neighbours:
        """Words to look for near ones among: those of the corpus, and singulars of its plurals."""
        plurals = (w for w in self.frequencies if w.endswith("s") and not w.endswith("ss"))
        words = {*self.frequencies, *(w[:-1] for w in plurals)}
        return Neighbours(w for w in words if len(w) >= 3 and w.isalpha())

    @cached_property
    def _colon_words(self) -> dict[str, str]:
        """Word with a colon -> the field that has it as a whole value, or "" within other text."""
        found: dict[str, str] = {}
        for field in self._text_fields:
            for text in self._parts(field):
                for word in _COLON_WORD.findall(text) if ":" in text else ():
                    is_whole = word == text
                    plain = word.strip("\"'`.,;()[]{}").lower()
                    found[plain] = found.get(plain) or (field if is_whole else "")
        return found

    @cached_property
    def _by_name(self) -> dict[str, Named]:
        return self._tables[0]

    @cached_property
    def _by_letters(self) -> dict[str, Named]:
        return self._tables[1]

    @cached_property
    def _letters_in_order(self) -> list[str]:
        return sorted(self._by_letters)

    @cached_property
    def _tables(self) -> tuple[dict[str, Named], dict[str, Named]]:
        """Names as they are written and names as letters; the first document with one keeps it."""
        as_written: dict[str, Named] = {}
        by_letters: dict[str, Named] = {}
        for text, named in self._all_names():
            written, letters = _keys(text)
            if written:
                as_written.setdefault(written, named)
            if len(letters) > 1:  # "c" is not enough of "C++"
                by_letters.setdefault(letters, named)
        return as_written, by_letters

    def _all_names(self) -> Iterator[tuple[str, Named]]:
        doc_ids = self._corpus.doc_ids
        identifiers = [c for c in self._corpus.frame.columns if _plain(c) in IDENTIFIERS]
        for field in dict.fromkeys([*self._names, *identifiers]):
            for doc_id, text in zip(doc_ids, self._values(field), strict=True):
                yield from ((part, Named(doc_id, field)) for part in text)
        for doc_id in doc_ids:
            if not (doc_id.isdecimal() and len(doc_id) < 5):  # a mere row number is no name
                yield doc_id, Named(doc_id, "doc_id")

    def _parts(self, field: str) -> Iterator[str]:
        return (text for texts in self._values(field) for text in texts)

    def _values(self, field: str) -> list[list[str]]:
        """Return the texts that a field holds, of each document."""
        if field in self.fields and self._corpus.frame[field].dtype == pl.List(pl.String):
            return [[t for t in texts or [] if t] for texts in self._corpus.frame[field].to_list()]
        return [[text] if text else [] for text in self._corpus.texts(field)]


def name_fields(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold a title or name, going by what they are called."""
    first = [c for c in columns if c.lower() in ("title", "name", "label")]
    rest = [c for c in columns if c.endswith(("Name", "_name", "_label"))]
    return tuple(dict.fromkeys([*first, *rest]))


def stem(word: str) -> str:
    """Return the English stem of a word in lower case."""
    return _STEMS.term(word) or word


def inflects(word: str, words: Container[str], stems: Container[str]) -> bool:
    """Tell whether `word` is another form of one of `words`, whose stems are `stems`.

    A stem that is no word by itself ("invoic" of invoice, "headphon" of headphones) is none: that
    is a word cut short.
    """
    if stem(word) not in stems or (word.endswith("i") and word[:-1] + "y" in words):
        return False
    takes_es = word.endswith(("s", "x", "z", "ch", "sh", "o"))
    return word + "e" not in words and (takes_es or word + "es" not in words)


def _keys(text: str) -> tuple[str, str]:
    """Return a text without case and needless blanks, and its letters and digits alone."""
    return " ".join(fold(text).split()), "".join(tokenize(text))


def _plain(column: str) -> str:
    return column.lower().replace("_", "").replace("-", "")
