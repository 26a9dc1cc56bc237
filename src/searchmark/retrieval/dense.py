"""Exact search by cosine over several texts a document."""

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.ordering import Scored

Floats = NDArray[np.float32]

DECIMALS = 6
"""Scores are rounded to this many decimals."""


class DenseIndex:
    """The vectors of a corpus's texts; a document scores what its best text scores.

    Parameters
    ----------
    vectors
        Shape (n_texts, dimension), each of length 1; one of zeros stands for an empty text.
    owner
        Shape (n_texts,): the row of the document that each text belongs to, in any order.
    n_docs
        Number of documents in the corpus.

    Raises
    ------
    InputError
        The shapes do not fit, a row lies outside the corpus, or a vector is not finite.
    """

    def __init__(self, vectors: Floats, owner: NDArray[np.int64], n_docs: int) -> None:
        _check(vectors, owner, n_docs)
        self.n_docs = n_docs
        self.dimension = vectors.shape[1]
        texts = np.flatnonzero(vectors.any(axis=1))  # a text without a direction resembles nothing
        texts = texts[np.argsort(owner[texts], kind="stable")]
        self._texts, self.n_texts = texts, len(texts)
        self._vectors = np.ascontiguousarray(vectors[texts], np.float32)
        self._rows, self._starts = np.unique(owner[texts], return_index=True)

    def scores(self, query_vector: Floats, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """Score every document that has a text.

        Parameters
        ----------
        query_vector
            Shape (dimension,), of length 1; zeros (a query without words) find nothing.
        allowed
            Shape (n_docs,): which documents may be found; all of them where it is None.

        Returns
        -------
        Rows in ascending order and their cosines, in [-1, 1] up to rounding.

        Raises
        ------
        InputError
            The query's vector has another dimension, or `allowed` another length.

        Notes
        -----
        ``max over texts t of d: q . t``, in 32-bit floats, rounded to 6 decimals. Rounding makes
        ties of cosines that differ by less than arithmetic can tell apart, so that their order is
        decided by what the user configured, and lets runs of different machines agree but for
        the rare score that lies on the edge between two roundings. Each product is a sum of its
        own: one matrix product would add in another order on another number of threads.

        Examples
        --------
        >>> unit = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
        >>> index = DenseIndex(unit, np.array([0, 0, 2]), 3)
        >>> index.scores(np.array([0, 1], np.float32))
        Scored(rows=array([0, 2]), scores=array([1. , 0.8]))
        """
        query = self._query(query_vector)
        if not query.any() or not len(self._rows):
            return Scored(np.empty(0, np.int64), np.empty(0, np.float64))
        best = np.maximum.reduceat(np.vecdot(self._vectors, query), self._starts)
        rounded = best.astype(np.float64).round(DECIMALS) + 0.0  # -0.0 becomes 0.0
        if allowed is None:
            return Scored(self._rows.astype(np.int64), rounded)
        if allowed.shape != (self.n_docs,):
            raise InputError(f"{len(allowed)} flags for {self.n_docs} documents")
        kept = allowed[self._rows]
        return Scored(self._rows[kept].astype(np.int64), rounded[kept])

    def best_text(self, query_vector: Floats, row: int) -> int | None:
        """Return which text gave a document its score.

        Parameters
        ----------
        query_vector
            Shape (dimension,).
        row
            The document.

        Returns
        -------
        The text's place in the constructor's arrays, the first of equal ones; None for a document
        without a text.

        Examples
        --------
        >>> unit = np.array([[1, 0], [0, 1]], np.float32)
        >>> DenseIndex(unit, np.array([0, 0]), 1).best_text(np.array([0, 1], np.float32), 0)
        1
        """
        query = self._query(query_vector)
        place = int(np.searchsorted(self._rows, row))
        if place == len(self._rows) or self._rows[place] != row:
            return None
        ends = np.append(self._starts, len(self._texts))
        first, last = ends[place], ends[place + 1]
        return int(self._texts[first + np.argmax(np.vecdot(self._vectors[first:last], query))])

    def _query(self, vector: Floats) -> Floats:
        if vector.shape != (self.dimension,):
            raise InputError(
                f"a query of shape {vector.shape} for an index of {self.dimension} dimensions"
            )
        return np.ascontiguousarray(vector, np.float32)


def _check(vectors: Floats, owner: NDArray[np.int64], n_docs: int) -> None:
    if vectors.ndim != 2 or owner.shape != vectors.shape[:1]:
        raise InputError(f"vectors of shape {vectors.shape} for {len(owner)} texts")
    if len(owner) and not 0 <= owner.min() <= owner.max() < n_docs:
        raise InputError(f"a text belongs to none of the {n_docs} documents")
    if not np.isfinite(vectors).all():
        raise InputError("a vector is not finite")
