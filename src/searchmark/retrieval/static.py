"""Embeddings without a network: one vector a token, looked up in a table and summed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.generation import Generation, Progress, digest_files
from searchmark.retrieval.lengths import lengths
from searchmark.retrieval.safetensors import read_safetensors
from searchmark.retrieval.tokens import Tokens, open_tokens

Floats = NDArray[np.float32]

TEXTS_AT_ONCE = 256
"""Bounds the memory for the rows of the table that are summed."""

MAX_LENGTH = 1 << 16
"""A table has no positions, so this is only a guard against absurd texts."""

TABLE = "embedding.weight"


@dataclass(frozen=True, slots=True, eq=False)
class StaticEncoder:
    """A table of token vectors; a text's vector is their sum, brought to length 1."""

    generation: Generation
    tokens: Tokens
    table: Floats

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a text; see `Encoder.encode`."""
        vectors = np.zeros((len(texts), self.generation.dimension), np.float32)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            part = slice(start, start + TEXTS_AT_ONCE)
            vectors[part] = self._sums(texts[part])
            if progress is not None:
                progress(min(part.stop, len(texts)), len(texts))
        norms = lengths(vectors)
        if not np.isfinite(norms).all():
            raise InputError(f"the vectors of the table '{self.generation.model}' are too long")
        vectors /= np.where(norms > 0, norms, np.float32(1))
        return vectors

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return how many texts have more than `MAX_LENGTH` tokens."""
        return sum(t.is_truncated for t in self.tokens.read(texts))

    def _sums(self, texts: Sequence[str]) -> Floats:
        ids = [t.ids for t in self.tokens.read(texts)]
        sums = np.zeros((len(ids), self.table.shape[1]), np.float32)
        filled = [place for place, row in enumerate(ids) if row]
        if filled:
            starts = np.cumsum([0, *(len(ids[place]) for place in filled[:-1])])
            rows = self.table[np.concatenate([ids[place] for place in filled])]
            # adds row after row within a text, whatever stands beside it
            sums[filled] = np.add.reduceat(rows, starts, axis=0)
        return sums


def open_static(name: str, weights: Path, tokenizer: Path) -> StaticEncoder:
    """Open a table.

    Raises
    ------
    InputError
        A file is damaged, or the tokenizer does not fit the table.
    """
    arrays = read_safetensors(weights)
    table = arrays.get(TABLE)
    if table is None or table.ndim != 2 or not np.isfinite(table).all():
        raise InputError(f"the weights hold no usable table '{TABLE}'", path=weights)
    tokens = open_tokens(tokenizer, MAX_LENGTH, len(table), marks=False)
    generation = Generation(
        model=name,
        revision=digest_files([weights]),
        dimension=table.shape[1],
        pooling="mean",
        normalized=True,
        precision="fp32",
        max_length=MAX_LENGTH,
        tokenizer=digest_files([tokenizer]),
    )
    return StaticEncoder(generation, tokens, table)
