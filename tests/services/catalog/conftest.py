"""Catalogs in schemas of their own, and a model that is quick."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from searchmark.data.corpus import Corpus, read_corpus
from searchmark.retrieval.analysis import tokenize
from searchmark.retrieval.generation import Generation
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.connection import Database, scratch_schema
from searchmark.retrieval.postgres.documents import seed
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.retrieval.postgres.worker import Pace, adopt, work
from searchmark.systems.catalog_postgres import documents_of

from .in_memory import EmbeddedCatalog

DIMENSION = 24


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
            seed_of = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed_of).standard_normal(DIMENSION)
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


Pair = tuple[EmbeddedCatalog, PostgresCatalog]


@pytest.fixture
def both(postgres_server: Any, tmp_path: Path) -> Iterator[Callable[..., Pair]]:
    """Return the same documents in memory and in PostgreSQL."""
    with ExitStack() as stack:

        def make(source: "Corpus | str", layout: Layout, encoder: Any = None) -> Pair:
            corpus = source if isinstance(source, Corpus) else _corpus(tmp_path, source)
            schema = stack.enter_context(scratch_schema(postgres_server.dsn))
            database = stack.enter_context(Database(postgres_server.dsn, schema))
            migrate(database)
            fill(database, documents_of(corpus), layout, encoder)
            return (
                EmbeddedCatalog(corpus, layout, encoder),
                PostgresCatalog(database, layout, encoder),
            )

        yield make


def _corpus(folder: Path, lines: str) -> Corpus:
    path = folder / "corpus.jsonl"
    path.write_text(lines, encoding="utf-8")
    return read_corpus(path)


def assert_equal(pair: Pair, text: str, limit: int = 20, offset: int = 0, **asked: Any) -> None:
    """Compare ids, scores to the last bit, best texts, totals and flags."""
    memory, server = (catalog.search(text, limit, offset, **asked) for catalog in pair)
    assert [(f.doc_id, f.score, f.best_text) for f in server.found] == [
        (f.doc_id, f.score, f.best_text) for f in memory.found
    ]
    assert (server.total, server.is_partial) == (memory.total, memory.is_partial)
