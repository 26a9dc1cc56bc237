"""Texts to vectors: one interface for every embedding model, and the models that onnxruntime runs.

A text's vector depends on the text and the model alone, to the last bit: a run that was killed and
goes on gives the same bytes. Three rules make it so. A batch holds texts of exactly one length, so
nothing is padded and nothing masked. A session computes on one thread, and several batches are
computed side by side instead (which is also faster): libraries split a product among threads by its
shape, and the order of its sums with it. And no arithmetic mixes texts: see `linear` on int8.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError, nearest
from searchmark.retrieval.generation import Generation, Progress, digest_files
from searchmark.retrieval.linear import Precision
from searchmark.retrieval.models import DEFAULT_MODEL, STATIC, find_model, find_static
from searchmark.retrieval.sentences import PREFIX, open_sentences
from searchmark.retrieval.sessions import Runner, open_runner, read_model
from searchmark.retrieval.static import open_static
from searchmark.retrieval.tokens import Tokens, batches_of_one_length, open_tokens

Floats = NDArray[np.float32]

LIBRARIES = ("onnxruntime", "onnx", "tokenizers")
"""What the extra named dense installs."""


class Encoder(Protocol):
    """An embedding model."""

    @property
    def generation(self) -> Generation:
        """What the vectors are comparable by."""
        ...

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a text, shape (n_texts, dimension), of length 1.

        A text without any token (empty, blank) gets zeros: it resembles nothing.
        """
        ...

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return how many texts are longer than the model reads, so that their ends are ignored."""
        ...


def encode_query(encoder: Encoder, text: str) -> Floats:
    """Return a query's vector, shape (dimension,).

    Some models put one prompt before queries and another before documents; their encoders have a
    method `encode_queries` beside `encode`.
    """
    encode = getattr(encoder, "encode_queries", encoder.encode)
    vector: Floats = encode([text])[0]
    return vector


@dataclass(frozen=True, slots=True, eq=False)
class OnnxEncoder:
    """A transformer run by onnxruntime, `threads` batches side by side."""

    generation: Generation
    tokens: Tokens
    runner: Runner
    threads: int

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> Floats:
        """Return one vector a text; see `Encoder.encode`."""
        found = self.tokens.read(texts)
        vectors = np.zeros((len(texts), self.generation.dimension), np.float32)
        batches = batches_of_one_length([len(t.ids) for t in found])
        done = len(texts) - sum(map(len, batches))

        def run(batch: list[int]) -> Floats:
            return self.runner.run(np.array([found[i].ids for i in batch], np.int64))

        for batch, result in _side_by_side(run, batches, self.threads):
            vectors[batch] = result
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        return vectors

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Return how many texts have more than `generation.max_length` tokens."""
        return sum(t.is_truncated for t in self.tokens.read(texts))


def load_encoder(
    name: str = DEFAULT_MODEL, *, precision: Precision = "fp32", threads: int = 2
) -> Encoder:
    """Open an embedding model.

    Parameters
    ----------
    name
        ``all-MiniLM-L6-v2``; ``wordllama``, a table of token vectors, where that package is
        installed (much faster, worse); the path of a folder that holds ``tokenizer.json`` and
        either ``config.json`` with ``model.safetensors`` (type BERT) or ``model.onnx``, there or
        under ``onnx/``; or ``organisation/name`` on the Hugging Face hub. A name or folder after
        ``sentence-transformers:`` is run by that package.
    precision
        ``int8`` is faster on most CPUs; its vectors stay within about 0.997 (cosine) of fp32's,
        and are a generation of their own.
    threads
        How many batches are computed at once; no vector depends on it.

    Raises
    ------
    InputError
        The model is unknown, not installed, damaged, or of a kind that cannot be run here.
    OutsideError
        The hub could not be reached.
    """
    if precision not in get_args(Precision):
        raise InputError(
            f"unknown precision '{precision}'", fix=nearest(precision, get_args(Precision))
        )
    if threads < 1:
        raise InputError(f"{threads} threads cannot encode", fix="give 1 or more")
    if name.startswith(PREFIX):
        if precision != "fp32":
            raise InputError(f"'{name}' has no {precision}", fix="use precision fp32")
        return open_sentences(name.removeprefix(PREFIX))
    if name in STATIC and not Path(name).is_dir():
        return _load_static(name, precision)
    found = find_model(name)
    _require(found.name, LIBRARIES)
    model = read_model(found.path)
    tokens = open_tokens(found.path / "tokenizer.json", model.max_length, model.vocabulary)
    runner = open_runner(model, precision)
    generation = Generation(
        model=found.name,
        revision=digest_files(model.files),
        dimension=runner.dimension,
        pooling=runner.pooling,
        normalized=True,
        precision=precision,
        max_length=model.max_length,
        tokenizer=digest_files([found.path / "tokenizer.json"]),
    )
    return OnnxEncoder(generation, tokens, runner, threads)


def _load_static(name: str, precision: Precision) -> Encoder:
    if precision != "fp32":
        raise InputError(f"'{name}' is a table, it has no {precision}", fix="use precision fp32")
    found = find_static(name)
    _require(name, ("tokenizers",))
    return open_static(name, found.weights, found.tokenizer)


def _require(name: str, libraries: Sequence[str]) -> None:
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        raise InputError(
            f"running the model '{name}' needs {' and '.join(missing)}",
            fix="pip install onnxruntime onnx tokenizers (the extra 'dense')",
        )


def _side_by_side(
    run: Callable[[list[int]], Floats], batches: list[list[int]], threads: int
) -> Iterator[tuple[list[int], Floats]]:
    """Yield each batch with its vectors as they are finished."""
    if threads == 1 or len(batches) < 2:
        yield from ((batch, run(batch)) for batch in batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(run, batch): batch for batch in batches}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            # after an error or an interrupt, what has not begun must not hold up the message
            pool.shutdown(cancel_futures=True)
