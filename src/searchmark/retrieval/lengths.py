"""Lengths of vectors: what tells those that can be compared from those that cannot."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def lengths(vectors: Floats) -> Floats:
    """Return the Euclidean length of each row, shape (n, 1).

    Those that single precision cannot hold are infinite; those of rows with NaN are NaN.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found: Floats = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return found


def are_finite(vectors: Floats) -> bool:
    """Tell whether every row and its length is finite, so that cosines are numbers."""
    return bool(np.isfinite(lengths(vectors)).all())
