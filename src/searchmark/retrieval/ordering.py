"""The order of what was found: best score first, exact ties by configured fields, then by id."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError


class Scored(NamedTuple):
    """Documents, by their row in the corpus, and the score of each; no order is implied."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def priority(doc_ids: Sequence[str], *keys: Sequence[object]) -> NDArray[np.int64]:
    """Return each document's place among documents of exactly equal score.

    Parameters
    ----------
    doc_ids : sequence of str, shape (n_docs,)
        Identifiers, all different.
    *keys : sequences, shape (n_docs,) each
        Values that decide before the identifier does, the first key first: the greatest value
        first, missing ones (None, NaN, "") last. Texts that are all numbers are compared as
        numbers, other texts by code point, which suits dates written year first.

    Returns
    -------
    ndarray of int64, shape (n_docs,)
        A permutation: 0 for the document that comes first.

    Raises
    ------
    InputError
        When the values of a key cannot be compared with each other.

    Notes
    -----
    What the keys leave tied is ordered by identifier, last first, as UTF-8 bytes: what trec_eval
    does, so a stable order here is the order the measures see.

    Examples
    --------
    >>> priority(["a", "b", "c"], [7, None, 9])
    array([1, 2, 0])
    >>> priority(["a", "b", "c"])
    array([2, 1, 0])
    """
    # Code points order texts exactly as their UTF-8 bytes do.
    columns = [_codes(key) for key in keys] + [_codes_of(doc_ids)]
    order = np.lexsort([-column for column in reversed(columns)])
    places = np.empty(len(doc_ids), np.int64)
    places[order] = np.arange(len(doc_ids))
    return places


def top(scored: Scored, priority: NDArray[np.int64], k: int) -> Scored:
    """Return the best `k` documents in order.

    Parameters
    ----------
    scored : Scored
        Candidates, each row once, with finite scores.
    priority : ndarray of int64, shape (n_docs,)
        Place of every document of the corpus among equal scores, from `priority`.
    k : int
        How many; fewer come back where there are fewer.

    Returns
    -------
    Scored
        At most `k` documents, the best score first, ties by priority.

    Examples
    --------
    >>> found = Scored(np.array([0, 1, 2]), np.array([1.0, 2.0, 1.0]))
    >>> top(found, np.array([2, 1, 0]), 2).rows
    array([1, 2])
    """
    rows, scores = scored
    if k < 1:
        return Scored(rows[:0], scores[:0])
    if len(rows) > k:
        # Everything that ties with the last place must stay until priority has decided.
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows, scores = rows[scores >= last], scores[scores >= last]
    order = np.lexsort((priority[rows], -scores))[:k]
    return Scored(rows[order], scores[order])


def _codes(values: Sequence[object]) -> NDArray[np.int64]:
    """Return whole numbers that are ordered as the values are; -1 for a missing one."""
    present = [v for v in values if not _is_missing(v)]
    numbers = _as_numbers(present)
    ranked = iter(_codes_of(present if numbers is None else numbers).tolist())
    return np.array([-1 if _is_missing(v) else next(ranked) for v in values], np.int64)


def _codes_of(values: Sequence[Any]) -> NDArray[np.int64]:
    try:
        code = {v: i for i, v in enumerate(sorted(set(values)))}
    except TypeError as error:
        raise InputError(
            f"the values that order ties cannot be compared: {error}",
            fix="use a field of numbers or of text",
        ) from None
    return np.array([code[v] for v in values], np.int64)


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value != value


def _as_numbers(values: list[object]) -> list[float] | None:
    """Return texts as numbers when every one of them is a number."""
    if not values or not all(isinstance(v, str) for v in values):
        return None
    try:
        numbers = [float(str(v)) for v in values]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None
