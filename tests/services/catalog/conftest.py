"""Catalogs in schemas of their own, and a model that is quick."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from searchmark.data.corpus import Corpus, read_corpus
from searchmark.data.filters import Filter
from searchmark.retrieval.analysis import tokenize
from searchmark.retrieval.catalogs import Mode, Page
from searchmark.retrieval.constraints import extract
from searchmark.retrieval.generation import Generation
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.connection import Database, scratch_schema
from searchmark.retrieval.postgres.documents import seed
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.retrieval.postgres.worker import Pace, adopt, work
from searchmark.systems import SYSTEMS
from searchmark.systems.catalog_postgres import documents_of
from searchmark.systems.protocol import Context, Entry
from searchmark.web.systems import open_system

from .endpoints import Embedder

DIMENSION = 24


@cache
def direction(word: str) -> Any:
    seed_of = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed_of).standard_normal(DIMENSION)


class WordEncoder:
    """A direction for each word, added up; `fails` makes it a model that is down."""

    def __init__(self, name: str = "words") -> None:
        self.generation = Generation(name, name, DIMENSION, "sum", True, "fp32", 1000, "tokens")
        self.fails = False

    def encode(self, texts: Sequence[str], *, progress: object = None) -> Any:
        if self.fails:
            raise RuntimeError("the model is down")
        rows = [self._one(text) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), DIMENSION)

    def _one(self, text: str) -> Any:
        total = np.zeros(DIMENSION)
        for word in tokenize(text):
            total += direction(word)
        length = np.linalg.norm(total)
        return total / length if length else total

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def database(postgres_server: Any) -> Iterator[Database]:
    """An empty catalog."""
    dsn = postgres_server.dsn
    with scratch_schema(dsn) as schema, Database(dsn, schema) as opened:
        migrate(opened)
        yield opened


def fill(
    database: Database, documents: Sequence[dict[str, Any]], layout: Layout, encoder: Any
) -> None:
    """Put documents in and embed them."""
    if encoder is not None:
        with database.connection() as connection:
            adopt(connection, encoder)
    seed(database, documents, layout)
    if encoder is not None:
        work(database, encoder, stop=Event(), pace=Pace(batch=100, drain=True))


class MemoryCatalog:
    """The systems of a project that search as a catalog of this layout does, a system a mode."""

    def __init__(self, corpus: Corpus, layout: Layout, *, cache: Path, stack: ExitStack) -> None:
        self._of = {}
        context = Context(corpus, cache, cache, open=_unknown)
        for mode in get_args(Mode):
            name = f"shown-{mode}" if mode != "fused" else mode
            self._of[mode] = stack.enter_context(
                open_system(_entries(corpus, layout), name, context)
            )

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        return self._of[mode].search(text, limit, offset, mode=mode, filters=filters)

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        return self._of["bm25"].browse(filters, limit, after)


def _unknown(name: str) -> Any:
    raise AssertionError(name)


def _entries(corpus: Corpus, layout: Layout) -> dict[str, Entry]:
    """Return what a project file would hold: arms of a fusion relax nothing and know no ties."""
    texts = [f for f in (layout.name, layout.description, layout.tags) if f is not None]
    roles = {"name": layout.name, "description": layout.description, "tags": layout.tags}
    words = {"fields": dict(layout.weights), "substring": list(layout.substring)}
    dense = {"fields": texts, "synthetic": roles}
    shown = {
        "ties": [tie for tie in layout.ties if tie in corpus.frame.columns],
        "constraints": [
            {"pattern": c.pattern, "field": c.field, "op": c.op, "values": dict(c.values)}
            for c in layout.constraints
        ],
    }
    tables: dict[str, tuple[str, dict[str, Any]]] = {
        "bm25": ("bm25", {**words, "fallback": False}),
        "dense": ("dense", dense),
        "fused": ("hybrid", {"of": ["bm25", "dense"], **shown}),
        "shown-bm25": ("bm25", {**words, **shown, "fallback": layout.relax}),
        "shown-dense": ("dense", {**dense, **shown}),
    }
    return {
        name: Entry(name, use, msgspec.convert(table, SYSTEMS.load(use).config))
        for name, (use, table) in tables.items()
    }


@dataclass(frozen=True)
class Pair:
    """The same documents in memory and in PostgreSQL."""

    memory: MemoryCatalog
    server: PostgresCatalog
    documents: dict[str, dict[str, Any]]
    vectors: dict[str, Any] = field(default_factory=dict)
    """What the encoder gave for a text: it is asked for each only once."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.memory, self.server))

    def best_text(self, doc_id: str, text: str) -> str | None:
        """Return the first of a document's texts that no other is nearer than."""
        layout = self.server.layout
        texts = [one.text for one in layout.texts(self.documents[doc_id])]
        query = self._vector(extract(text, layout.constraints).text)
        if not texts or not query.any():
            return None
        nearness = np.vecdot(np.array([self._vector(one) for one in texts]), query)
        return texts[int(np.argmax(nearness))]

    def _vector(self, text: str) -> Any:
        if text not in self.vectors:
            assert self.server.encoder is not None
            self.vectors[text] = self.server.encoder.encode([text])[0]
        return self.vectors[text]


@pytest.fixture
def both(
    postgres_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Pair]]:
    """Return the same documents in memory and in PostgreSQL."""
    with ExitStack() as stack:

        def make(source: "Corpus | str", layout: Layout, encoder: Any) -> Pair:
            corpus = source if isinstance(source, Corpus) else _corpus(tmp_path, source)
            schema = stack.enter_context(scratch_schema(postgres_server.dsn))
            database = stack.enter_context(Database(postgres_server.dsn, schema))
            migrate(database)
            documents = documents_of(corpus)
            fill(database, documents, layout, encoder)
            monkeypatch.setattr(
                "searchmark.retrieval.encoders.load_encoder", lambda *a, **k: encoder
            )
            memory = MemoryCatalog(corpus, layout, cache=tmp_path, stack=stack)
            by_id = {document["doc_id"]: document for document in documents}
            return Pair(memory, PostgresCatalog(database, layout, encoder), by_id)

        yield make


def _corpus(folder: Path, lines: str) -> Corpus:
    path = folder / "corpus.jsonl"
    path.write_text(lines, encoding="utf-8")
    return read_corpus(path)


def _is_given(name: str, value: object) -> bool:
    return value is not None and (name, value) != ("last_updated", "")


def assert_equal(pair: Pair, text: str, limit: int = 20, offset: int = 0, **asked: Any) -> None:
    """Compare ids, scores to the last bit, fields, totals and flags; see that best texts are."""
    memory, server = (catalog.search(text, limit, offset, **asked) for catalog in pair)
    assert [(f.doc_id, f.score) for f in server.found] == [
        (f.doc_id, f.score) for f in memory.found
    ]
    for here, there in zip(memory.found, server.found, strict=True):
        assert there.fields == {k: v for k, v in here.fields.items() if _is_given(k, v)}
    assert (server.total, server.is_partial) == (memory.total, memory.is_partial)
    for found in server.found:
        wanted = None if asked.get("mode") == "bm25" else pair.best_text(found.doc_id, text)
        assert found.best_text == wanted


@pytest.fixture
def embedder(repository: Path) -> Iterator[Embedder]:
    made = Embedder(repository / "benchmarks" / "embedder.py")
    yield made
    made.kill()
