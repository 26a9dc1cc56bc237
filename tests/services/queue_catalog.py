"""A catalog in a schema of its own whose queue tests look into: every claim is written down."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.connection import Database, scratch_schema
from searchmark.retrieval.postgres.documents import upsert
from searchmark.retrieval.postgres.generations import current, current_id
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.retrieval.postgres.queue import Counts, counts
from searchmark.retrieval.postgres.worker import Pace, Tally, work

LAYOUT = Layout(id_field="id")

LOG = """
CREATE TABLE log (
    seq bigserial, doc_id text, status text, worker text, token uuid, attempts int,
    wait_s float8, lease_s float8
);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (doc_id, status, worker, token, attempts, wait_s, lease_s) VALUES (
        NEW.doc_id, NEW.status, NEW.claimed_by, NEW.claim_token, NEW.attempts,
        extract(epoch FROM NEW.not_before - now()), extract(epoch FROM NEW.lease_until - now())
    );
    RETURN NULL;
END $$;
CREATE TRIGGER noting AFTER UPDATE ON embedding_job FOR EACH ROW
    WHEN (OLD.claim_token IS DISTINCT FROM NEW.claim_token) EXECUTE FUNCTION note();
"""


class Queue:
    """One catalog and what its queue went through."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self.database.connection() as connection:
            found = connection.execute(statement.encode(), values)
            return found.fetchall() if found.description else []

    def use(self, encoder: Any) -> int:
        with self.database.connection() as connection:
            return current(connection, encoder.generation)

    def add(self, *descriptions: str, first: int = 0) -> list[str]:
        ids = [f"d{first + i:03}" for i in range(len(descriptions))]
        documents = [{"id": i, "description": d} for i, d in zip(ids, descriptions, strict=True)]
        with self.database.connection() as connection:
            upsert(connection, documents, LAYOUT)
        return ids

    def counts(self) -> Counts:
        with self.database.connection() as connection:
            return counts(connection, current_id(connection) or 0)

    def n_waiting(self) -> int:
        """Return how many sessions of this catalog wait for a lock."""
        ((n,),) = self.sql(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = %s AND wait_event_type = 'Lock'",
            self.database.schema,
        )
        return int(n)

    def vectors(self) -> dict[tuple[str, str, int], str]:
        """Return the current generation's vectors, each as text, by document and text."""
        rows = self.sql(
            "SELECT doc_id, text_kind, text_no, vector::text FROM embedding"
            " JOIN generation USING (generation_id) WHERE is_current"
        )
        return {(d, k, n): v for d, k, n, v in rows}

    def claims(self) -> list[tuple[str, str]]:
        """Return document and worker of every claim, in order."""
        return self.sql("SELECT doc_id, worker FROM log WHERE status = 'claimed' ORDER BY seq")  # type: ignore[return-value]

    def end_leases(self) -> None:
        """Let two minutes pass for whoever holds jobs."""
        self.sql("UPDATE embedding_job SET lease_until = now() WHERE status = 'claimed'")

    def end_waits(self) -> None:
        """Let the back-off pass."""
        self.sql("UPDATE embedding_job SET not_before = now() WHERE status = 'waiting'")

    def start(self, *options: str) -> "subprocess.Popen[str]":
        """Start a worker process; it stands ready when this returns."""
        script = Path(__file__).with_name("queue_worker.py")
        command = [sys.executable, str(script), self.database.dsn, self.database.schema, *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        return process


@contextmanager
def open_queue(dsn: str) -> Iterator[Queue]:
    with scratch_schema(dsn) as schema, Database(dsn, schema) as database:
        migrate(database)
        queue = Queue(database)
        with database.connection() as connection:
            connection.execute(LOG.encode())
        yield queue


DRAIN = Pace(poll_s=0.02, drain=True)


def drained(queue: Queue, encoder: Any, pace: Pace = DRAIN) -> Tally:
    """Embed all that waits."""
    return work(queue.database, encoder, stop=Event(), pace=pace)


def until(is_so: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is so; the limit is for what never comes."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def ended(process: "subprocess.Popen[str]", signal: int | None = None) -> tuple[int, str]:
    """Send a signal, wait, and return exit code and standard error."""
    if signal is not None:
        process.send_signal(signal)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def texts_of(descriptions: Sequence[str]) -> list[str]:
    """Return what is embedded of documents with nothing but a description: itself, a template."""
    made = [f"I need something that can {d[:1].lower()}{d[1:]}" for d in descriptions]
    return [*descriptions, *made]
