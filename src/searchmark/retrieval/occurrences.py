"""Where the terms of documents occur, and how often."""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.analysis import Analyzer, tokenize


class Occurrences(NamedTuple):
    """One field: sorted keys (term * n_docs + row), occurrences of each, and terms a document."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]


def count_terms(
    fields: Sequence[Sequence[str]], analyzer: Analyzer
) -> tuple[dict[str, int], list[Occurrences]]:
    """Return the number of each term, and each field's occurrences; a token is stemmed once."""
    tokens: defaultdict[str, int] = defaultdict()
    tokens.default_factory = tokens.__len__  # a new token gets the next number
    numbered = [_number_tokens(texts, tokens) for texts in fields]
    terms: dict[str, int] = {}
    term_of = np.full(len(tokens), -1, np.int64)
    for token, number in tokens.items():
        term = analyzer.term(token)
        if term is not None:
            term_of[number] = terms.setdefault(term, len(terms))
    return terms, [_occurrences(term_of[numbers], lengths) for numbers, lengths in numbered]


def _number_tokens(
    texts: Sequence[str], tokens: defaultdict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return every token of the texts as a number, and how many each text has."""
    numbers, lengths = array("i"), array("q")
    for text in texts:
        found = tokenize(text)
        numbers.extend(map(tokens.__getitem__, found))
        lengths.append(len(found))
    return np.array(numbers, np.int32), np.array(lengths, np.int64)


def _occurrences(terms: NDArray[np.int64], lengths: NDArray[np.int64]) -> Occurrences:
    """Count terms (-1 for none), given in the order of the texts and how many each text has."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    is_term = terms >= 0
    terms, rows = terms[is_term], rows[is_term]
    keys, counts = np.unique(terms * len(lengths) + rows, return_counts=True)
    return Occurrences(keys, counts, np.bincount(rows, minlength=len(lengths)))
