"""Engines that speak the query DSL, each in a process of its own, and a server that records."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.systems import SYSTEMS
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Context, Kind, System

NOBODY = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
"""Engines have documents of their own; a system is opened with some corpus all the same."""


class Data(NamedTuple):
    """The part of Cranfield that the engines hold."""

    documents: list[dict[str, str]]
    queries: list[dict[str, str]]
    folder: Path


@pytest.fixture(scope="session")
def data(cranfield_part: Path) -> Data:
    folder = cranfield_part / "data"
    documents, queries = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    return Data(documents, queries, folder)


@contextmanager
def opened(use: str, folder: Path = Path(), *, limits: Any = None, **keys: Any) -> Iterator[System]:
    """Open the bare adapter."""
    kind: Kind = SYSTEMS.load(use)
    config = msgspec.convert(keys, kind.config)
    assert kind.problems is not None
    assert kind.problems(config, "s", {}) == []
    with Pool({}, NOBODY, folder=folder, cache=folder) as pool:
        calls = CallPolicy(**(limits or {"timeout_s": 20}))
        context = Context(NOBODY, folder, folder, pool.open, calls=calls)
        with kind.open("s", config, context) as system:
            yield system


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """A stand-in for OpenSearch: BM25 and the DSL, no vectors and no pipelines."""
    osmem = pytest.importorskip("osmem_server")
    with osmem.OsmemServer.start(addr="127.0.0.1:0") as server:
        yield server.url
    server.process.wait(10)
    server.process.stdout.close()


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """A stand-in for Elasticsearch: BM25, kNN and RRF. Ended by its own process id."""
    package = pytest.importorskip("noida_db")
    binary = Path(package.__file__).with_name("noida-db")
    folder = Path(tempfile.mkdtemp(prefix="searchmark-noida-"))
    port = free_port()
    command = [binary, "start", "--only", "elasticsearch", "--host", "127.0.0.1"]
    command += ["--elasticsearch-port", str(port), "--data-dir", folder]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)
        shutil.rmtree(folder)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(200):
        assert process.poll() is None, "the engine ended by itself"
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the engine did not come up")


class Recorded(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        assert self.body.endswith("\n")
        return [json.loads(line) for line in self.body.split("\n")[:-1]]


class Recorder:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.status, self.body, self.headers = 200, b"{}", {}
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {k.lower(): v for k, v in self.headers.items()}
                request = Recorded(self.command, self.path, headers, body.decode())
                recorder.requests.append(request)
                self.send_response(recorder.status)
                usual = {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"}
                for name, value in {**usual, **recorder.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(recorder.body)))
                self.end_headers()
                self.wfile.write(recorder.body)

            def do_PUT(self) -> None:
                self.do_POST()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, document: Any, status: int = 200, **headers: str) -> None:
        """Say what is answered from now on; headers are named with underscores."""
        self.body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.requests.clear()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    try:
        yield made
    finally:
        made.close()
