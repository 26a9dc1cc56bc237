"""The built-in search by meaning: a local embedding model and exact cosine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from searchmark.data.corpus import Corpus
from searchmark.errors import Problem
from searchmark.retrieval.dense import DenseIndex
from searchmark.retrieval.encoders import Encoder, load_encoder
from searchmark.retrieval.synthetic import synthetic_queries
from searchmark.retrieval.vectors import VectorCache, encode_cached
from searchmark.systems.catalog import (
    Catalog,
    ConstraintConfig,
    constraint_problems,
    open_catalog,
)
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System


class SyntheticConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fields of the corpus that the template-made queries are filled from."""

    name: str | None = None
    description: str | None = None
    tags: str | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "dense"``.

    `fields` are joined by blanks into one text a document; a list among them makes a text of its
    own. `chunk_words` cuts long texts into pieces of that many words. The best text of a
    document counts. `synthetic` adds queries made from templates.
    """

    fields: list[str | list[str]] = msgspec.field(default_factory=lambda: ["title", "text"])
    model: str = "all-MiniLM-L6-v2"
    precision: Literal["fp32", "int8"] = "fp32"
    chunk_words: int | None = None
    synthetic: SyntheticConfig | None = None
    constraints: list[ConstraintConfig] = []
    ties: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class DenseSystem:
    """Exact cosine between the query's vector and every text's vector."""

    name: str
    catalog: Catalog
    index: DenseIndex
    encoder: Encoder
    tags: frozenset[str] = frozenset({"vector"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents."""
        text, filters = self.catalog.understand(query)
        vector = self.encoder.encode([text])[0]
        return self.catalog.answer(self.index.scores(vector, self.catalog.allowed(filters)), k)


@contextmanager
def open_dense(name: str, config: Config, context: Context) -> Iterator[System]:
    """Load the model and embed the corpus; what was embedded before comes from the cache."""
    corpus = context.corpus
    catalog = open_catalog(corpus, ties=config.ties, constraints=config.constraints)
    texts, owner = _texts(corpus, config)
    encoder = load_encoder(_model(config, context), precision=config.precision)
    with VectorCache(context.cache / "embeddings.sqlite") as cache:
        vectors = encode_cached(
            cache,
            encoder,
            texts,
            progress=lambda done, total: context.tell(f"embedding for {name}", done, total),
        )
    index = DenseIndex(vectors, np.array(owner, np.int64), len(corpus))
    identity = {"model": encoder.generation.key}
    yield DenseSystem(name, catalog, index, encoder, identity=identity)


def _model(config: Config, context: Context) -> str:
    """Return the model's name, or the folder it lies in relative to the project."""
    folder = context.folder / config.model
    return str(folder) if folder.is_dir() else config.model


def _texts(corpus: Corpus, config: Config) -> tuple[list[str], list[int]]:
    """Return every text to embed and the row of the document it belongs to."""
    joined = [f for f in config.fields if isinstance(f, str)]
    groups = [*([joined] if joined else []), *(f for f in config.fields if not isinstance(f, str))]
    texts: list[str] = []
    owner: list[int] = []
    for group in groups:
        for row, text in enumerate(corpus.joined(group)):
            for piece in _pieces(text, config.chunk_words):
                texts.append(piece)
                owner.append(row)
    for row, made in enumerate(_synthetic(corpus, config.synthetic)):
        texts += made
        owner += [row] * len(made)
    return texts, owner


def _pieces(text: str, words: int | None) -> list[str]:
    parts = text.split()
    if words is None or len(parts) <= words:
        return [text]
    return [" ".join(parts[i : i + words]) for i in range(0, len(parts), words)]


def _synthetic(corpus: Corpus, config: SyntheticConfig | None) -> list[list[str]]:
    if config is None:
        return []
    empty = [""] * len(corpus)
    names = corpus.texts(config.name) if config.name else empty
    descriptions = corpus.texts(config.description) if config.description else empty
    tags: list[list[str]] = [[] for _ in empty]
    if config.tags:
        values = corpus.frame[config.tags].to_list() if corpus.texts(config.tags) else []
        tags = [v if isinstance(v, list) else [v] if v else [] for v in values]
    return [
        synthetic_queries(n or None, d or None, t)
        for n, d, t in zip(names, descriptions, tags, strict=True)
    ]


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report values that make no index."""
    found = constraint_problems(config.constraints)
    if not config.fields or not all(config.fields):
        found.append(Problem("fields", "names no field; give at least one"))
    if config.chunk_words is not None and config.chunk_words < 1:
        found.append(Problem("chunk_words", f"{config.chunk_words} is not 1 or more"))
    return found


DENSE = Kind(Config, open_dense, find_problems, frozenset({"vector"}))
