"""One worker: what fails, what is lost and comes back, and the command for people."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from threading import Event, Thread

import numpy as np
import pytest

pytest.importorskip("psycopg_pool")

from psycopg.conninfo import conninfo_to_dict

from searchmark.errors import InputError, OutsideError
from searchmark.retrieval.encoders import load_encoder
from searchmark.retrieval.postgres import queue as jobs
from searchmark.retrieval.postgres.connection import Database
from searchmark.retrieval.postgres.generations import current_id, current_key
from searchmark.retrieval.postgres.worker import Pace, SupersededError, Tally, work

from .conftest import PostgresServer
from .queue_catalog import DRAIN, Queue, drained, ended, open_queue, texts_of, until
from .queue_worker import Letters


def statuses(queue: Queue) -> list[tuple[str, str, int]]:
    return queue.sql("SELECT doc_id, status, attempts FROM embedding_job ORDER BY doc_id")  # type: ignore[return-value]


def refusing(word: str) -> Letters:
    """Return a model that cannot take texts with a word in them."""

    def on(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise RuntimeError(f"no {word} here")

    return Letters(on=on)


def test_a_poisonous_document_fails_alone(queue: Queue) -> None:
    encoder = refusing("poison")
    queue.use(encoder)
    good = [*queue.add("a", "b"), *queue.add("d", first=3)]
    queue.add("poison", first=2)
    stop = Event()
    tally = work(queue.database, encoder, stop=stop, pace=DRAIN, tell=lambda *_: stop.set())
    assert tally == Tally(n_done=3, n_failed=1)
    assert {doc_id for doc_id, _, _ in queue.vectors()} == set(good)
    assert statuses(queue) == [("d002", "waiting", 1)]


class Broken(Letters):
    """A model whose vectors are spoiled where a text has a z in it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def encode(self, texts: Sequence[str], *, progress: object = None) -> np.ndarray:
        vectors = super().encode(texts)
        if not any("z" in text for text in texts):
            return vectors
        if self.how in ("nan", "1e30", "1e300"):
            return np.full(vectors.shape, float(self.how))
        return vectors[:, :-1] if self.how == "narrow" else vectors[:-1]


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("nan", "ValueError: the model gave a vector that is not finite"),
        ("1e30", "the model gave a vector that is not finite, or too long to be compared"),
        ("1e300", "the model gave a vector that is not finite, or too long to be compared"),
        ("narrow", "the model gave an array of shape (2, 25) for 2 texts"),
        ("few", "the model gave an array of shape (1, 26) for 2 texts"),
    ],
)
def test_vectors_that_are_none_are_failures(queue: Queue, how: str, error: str) -> None:
    encoder = Broken(how)
    queue.use(encoder)
    queue.add("a", "z")
    stop = Event()
    work(queue.database, encoder, stop=stop, pace=DRAIN, tell=lambda *_: stop.set())
    ((doc_id, said),) = queue.sql("SELECT doc_id, last_error FROM embedding_job")
    assert doc_id == "d001"
    assert error in said


def test_a_text_without_a_direction_has_no_vector(queue: Queue) -> None:
    encoder = Letters()
    queue.use(encoder)
    queue.add("123")
    assert drained(queue, encoder) == Tally(n_done=1)
    # the text itself has no letter; the template around it has
    assert list(queue.vectors()) == [("d000", "synthetic", 0)]


def test_a_stopped_worker_gives_back_what_it_has_not_begun(queue: Queue) -> None:
    stop = Event()

    def on(texts: Sequence[str]) -> None:
        if len(texts) > 2:
            raise RuntimeError("not all at once")
        stop.set()

    encoder = Letters(on=on)
    queue.use(encoder)
    queue.add("a", "b", "c")
    assert work(queue.database, encoder, stop=stop) == Tally(n_done=1)
    # what it was at is finished; the others are as if nobody had claimed them
    assert statuses(queue) == [("d001", "waiting", 0), ("d002", "waiting", 0)]


def test_a_lease_is_extended_as_long_as_its_worker_is_at_it(queue: Queue) -> None:
    def lease() -> object:
        return queue.sql("SELECT lease_until FROM embedding_job")

    def on(texts: Sequence[str]) -> None:
        seen = {str(lease())}
        until(lambda: seen.add(str(lease())) or len(seen) == 4)

    encoder = Letters(on=on)
    queue.use(encoder)
    queue.add("a")
    pace = DRAIN._replace(lease_s=3, patience=jobs.Patience(attempts=1))
    assert drained(queue, encoder, pace) == Tally(n_done=1)


