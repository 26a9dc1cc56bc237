"""A project whose catalog in PostgreSQL has its model behind an endpoint, and that process."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from searchmark.data import read_corpus
from searchmark.project import read_project
from searchmark.retrieval.encoders import Encoder
from searchmark.retrieval.postgres.connection import Database, scratch_schema
from searchmark.retrieval.postgres.documents import seed
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.retrieval.postgres.worker import Pace, adopt, work
from searchmark.systems.catalog_encoder import open_model
from searchmark.systems.catalog_postgres import documents_of, layout_of
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Context, Query, System

CORPUS = [
    {"_id": "rain", "serviceName": "Rainy", "description": "rain tomorrow", "tags": ["wet"]},
    {"_id": "snow", "serviceName": "Snowy", "description": "snow tomorrow", "tags": ["cold"]},
    {"_id": "gold", "serviceName": "Golden", "description": "price of gold", "tags": ["money"]},
]

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["RR"]

[systems.catalog]
use = "catalog-postgres"
dsn = "${{DATABASE_URL}}"
fields = ["serviceName", "description"]
retries = 0
{keys}

[systems.catalog.endpoint]
url = "http://127.0.0.1:{port}/v1"
model = "hashed"
batch = 2
{own}
"""


class Embedder:
    """The process of `benchmarks/embedder.py`: hashed words, the same port after each start."""

    def __init__(self, program: Path) -> None:
        self._program, self.port = program, 0
        self.start()

    def start(self, *model: str) -> None:
        command = [sys.executable, str(self._program), str(self.port), *model]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        with self._process.stdout as told:
            self.port = int(told.readline())

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def project(folder: Path, embedder: Embedder, keys: str = "", own: str = "") -> Path:
    lines = "\n".join(map(json.dumps, CORPUS))
    (folder / "corpus.jsonl").write_text(lines, encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "rain"}', encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\train\t1\n")
    text = PROJECT.format(keys=keys, own=own, port=embedder.port)
    (folder / "searchmark.toml").write_text(text, encoding="utf-8")
    return folder


@contextmanager
def opened(folder: Path) -> Iterator[System]:
    read = read_project(folder)
    corpus = read_corpus(read.corpus)
    with Pool(read.systems, corpus, folder=folder, cache=folder / "cache") as pool:
        yield pool.open("catalog")


@contextmanager
def queued(folder: Path, dsn: str) -> Iterator[tuple[Database, Encoder]]:
    """Give a schema with the project's corpus, all of which waits for its model, and that."""
    read = read_project(folder)
    config: Any = read.systems["catalog"].config
    corpus = read_corpus(read.corpus)
    nothing: Any = None
    context = Context(corpus, folder, folder / "cache", nothing)
    with (
        scratch_schema(dsn) as schema,
        Database(dsn, schema) as database,
    ):
        migrate(database)
        with open_model("catalog", config, context, database) as encoder:
            with database.connection() as connection:
                adopt(connection, encoder)
            seed(database, documents_of(corpus), layout_of(config))
            yield database, encoder


@contextmanager
def filled(folder: Path, dsn: str) -> Iterator[str]:
    """Give a schema with the project's corpus, embedded by what its system is open for."""
    with queued(folder, dsn) as (database, encoder):
        work(database, encoder, stop=Event(), pace=Pace(drain=True))
        yield database.schema


def answer(system: System, text: str = "rain") -> tuple[list[str], bool]:
    given = system.search(Query("q1", text), 5)
    return [hit.doc_id for hit in given.hits], given.partial
