"""Embedding models that the package sentence-transformers runs, with torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, described
from searchmark.retrieval.generation import Generation, Progress
from searchmark.retrieval.lengths import are_finite

Floats = NDArray[np.float32]

PREFIX = "sentence-transformers:"
"""What the name of such a model begins with."""

PROBE = "a text of some words and numbers: 1, 2, 3"
"""What every model has tokens for."""

INSTALL = "pip install 'sentence-transformers>=5'"


@dataclass(frozen=True, slots=True, eq=False)
class SentenceEncoder:
    """A model with the prompts it was trained with: one for documents, one for queries."""

    generation: Generation
    model: Any

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a document; see `Encoder.encode`."""
        vectors = self._encoded(texts, self.model.encode_document)
        if progress is not None:
            progress(len(texts), len(texts))
        return vectors

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Return one vector a query."""
        return self._encoded(texts, self.model.encode_query)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return how many texts have more than `generation.max_length` tokens."""
        found = self.model.tokenizer(list(texts), truncation=False)["input_ids"] if texts else []
        return sum(len(ids) > self.generation.max_length for ids in found)

    def _encoded(self, texts: Sequence[str], encode: Any) -> Floats:
        vectors = np.zeros((len(texts), self.generation.dimension), np.float32)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        if rows:
            vectors[rows] = found = _vectors(encode, [texts[i] for i in rows])
            if not are_finite(found):  # zeros are fine: of a text that the model has no token for
                raise _undirected(self.generation.model)
        return vectors


def open_sentences(name: str) -> SentenceEncoder:
    """Load a model by its name on the hub, or from a folder.

    Raises
    ------
    InputError
        The package is not installed or too old, it cannot load the model, or the model gives no
        vectors that a cosine can be made of.
    """
    model = loaded("SentenceTransformer", name)
    if not hasattr(model, "encode_query"):
        raise InputError(f"'{name}' needs sentence-transformers 5 or newer", fix=INSTALL)
    shown = PREFIX + (Path(name).resolve().name if Path(name).is_dir() else name)
    probe = _vectors(model.encode_document, [PROBE])
    if not are_finite(probe) or not probe.any():
        raise _undirected(shown)
    generation = Generation(
        model=shown,
        revision=digest_weights(model, msgspec.json.encode(getattr(model, "prompts", None) or {})),
        dimension=probe.shape[1],
        pooling="own",
        normalized=True,
        precision="fp32",
        max_length=int(model.max_seq_length or 0) or 1_000_000,
        tokenizer=_digest_tokenizer(model.tokenizer),
    )
    return SentenceEncoder(generation, model)


def loaded(kind: str, name: str) -> Any:
    """Return an open model of one of the package's classes."""
    try:
        library = import_module("sentence_transformers")
    except ImportError as error:
        raise InputError(
            f"the model '{name}' needs sentence-transformers, which cannot be imported "
            f"({described(error)})",
            fix=INSTALL,
        ) from None
    try:
        return getattr(library, kind)(name)
    except Exception as error:  # the hub's client and torch let many kinds of errors through
        raise InputError(
            f"sentence-transformers cannot load '{name}' ({described(error):.300})",
            fix="give a name on the hub, or the path of a model's folder",
        ) from None


def digest_weights(model: Any, more: bytes = b"") -> str:
    """Return the SHA-256 of all weights, in the order of their names, and of `more`."""
    digest = sha256(more)
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
    return digest.hexdigest()


def _undirected(model: str) -> InputError:
    return InputError(f"the model '{model}' gives vectors without a direction")


def _vectors(encode: Any, texts: list[str]) -> Floats:
    found = encode(texts, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True)
    with np.errstate(over="ignore"):  # told by who asks
        return np.asarray(found, np.float32)


def _digest_tokenizer(tokenizer: Any) -> str:
    fast = getattr(tokenizer, "backend_tokenizer", None)
    whole = fast.to_str() if fast is not None else repr(sorted(tokenizer.get_vocab().items()))
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
