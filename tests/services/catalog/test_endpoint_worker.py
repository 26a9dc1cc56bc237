"""`searchmark work PROJECT`: the queue of a catalog whose model is behind an endpoint."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("psycopg_pool")

from searchmark.retrieval.postgres.connection import Database
from searchmark.retrieval.postgres.queue import Patience, counts
from searchmark.retrieval.postgres.worker import Pace, Tally, work

from ..queue_catalog import ended, until
from .endpoints import Embedder, answer, opened, project, queued

Said = tuple[int, str, str]


@pytest.fixture(autouse=True)
def environment(postgres_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)


def started(*words: object) -> "subprocess.Popen[str]":
    code = "from searchmark.cli.main import main; main()"
    command = [sys.executable, "-c", code, "work", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(*words: object) -> Said:
    """Return exit code, what was said, and the error, of a command that ends by itself."""
    process = started(*words)
    out, error = process.communicate(timeout=60)
    return process.returncode, out, error


def jobs(database: Database) -> Sequence[tuple[Any, ...]]:
    with database.connection() as connection:
        return connection.execute(
            "SELECT doc_id, status, attempts FROM embedding_job ORDER BY doc_id"
        ).fetchall()


@contextmanager
def kept(folder: Path, embedder: Embedder, dsn: str) -> Iterator[tuple[Database, Any]]:
    """Give a catalog that waits for its endpoint, and its project."""
    with queued(project(folder, embedder), dsn) as (database, encoder):
        project(folder, embedder, f'schema = "{database.schema}"')
        yield database, encoder


def test_dead_letters_of_an_endpoint_that_was_away_get_new_attempts(
    tmp_path: Path, embedder: Embedder, postgres_server: Any
) -> None:
    with kept(tmp_path, embedder, postgres_server.dsn) as (database, encoder):
        embedder.kill()
        short = Patience(first_s=0.001, longest_s=0.001)
        pace = Pace(poll_s=0.01, patience=short, drain=True)
        # three documents with five attempts each, as in the three minutes of a real worker
        assert work(database, encoder, stop=Event(), pace=pace) == Tally(n_failed=15)
        dead = [("gold", "dead", 5), ("rain", "dead", 5), ("snow", "dead", 5)]
        assert jobs(database) == dead

        code, out, error = said(tmp_path, "--requeue", "--once")
        assert (code, out) == (3, "")
        assert error.startswith("searchmark: error: system 'catalog' has no embeddings: POST http")
        assert jobs(database) == dead  # nothing is requeued for an endpoint that is away
        embedder.start()
        code, _, error = said(tmp_path / "searchmark.toml", "--once")
        assert (code, "3 documents could not be embedded, such as" in error) == (3, True)
        assert said(tmp_path, "--requeue", "--once") == (
            0,
            "3 documents embedded, 0 attempts failed, 0 left, 0 dead letters\n",
            "",
        )
        assert jobs(database) == []
        with opened(tmp_path) as system:
            ids, is_partial = answer(system)
            assert (ids[0], len(ids), is_partial) == ("rain", 3, False)


def test_an_endpoint_that_is_away_at_the_start_is_waited_for(
    tmp_path: Path, embedder: Embedder, postgres_server: Any
) -> None:
    with kept(tmp_path, embedder, postgres_server.dsn) as (database, _):
        embedder.kill()
        waiting = [("gold", "waiting", 0), ("rain", "waiting", 0), ("snow", "waiting", 0)]
        process = started(tmp_path)
        assert process.stderr is not None
        told = process.stderr.readline()
        assert told.startswith("system 'catalog' has no embeddings: ")
        assert told.endswith("; trying again\n")
        assert jobs(database) == waiting  # no attempt is used up
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out) == (
            0,
            "0 documents embedded, 0 attempts failed, 3 left, 0 dead letters\n",
        )

        process = started(tmp_path)
        assert process.stderr is not None
        process.stderr.readline()
        embedder.start()
        until(lambda: not jobs(database))
        assert ended(process, signal.SIGTERM) == (0, "")


def test_a_worker_does_not_begin_with_another_model(
    tmp_path: Path, embedder: Embedder, postgres_server: Any
) -> None:
    with kept(tmp_path, embedder, postgres_server.dsn) as (database, encoder):
        work(database, encoder, stop=Event(), pace=Pace(drain=True))
        with database.connection() as connection:
            connection.execute(
                "INSERT INTO embedding_job (doc_id, generation_id) VALUES ('rain', 1)"
            )
        embedder.kill()
        embedder.start("another")
        code, _, error = said(tmp_path, "--once")
        assert (code, "gives other vectors than those that the catalog" in error) == (3, True)
        assert jobs(database) == [("rain", "waiting", 0)]
        # as the message says: another revision, embedded anew
        place = f'schema = "{database.schema}"'
        project(tmp_path, embedder, place, 'revision = "2"')
        code, _, error = said(tmp_path, "--once")
        assert (code, "the catalog is embedded by hashed at" in error) == (2, True)
        code, out, error = said(tmp_path, "--once", "--switch")
        assert (code, error) == (0, "")
        assert out.startswith("3 documents embedded, 0 attempts failed, 0 left")
        with database.connection() as connection:
            assert counts(connection, 2) == (0, 0, 0)


def test_options_say_what_the_project_does_not(
    tmp_path: Path, embedder: Embedder, postgres_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with queued(project(tmp_path, embedder), postgres_server.dsn) as (database, _):
        # the project names no schema, as where `serve --schema` fills one
        code, _, error = said(tmp_path, "--once")
        assert (code, "the schema 'searchmark' holds no catalog" in error) == (2, True)
        monkeypatch.setenv("ELSEWHERE", postgres_server.dsn)
        monkeypatch.setenv("DATABASE_URL", "postgresql://u@127.0.0.1:1/x")
        place = ("--dsn", "${ELSEWHERE}", "--schema", database.schema)
        code, out, _ = said(tmp_path, "--once", *place)
        assert (code, out.partition(",")[0]) == (0, "3 documents embedded")
