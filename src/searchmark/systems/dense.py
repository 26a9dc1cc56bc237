"""The built-in search by meaning: an embedding model, here or behind an endpoint, exact cosine."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from searchmark.data.corpus import Corpus
from searchmark.errors import Problem, SystemFailedError
from searchmark.retrieval.dense import DenseIndex
from searchmark.retrieval.encoders import Encoder, encode_query
from searchmark.retrieval.synthetic import synthetic_queries
from searchmark.retrieval.vectors import Floats, VectorCache, encode_cached
from searchmark.systems.catalog import (
    Catalog,
    ConstraintConfig,
    constraint_problems,
    open_catalog,
)
from searchmark.systems.embedding import (
    EndpointConfig,
    EndpointEncoder,
    Patient,
    beside_endpoint_problems,
    check_unchanged,
    embedding_stopped,
    endpoint_problems,
    open_endpoint,
)
from searchmark.systems.models import open_encoder
from searchmark.systems.policy import CallPolicy
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
    document counts. `synthetic` adds queries made from templates. `endpoint` asks a server for
    vectors instead of `model`. `query_prefix` and `document_prefix` are put before the texts.
    """

    fields: list[str | list[str]] = msgspec.field(default_factory=lambda: ["title", "text"])
    model: str = "all-MiniLM-L6-v2"
    precision: Literal["fp32", "int8"] = "fp32"
    chunk_words: int | None = None
    synthetic: SyntheticConfig | None = None
    endpoint: EndpointConfig | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    constraints: list[ConstraintConfig] = []
    ties: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class DenseSystem:
    """Exact cosine between the query's vector and every text's vector.

    `texts` are those of the index, without the prefix that is put before them.
    """

    name: str
    catalog: Catalog
    index: DenseIndex
    encoder: Encoder
    texts: tuple[str, ...]
    prefix: str = ""
    tags: frozenset[str] = frozenset({"vector"})
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the best `k` documents."""
        text, filters = self.catalog.understand(query)
        vector = encode_query(self.encoder, _prefixed(text, self.prefix))
        return self.catalog.answer(self.index.scores(vector, self.catalog.allowed(filters)), k)


@contextmanager
def open_dense(name: str, config: Config, context: Context) -> Iterator[System]:
    """Load the model and embed the corpus; what was embedded before comes from the cache."""
    corpus = context.corpus
    catalog = open_catalog(corpus, ties=config.ties, constraints=config.constraints)
    texts, owner = _texts(corpus, config)
    prefixed = [_prefixed(text, config.document_prefix) for text in texts]
    with _opened(name, config, context) as encoder:
        vectors = _embedded(name, encoder, prefixed, context)
        index = DenseIndex(vectors, np.array(owner, np.int64), len(corpus))
        identity = {"model": encoder.generation.key}
        told = tuple(texts)
        prefix = config.query_prefix
        yield DenseSystem(name, catalog, index, encoder, told, prefix, identity=identity)


@contextmanager
def _opened(name: str, config: Config, context: Context) -> Iterator[Encoder]:
    if config.endpoint is None:
        yield open_encoder(config.model, context.folder, precision=config.precision)
        return
    with open_endpoint(name, config.endpoint, context) as encoder:
        yield encoder


def _embedded(name: str, encoder: Encoder, texts: list[str], context: Context) -> Floats:
    """Return every text's vector; what was embedded is kept, whatever happens to the rest."""

    def told(done: int, total: int) -> None:
        context.tell(f"embedding for {name}", done, total)

    with VectorCache(context.cache / "embeddings.sqlite") as cache:
        if not isinstance(encoder, EndpointEncoder):
            return encode_cached(cache, encoder, texts, progress=told)
        try:
            check_unchanged(cache, encoder)
            most = encoder.config.batch
            return encode_cached(cache, Patient(encoder), texts, most=most, progress=told)
        except SystemFailedError as error:
            raise embedding_stopped(name, error) from error


def _prefixed(text: str, prefix: str) -> str:
    return prefix + text if prefix and text.strip() else text


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
    if config.endpoint is not None:
        found += endpoint_problems(config.endpoint)
        found += beside_endpoint_problems(config.model, config.precision)
    return found


DENSE = Kind(Config, open_dense, find_problems, frozenset({"vector"}), calls=CallPolicy(retries=3))
