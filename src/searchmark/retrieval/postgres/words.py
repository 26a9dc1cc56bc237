"""Text as PostgreSQL's parser gets it: our own tokens, so that both indexes hold the same words."""

import re
import unicodedata
from hashlib import sha256

from searchmark.retrieval.analysis import Analyzer, tokenize

PART = 255
"""Tokens of one tsvector: it keeps no more places of a word, and the count of places is needed."""

MOST_BYTES = 900_000
"""Bytes of different words of one document; a tsvector holds a mebibyte."""

LONGEST = 240
"""Characters of a stem; a longer one is indexed by its digest, as PostgreSQL does not stem a word
of more than 1,000 bytes and leaves out one of more than 2,046."""

MARK = "\u01c1"
"""A letter of some languages of Africa, put before tokens that PostgreSQL's parser would cut."""

_PLAIN = re.compile(r"[^\W\d_]+|[0-9]+")
_analyzer = Analyzer()


def words_for(text: str) -> list[str]:
    """Return the tokens of a text in such a writing that ``to_tsvector('english')`` keeps each.

    Runs of letters are left to PostgreSQL, to stem and to drop. It neither stems a token of letters
    and digits, nor keeps one whole that begins like a number (``12e4th``): these are stemmed here
    and, where they begin with a digit, marked.
    """
    return [word for word, _ in words_and_terms(text)]


def words_and_terms(text: str) -> list[tuple[str, str]]:
    """Return the tokens of a text as `words_for` does, each with the term of the index in memory.

    Sums of scores are made in the order of those terms.
    """
    return [_word(token) for token in tokenize(text)]


def _word(token: str) -> tuple[str, str]:
    term = _analyzer.term(token) or token
    if len(term) > LONGEST or not _is_read_whole(term):
        return MARK + sha256(term.encode()).hexdigest(), term
    if _PLAIN.fullmatch(token):
        return token, term
    return MARK + term if term[0].isdigit() else term, term


def _is_read_whole(token: str) -> bool:
    """Tell whether a token has no digit in a circle, fraction or the like: these cut words."""
    return token.isascii() or not {"No", "Nl"} & set(map(unicodedata.category, token))


def parts(words: list[str]) -> list[str]:
    """Return the words as texts for one tsvector each; one that is empty where there are none."""
    return [" ".join(words[i : i + PART]) for i in range(0, max(len(words), 1), PART)]


def is_storable(text: str) -> bool:
    """Tell whether PostgreSQL can hold a text: no NUL, no half of a character."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