def test_a_worker_without_work_ends_when_another_model_takes_its_place(queue: Queue) -> None:
    queue.use(Letters(shift=1))
    with pytest.raises(SupersededError, match=r"embedded by letters-1@\w{16} 26d sum.*letters-0@"):
        drained(queue, Letters())
    queue.use(Letters())
    queue.add("a")
    told: list[BaseException] = []

    def run() -> None:
        try:
            work(queue.database, Letters(), stop=Event(), pace=Pace(poll_s=0.02))
        except SupersededError as error:
            told.append(error)

    thread = Thread(target=run)
    thread.start()
    until(lambda: queue.counts() == (0, 0, 0))
    queue.use(Letters(shift=1))
    thread.join(30)
    assert len(told) == 1


def test_a_lost_database_is_waited_for(
    own_postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    with open_queue(own_postgres_server.dsn) as queue:
        stop = Event()
        is_down = Event()

        def on(texts: Sequence[str]) -> None:
            if not is_down.is_set():
                own_postgres_server.kill()
                is_down.set()

        encoder = Letters(on=on)
        queue.use(encoder)
        queue.add("a", "b")
        pace = Pace(poll_s=0.02, drain=True, reconnect_s=0.1)
        done: list[Tally] = []
        thread = Thread(
            target=lambda: done.append(work(queue.database, encoder, stop=stop, pace=pace))
        )
        thread.start()
        until(is_down.is_set)
        until(lambda: "trying again" in caplog.text)
        own_postgres_server.start()
        thread.join(60)
        # the batch that was encoded while the database died is written when it is back
        assert done == [Tally(n_done=2)]
        assert sorted(encoder.asked) == sorted(texts_of(["a", "b"]))
        assert len(queue.vectors()) == 4


def test_patience_with_a_lost_database_ends(own_postgres_server: PostgresServer) -> None:
    with open_queue(own_postgres_server.dsn) as queue:
        encoder = Letters(on=lambda texts: own_postgres_server.kill())
        queue.use(encoder)
        queue.add("a")
        with pytest.raises(OutsideError, match="PostgreSQL"):
            drained(queue, encoder, Pace(reconnect_s=0.01, give_up_s=0.1))
        own_postgres_server.start()
        assert statuses(queue) == [("d000", "claimed", 1)]  # its lease brings it back


def test_a_schema_without_tables_is_no_lost_database(postgres_server: PostgresServer) -> None:
    with (
        Database(postgres_server.dsn, "nothing_here") as database,
        pytest.raises(OutsideError, match="does not exist"),
    ):
        work(database, Letters(), stop=Event())


def command(*options: str, dsn: str, schema: str) -> "subprocess.Popen[str]":
    code = "from searchmark.cli.main import main; main()"
    words = [sys.executable, "-c", code, "work", "--schema", schema, *options]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATABASE_URL": dsn},
    )


@pytest.fixture(scope="module")
def minilm() -> object:
    try:
        return load_encoder()
    except InputError:
        if os.environ.get("SEARCHMARK_REQUIRE_ALL") == "1":
            raise
        pytest.skip("the model's package is not installed")


def test_the_command_embeds_with_the_real_model(queue: Queue, minilm: Letters) -> None:
    texts = ["Tells the weather", "Prices of stocks", "Maps of cities"]
    queue.add(*texts)  # nothing is enqueued: there is no generation yet
    place = {"dsn": queue.database.dsn, "schema": queue.database.schema}
    done = command("--once", **place)
    out, said = done.communicate(timeout=120)
    assert (done.returncode, said) == (0, "")
    assert out == "3 documents embedded, 0 attempts failed, 0 left, 0 dead letters\n"
    stored = queue.vectors()
    for i, vector in enumerate(minilm.encode(texts_of(texts))):
        key = (f"d{i % 3:03}", "own" if i < 3 else "synthetic", 0)
        assert np.array_equal(np.array(stored[key].strip("[]").split(","), np.float32), vector)
    with queue.database.connection() as connection:
        assert current_key(connection) == minilm.generation.key

    other = command("--once", "--precision", "int8", **place)
    _, said = other.communicate(timeout=120)
    assert other.returncode == 2
    assert "the catalog is embedded by all-MiniLM-L6-v2@" in said

    steady = command("--batch", "1", **place)
    queue.add("Another one", first=3)
    until(lambda: len(queue.vectors()) == 8)
    assert ended(steady, signal.SIGTERM) == (0, "")
    interrupted = command("--batch", "1", **place)
    queue.add("One more", first=4)
    until(lambda: len(queue.vectors()) == 10)
    assert ended(interrupted, signal.SIGINT)[0] == 130

    switched = command("--once", "--precision", "int8", "--switch", **place)
    out, said = switched.communicate(timeout=120)
    assert (switched.returncode, out.partition(" ")[0]) == (0, "5")
    assert queue.sql("SELECT count(*) FROM embedding") == [(20,)]


