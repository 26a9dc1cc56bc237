"""BM25F: keyword search over weighted fields, as a sparse matrix of finished scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, nearest
from searchmark.retrieval.analysis import Analyzer
from searchmark.retrieval.occurrences import Occurrences, count_terms
from searchmark.retrieval.ordering import Scored
from searchmark.retrieval.substring import SubstringIndex

IDF_FLOOR = 1e-6
"""Least idf of a term: one that every document has still counts for a little."""


@dataclass(frozen=True, slots=True)
class TermShare:
    """What one term of a query adds to the score of one document.

    `query_count` is how often the query has the term, `df` how many documents have it, `counts` how
    often each field of this document has it; `score` is its part of the sum.
    """

    term: str
    query_count: int
    df: int
    idf: float
    counts: Mapping[str, int]
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class BM25F:
    """An index of finished scores; `build` makes one.

    The postings of term ``t`` are ``rows[starts[t]:starts[t + 1]]``, ascending, and the same part
    of `values`.

    Notes
    -----
    For a term t and a document d, over the fields f with weight w_f::

        x     = sum_f w_f * tf(t, d, f) / (1 - b + b * len(d, f) / avglen(f))
        idf   = max(ln((N - df + 0.5) / (df + 0.5) + 1), 1e-6)
        score = idf * x / (x + k1)

    summed over the query's terms, a term that is there twice counting twice. Lengths count terms
    (stop words are none); the average is over all N documents, one without the field having
    length 0; df counts the documents that have t in any weighted field. There is no factor
    ``k1 + 1``, as in Lucene since 8.0: it is the same for every document, and without it a score
    is never above the sum of the idf.

    References
    ----------
    S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond. Foundations
    and Trends in Information Retrieval 3(4), 2009, section 3.6.
    """

    n_docs: int
    vocabulary: Mapping[str, int]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float64]
    analyzer: Analyzer
    texts: Mapping[str, Sequence[str]]
    substring: SubstringIndex

    @classmethod
    def build(
        cls,
        fields: Mapping[str, Sequence[str]],
        *,
        weights: Mapping[str, float],
        k1: float = 1.2,
        b: float = 0.75,
        analyzer: Analyzer = Analyzer(),  # noqa: B008 - a frozen value
        substring: Mapping[str, Sequence[str]] | None = None,
    ) -> "BM25F":
        """Index documents.

        Parameters
        ----------
        fields : mapping of str to sequence of str
            The text of each field, an entry a document, "" where a document lacks it.
        weights : mapping of str to float
            The weight of each field, above 0; names exactly the fields.
        k1 : float, default 1.2
            At least 0. How slowly repetition stops to count.
        b : float, default 0.75
            From 0 to 1. How much longer fields are discounted.
        analyzer : Analyzer
            Makes terms of documents and queries alike.
        substring : mapping of str to sequence of str, optional
            Fields in which a document may contain the whole query text to become a candidate.

        Returns
        -------
        BM25F
            The same for the same documents, whatever the order of the mappings.

        Raises
        ------
        InputError
            For fields of different lengths, weights that do not fit, and `k1` or `b` out of range.

        Examples
        --------
        >>> index = BM25F.build({"text": ["rain", "rain snow", ""]}, weights={"text": 1})
        >>> found = index.scores("snow")  # x = 1 / (0.25 + 0.75 * 2 / 1); idf = ln(2.5 / 1.5 + 1)
        >>> found.rows.tolist(), found.scores.round(6).tolist()  # 0.980829 * 0.571429 / 1.771429
        ([1], [0.316397])
        """
        names = sorted(fields)
        n_docs = _check(fields, substring or {}, weights, k1=k1, b=b)
        vocabulary, occurrences = count_terms([fields[name] for name in names], analyzer)
        keys = reduce(np.union1d, [found.keys for found in occurrences])
        x = np.zeros(len(keys))
        for name, found in zip(names, occurrences, strict=True):
            x[np.searchsorted(keys, found.keys)] += weights[name] * _discounted(found, b)
        terms, rows = np.divmod(keys, max(n_docs, 1))
        df = np.bincount(terms, minlength=len(vocabulary))
        return cls(
            n_docs=n_docs,
            vocabulary=vocabulary,
            starts=np.concatenate([[0], np.cumsum(df)]),
            rows=rows.astype(np.int32),
            values=saturated(x, inverse_frequency(df, n_docs)[terms], k1),
            analyzer=analyzer,
            texts={name: fields[name] for name in names},
            substring=SubstringIndex.build(substring or {}),
        )

    def scores(
        self,
        text: str,
        *,
        candidates: Literal["and", "or"] = "and",
        fallback: bool = True,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Scored:
        """Score the documents that a query selects.

        Parameters
        ----------
        text : str
            The query.
        candidates : {"and", "or"}
            Whether a document must have every different term of the query, each in any field, or
            one of them.
        fallback : bool, default True
            Turn "and" into "or" where no document qualifies.
        allowed : ndarray of bool, shape (n_docs,), optional
            Documents that may be returned at all; the others also do not count as qualified.

        Returns
        -------
        Scored
            Rows ascending; scores from 0 to the sum of the terms' idf. A score is 0 only for
            a document that is here because it contains the whole query text.

        Notes
        -----
        A query without terms (stop words, punctuation) selects only by substring. The order of the
        query's words changes no bit of a score.
        """
        wanted = Counter(self.analyzer.terms(text))
        matched, total = self._sum(wanted)
        open_to = np.ones(self.n_docs, np.bool_) if allowed is None else allowed
        contains = np.zeros(self.n_docs, np.bool_)
        contains[self.substring.rows(text)] = True
        least = len(wanted) if candidates == "and" else 1
        chosen = ((matched >= max(least, 1)) | contains) & open_to
        if fallback and not chosen.any():
            chosen = (matched > 0) & open_to
        rows = np.flatnonzero(chosen)
        return Scored(rows, total[rows])

    def explain(self, text: str, row: int) -> tuple[TermShare, ...]:
        """Say how the score of one document comes about.

        Parameters
        ----------
        text : str
            The query.
        row : int
            The document.

        Returns
        -------
        tuple of TermShare
            One a different term of the query, in the query's order, also for terms the document
            lacks. Their scores add up to the document's.
        """
        wanted = Counter(self.analyzer.terms(text))
        inside = {f: Counter(self.analyzer.terms(texts[row])) for f, texts in self.texts.items()}
        shares = []
        for term, query_count in wanted.items():
            rows, values = self._postings(term)
            idf = float(inverse_frequency(np.array([len(rows)]), self.n_docs)[0])
            counts = {f: found[term] for f, found in inside.items() if term in found}
            score = query_count * float(values[rows == row].sum())
            shares.append(TermShare(term, query_count, len(rows), idf, counts, score))
        return tuple(shares)

    def _sum(self, wanted: Counter[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return how many different terms every document has, and its score."""
        if not wanted:
            return np.zeros(self.n_docs, np.int64), np.zeros(self.n_docs, np.float64)
        # Sums depend on their order in the last bit: it is the terms', not the query's.
        postings = [(self._postings(term), wanted[term]) for term in sorted(wanted)]
        rows = np.concatenate([rows for (rows, _), _ in postings])
        shares = np.concatenate([values * count for (_, values), count in postings])
        matched = np.bincount(rows, minlength=self.n_docs)
        total = np.bincount(rows, shares, minlength=self.n_docs)
        return matched.astype(np.int64, copy=False), total.astype(np.float64, copy=False)

    def _postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        place = self.vocabulary.get(term)
        part = slice(0) if place is None else slice(self.starts[place], self.starts[place + 1])
        return self.rows[part], self.values[part]


