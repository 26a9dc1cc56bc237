"""From text to the terms that keyword search compares."""

import re
import threading
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import Stemmer

from searchmark.errors import InputError, nearest
from searchmark.retrieval.stopwords import ENGLISH

Language = Literal["english", "none"]

# Soft hyphen, joiners, byte-order mark: invisible inside a word, so they must not cut it in two.
_INVISIBLE = dict.fromkeys([0x00AD, 0x200C, 0x200D, 0x2060, 0xFEFF])
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_local = threading.local()


@dataclass(frozen=True, slots=True)
class Analyzer:
    """How text becomes terms.

    Parameters
    ----------
    language : {"english", "none"}
        "english" drops stop words and stems; "none" compares the tokens as they are.
    stop_words, stemming : bool
        Each half of "english" can be switched off; both mean nothing for "none".

    Raises
    ------
    InputError
        For a language that is not known.

    Notes
    -----
    Plain words become what PostgreSQL's ``to_tsvector('english', ...)`` makes of them: the same 127
    stop words, tested before stemming, and Snowball stems. Its stems come from an older Snowball
    than PyStemmer's, and a few words differ (``docs/decisions/0002-retrieval.md``). Whatever is
    no plain word is cut into its parts here, while PostgreSQL also keeps hyphenated words,
    addresses, paths and decimal numbers whole.

    References
    ----------
    M. F. Porter, Snowball: a language for stemming algorithms, 2001.

    Examples
    --------
    >>> Analyzer().terms("Is it going to rain?")
    ['go', 'rain']
    >>> Analyzer("none").terms("Is it going to rain?")
    ['is', 'it', 'going', 'to', 'rain']
    """

    language: Language = "english"
    stop_words: bool = True
    stemming: bool = True

    def __post_init__(self) -> None:
        known = get_args(Language)
        if self.language not in known:
            raise InputError(
                f"unknown language '{self.language}'", fix=nearest(self.language, known)
            )

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in its order, repeated as often as they occur."""
        found = (self.term(token) for token in tokenize(text))
        return [term for term in found if term is not None]

    def term(self, token: str) -> str | None:
        """Return what one token is compared by; None for a stop word."""
        if self.language == "none":
            return token
        if self.stop_words and token in ENGLISH:
            return None
        return str(_stemmer().stemWord(token)) if self.stemming else token


def analyze(text: str) -> list[str]:
    """Return the English terms of a text: stop words dropped, the rest stemmed.

    Parameters
    ----------
    text : str
        Any text; an empty one has no terms.

    Returns
    -------
    list of str
        Terms in the order of the text, repeated as often as they occur.

    Examples
    --------
    >>> analyze("Real-time weather forecasts for any city")
    ['real', 'time', 'weather', 'forecast', 'citi']
    """
    return Analyzer().terms(text)


def tokenize(text: str) -> list[str]:
    """Cut a text into runs of letters and digits, without case.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Tokens in the order of the text.

    Notes
    -----
    Text is read in Unicode's compatibility form (NFKC) and case-folded, so a ligature, a full-width
    letter or an accent written as two characters finds its usual spelling; accents themselves
    stay. Combining marks belong to the letter before them. Everything else cuts: hyphens,
    apostrophes, underscores, the dots and slashes of an address, the point in 1.5. Writing
    without blanks (Chinese, Japanese, Thai) stays one token a run: it needs another tokenizer.

    Examples
    --------
    >>> tokenize("https://api.Example.com/v2/low-cost")
    ['https', 'api', 'example', 'com', 'v2', 'low', 'cost']
    >>> tokenize("Straße") == tokenize("STRASSE")
    True
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _unicode_word().findall(fold(text.translate(_INVISIBLE)))


def fold(text: str) -> str:
    """Return the compatibility form without case; folding can leave that form, hence twice."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded)


@cache
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of a word: a letter or digit, then letters, digits and marks."""
    # `re` has no class for marks. All in use lie here; the rest only selects glyph variants.
    found = (c for c in map(chr, range(0x300, 0x20000)) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"[^\W_](?:[^\W_]|[{''.join(found)}])*")


def _stemmer() -> Any:
    """Return this thread's stemmer: one must not be used by two threads at once."""
    if not hasattr(_local, "english"):
        # Its cache only slows it down: every distinct token is asked for once.
        _local.english = Stemmer.Stemmer("english", 0)
    return _local.english