def test_a_command_killed_in_its_batch_loses_nothing(queue: Queue, minilm: Letters) -> None:
    queue.use(minilm)
    ids = queue.add(*(f"{i} tells the weather of {'many places and ' * 60}" for i in range(64)))
    place = {"dsn": queue.database.dsn, "schema": queue.database.schema}
    killed = command("--batch", "40", **place)
    until(lambda: queue.counts() == (24, 40, 0))
    assert ended(killed, signal.SIGKILL)[0] == -9
    assert (queue.counts(), queue.vectors()) == ((24, 40, 0), {})  # all of a batch or nothing
    assert len(queue.claims()) == 40
    queue.end_leases()
    again = command("--once", **place)
    out, said = again.communicate(timeout=120)
    assert (again.returncode, said) == (0, "")
    assert out == "64 documents embedded, 0 attempts failed, 0 left, 0 dead letters\n"
    assert {doc_id for doc_id, _, _ in queue.vectors()} == set(ids)
    assert len(queue.claims()) == 40 + 64  # the batch once more, each of it alone


def test_dead_letters_are_told_and_tried_again(queue: Queue, minilm: Letters) -> None:
    number = queue.use(minilm)
    queue.add("Tells the weather")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w", patience=jobs.Patience(attempts=1))
        jobs.fail(connection, claim.jobs[0], claim.token, "no memory", jobs.Patience(attempts=1))
    place = {"dsn": queue.database.dsn, "schema": queue.database.schema}
    failed = command("--once", **place)
    out, said = failed.communicate(timeout=120)
    assert (failed.returncode, out.splitlines()) == (
        3,
        ["0 documents embedded, 0 attempts failed, 0 left, 1 dead letters"],
    )
    assert said == (
        "searchmark: error: 1 documents could not be embedded, such as 'd000' (no memory); "
        "mend the cause, then give --requeue\n"
    )
    again = command("--once", "--requeue", **place)
    assert again.communicate(timeout=120)[0].startswith("1 documents embedded")
    assert again.returncode == 0
    with queue.database.connection() as connection:
        assert current_id(connection) == number


def test_what_is_wrong_with_the_place_is_told(postgres_server: PostgresServer) -> None:
    empty = command(dsn=postgres_server.dsn, schema="nothing_here")
    assert ended(empty) == (
        2,
        "searchmark: error: the schema 'nothing_here' holds no catalog; name one that does, or "
        "fill it: searchmark serve --api PROJECT --schema nothing_here --fill\n",
    )
    down = command(dsn="postgresql://u:tulips4you@127.0.0.1:1/x", schema="s")
    code, said = ended(down)
    assert code == 3
    assert "Connection refused" in said
    assert "tulips4you" not in said
    written = command("--dsn", "postgresql://u:tulips4you@127.0.0.1:1/x", dsn="", schema="s")
    code, said = ended(written)
    assert (code, "tulips4you" in said) == (2, False)
    assert "--dsn: holds a password written out" in said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("INSERT INTO schema_migration VALUES (99, 'later', '')", "has version 99 (later), which"),
        ("DELETE FROM schema_migration WHERE version = 2", "lacks version 2 of its tables"),
        ("UPDATE schema_migration SET sha256 = 'x' WHERE version = 1", "has changed since"),
        ("ALTER TABLE schema_migration RENAME sha256 TO other", "holds something else"),
    ],
)
def test_tables_of_another_version_are_refused(queue: Queue, change: str, told: str) -> None:
    queue.sql(change)
    code, said = ended(command("--once", dsn=queue.database.dsn, schema=queue.database.schema))
    assert (code, told in said) == (2, True), said


def test_tables_of_others_are_refused(queue: Queue) -> None:
    queue.sql("CREATE TABLE public.embedding_job (x int)")
    try:
        code, said = ended(command("--once", dsn=queue.database.dsn, schema="public"))
    finally:
        queue.sql("DROP TABLE public.embedding_job")
    assert (code, "the schema 'public' holds no catalog" in said) == (2, True), said


def test_a_worker_finds_the_database_as_libpq_does(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = conninfo_to_dict(queue.database.dsn)
    monkeypatch.setenv("PGHOST", str(given["host"]))
    monkeypatch.setenv("PGUSER", str(given["user"]))
    monkeypatch.setenv("PGDATABASE", str(given["dbname"]))
    code, said = ended(command(dsn="postgresql://127.0.0.1:1/x", schema="nothing_here"))
    assert (code, "holds no catalog" in said) == (2, True), said