def _check(
    fields: Mapping[str, Sequence[str]],
    substring: Mapping[str, Sequence[str]],
    weights: Mapping[str, float],
    *,
    k1: float,
    b: float,
) -> int:
    """Return the number of documents; raise where the arguments make no index."""
    lengths = {len(texts) for texts in chain(fields.values(), substring.values())}
    if not fields or len(lengths) != 1:
        raise InputError(f"the fields have {sorted(lengths)} texts", fix="give one a document")
    for name in sorted(fields.keys() ^ weights.keys()):
        raise InputError(f"'{name}' is not both a field and a weight", fix=nearest(name, fields))
    for name, weight in weights.items():
        if not 0 < weight < float("inf"):
            raise InputError(f"the weight of '{name}' is {weight:g}", fix="give one above 0")
    if not 0 <= k1 < float("inf") or not 0 <= b <= 1:
        raise InputError(f"k1 = {k1:g}, b = {b:g}", fix="k1 is 0 or more, b is from 0 to 1")
    return lengths.pop()


def _discounted(found: Occurrences, b: float) -> NDArray[np.float64]:
    """Return the occurrences, discounted by the length of the field they stand in."""
    if not len(found.keys):
        return np.empty(0)
    rows = found.keys % len(found.lengths)
    return discounted(found.counts, found.lengths[rows], float(found.lengths.mean()), b)


def discounted(
    counts: NDArray[np.int64], lengths: NDArray[np.int64], average: float, b: float
) -> NDArray[np.float64]:
    """Return how much occurrences in a field count: less in a field that is longer than usual.

    Parameters
    ----------
    counts, lengths
        Of one shape: how often a term stands in the field, and how many terms the field has.
    average
        Mean length of the field over all documents, above 0.
    b
        From 0 to 1.

    Returns
    -------
    Values above 0, the part of x that one field gives before its weight.

    Notes
    -----
    ``counts / (1 - b + b * lengths / average)``. Whoever computes scores elsewhere (the catalog in
    PostgreSQL) does it with this function and the next two, in the order of `BM25F.build`: fields
    by name, then terms by name. So the scores are equal to the last bit.

    Examples
    --------
    >>> discounted(np.array([2]), np.array([4]), 2.0, 0.75)  # 2 / (0.25 + 0.75 * 2)
    array([1.14285714])
    """
    shortened: NDArray[np.float64] = counts / (1 - b + b * (lengths / average))
    return shortened


def saturated(x: NDArray[np.float64], idf: NDArray[np.float64], k1: float) -> NDArray[np.float64]:
    """Return what terms add to a score: ``x / (x + k1) * idf``, from 0 to the idf.

    Parameters
    ----------
    x
        Weighted, discounted occurrences, added up over the fields; above 0.
    idf
        Of the same shape.
    k1
        0 or more.

    Returns
    -------
    One value an entry of `x`.

    Examples
    --------
    >>> saturated(np.array([1.2]), np.array([3.0]), 1.2)
    array([1.5])
    """
    values: NDArray[np.float64] = x / (x + k1) * idf
    return values


def inverse_frequency(df: NDArray[np.int64], n_docs: int) -> NDArray[np.float64]:
    """Return the idf of terms, at least 1e-6.

    Parameters
    ----------
    df
        How many documents have each term, from 0 to `n_docs`.
    n_docs
        How many documents there are.

    Returns
    -------
    ``max(ln((n_docs - df + 0.5) / (df + 0.5) + 1), 1e-6)``.

    Examples
    --------
    >>> inverse_frequency(np.array([1]), 3)  # ln(2.5 / 1.5 + 1)
    array([0.98082925])
    """
    idf: NDArray[np.float64] = np.log((n_docs - df + 0.5) / (df + 0.5) + 1)
    return np.maximum(idf, IDF_FLOOR)
