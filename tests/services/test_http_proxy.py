"""A real proxy in front of a real server: what goes through it, what it is shown, how it fails."""

import json
import socket
import ssl
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.project.entries import decode_systems
from searchmark.systems import SYSTEMS
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query, System

CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
PASSWORD = "p@ss/wo:rd #9"
GOOD = "Basic " + b64encode(f"me:{PASSWORD}".encode()).decode()
ANSWER = json.dumps({"hits": {"hits": [{"_id": "b", "_score": 1.0}, {"_id": "a", "_score": 0.5}]}})


class Engine(BaseHTTPRequestHandler):
    """Answers every search, and keeps what it was sent."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_response(200)
        for name, value in {
            "Content-Type": "application/json",
            "X-Elastic-Product": "Elasticsearch",
            "Content-Length": str(len(ANSWER)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(ANSWER.encode())

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def log_message(self, *_: Any) -> None:
        pass


class Forwarding(BaseHTTPRequestHandler):
    """Passes requests on, or bytes once a tunnel was asked for; wants a password where it has one.

    `drip` of its server makes it answer a tunnel so slowly that each wait is short.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append(f"{self.command} {self.path}")  # type: ignore[attr-defined]
        if self.refused():
            return
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        lines = [f"{self.command} {parts.path}?{parts.query} HTTP/1.1"]
        lines += [f"{n}: {v}" for n, v in self.headers.items() if n != "Proxy-Authorization"]
        with socket.create_connection((parts.hostname, parts.port)) as origin:
            head = "\r\n".join([*lines, "Connection: close", "", ""])
            origin.sendall(head.encode("latin-1") + body)
            while piece := origin.recv(65_536):
                self.wfile.write(piece)
        self.close_connection = True

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def do_CONNECT(self) -> None:
        self.server.seen.append(f"CONNECT {self.path}")  # type: ignore[attr-defined]
        if self.refused():
            return
        if self.server.drip:  # type: ignore[attr-defined]
            with suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: yes\r\n" * 100:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.02)
            return
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as origin:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(origin, self.connection))
            back.start()
            pump(self.connection, origin)
            back.join(10)
        self.close_connection = True

    def refused(self) -> bool:
        given = self.headers.get("Proxy-Authorization")
        wanted = self.server.wanted  # type: ignore[attr-defined]
        if wanted is None or given == wanted:
            return False
        said = f"who are you, {given}?".encode()
        self.send_response(407, "Proxy Authentication Required")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
        return True

    def log_message(self, *_: Any) -> None:
        pass


def pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while piece := one.recv(65_536):
            other.sendall(piece)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)


class Listening(ThreadingHTTPServer):
    """A server in a thread of the tests."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.seen: list[Any] = []
        self.wanted: str | None = None
        self.drip = False

    def handle_error(self, *_: Any) -> None:
        """Say nothing where a client went away."""


@dataclass
class World:
    """An engine, the same behind TLS, and a proxy."""

    engine: Listening
    secure: Listening
    proxy: Listening
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def at(self) -> str:
        return f"127.0.0.1:{self.proxy.server_port}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    new = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost")
    subprocess.run(
        [*new, "-keyout", str(path), "-out", f"{path}.crt"],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def world(certificate: Path) -> Iterator[World]:
    engine, secure, proxy = Listening(Engine), Listening(Engine), Listening(Forwarding)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    with ExitStack() as stack:
        for server in (engine, secure, proxy):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
        yield World(engine, secure, proxy, stack)


Open = Callable[..., System]


@pytest.fixture
def opened(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Open a system of a kind, over TLS where that is asked for."""
    with ExitStack() as stack:

        def open_one(
            use: str = "http", *, tls: bool = False, env: dict[str, str] | None = None, **keys: Any
        ) -> System:
            for name, value in (env or {}).items():
                monkeypatch.setenv(name, value)
            server = world.secure if tls else world.engine
            address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
            table: dict[str, Any] = {"use": use, "hosts": address, "index": "i", "fields": ["t"]}
            if use == "http":
                table = {"use": use, "url": address + "/s?q={query}", "ids": "hits.hits[]._id"}
            if tls:
                table["verify"] = False
            problems: list[Any] = []
            entries = decode_systems({"s": {**table, "retries": 0, **keys}}, problems)
            assert problems == []
            pool = stack.enter_context(Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path))
            return pool.open("s")

        yield open_one


def ids(system: System) -> list[str]:
    return [hit.doc_id for hit in system.search(Query("q", "red"), 5).hits]


@pytest.mark.parametrize("use", ["http", "opensearch", "elasticsearch"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_proxy_is_gone_through_with_its_password(
    use: str, tls: bool, world: World, opened: Open
) -> None:
    world.proxy.wanted = GOOD
    env = {"WHO": "me", "PROXY_PASS": PASSWORD}
    proxy = "http://${WHO}:${PROXY_PASS}@" + world.at
    assert ids(opened(use, tls=tls, proxy=proxy, env=env)) == ["b", "a"]
    (seen,) = world.proxy.seen
    assert seen.startswith("CONNECT " if tls else ("GET http" if use == "http" else "POST http"))
    # what is for the proxy is for nobody behind it
    (sent,) = world.secure.seen if tls else world.engine.seen
    assert "Proxy-Authorization" not in sent


def test_a_variable_may_hold_the_whole_address(world: World, opened: Open) -> None:
    world.proxy.wanted = GOOD
    env = {"HTTPS_PROXY": f"http://me:{quote(PASSWORD, safe='')}@{world.at}/"}
    assert ids(opened(tls=True, proxy="${HTTPS_PROXY}", env=env)) == ["b", "a"]
    assert len(world.proxy.seen) == 1


@pytest.mark.parametrize("tls", [False, True])
def test_a_proxy_that_wants_another_password_is_no_empty_answer(
    tls: bool, world: World, opened: Open
) -> None:
    world.proxy.wanted = "Basic other"
    env = {"PROXY_PASS": PASSWORD}
    system = opened(tls=tls, proxy=f"http://me:${{PROXY_PASS}}@{world.at}", env=env)
    with pytest.raises(SystemFailedError, match="407") as raised:
        ids(system)
    assert not raised.value.retry
    assert PASSWORD not in str(raised.value)
    assert GOOD.split()[1] not in str(raised.value)


def test_the_time_limit_holds_while_a_tunnel_is_made(world: World, opened: Open) -> None:
    world.proxy.drip = True  # 1,300 bytes at 50 a second would take 26 seconds
    system = opened(tls=True, proxy=f"http://{world.at}", timeout_s=0.5)
    with pytest.raises(SystemTimeoutError):
        ids(system)


def test_no_proxy_listens(opened: Open) -> None:
    for tls in (False, True):
        system = opened(tls=tls, proxy="http://127.0.0.1:9")
        with pytest.raises(SystemFailedError, match="proxy") as raised:
            ids(system)
        assert raised.value.retry


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "proxy: is empty"),
        ("127.0.0.1:3128", "proxy: is no address of a proxy"),
        ("notaproxy", "proxy: is no address of a proxy"),
        ("http://[::1", "proxy: is no address of a proxy"),
        ("socks5h://127.0.0.1:1080", "SOCKS"),
        ("https://127.0.0.1:3128", "behind TLS"),
        ("http://127.0.0.1:3128/path", "more than a host and a port"),
        ("http://h\n:3128", "control character"),
    ],
)
@pytest.mark.parametrize("use", ["http", "opensearch"])
def test_an_address_that_is_none_is_told_before_anything_is_asked(
    use: str, address: str, told: str, opened: Open
) -> None:
    with pytest.raises(InputError, match=told):
        opened(use, proxy="${PROXY}", env={"PROXY": address})
    problems: list[Any] = []
    table = dict.fromkeys(("use",), use) | {"proxy": address}
    decode_systems({"s": {**table, **LEAST[use]}}, problems)
    assert [p.key for p in problems] == ["systems.s.proxy"]
    assert told.removeprefix("proxy: ") in problems[0].message


LEAST: dict[str, dict[str, Any]] = {
    "http": {"url": "http://h/?q={query}", "ids": "[]"},
    "opensearch": {"hosts": "http://h", "index": "i", "fields": ["t"]},
}


def test_the_variables_of_the_surroundings_are_not_looked_at(
    world: World, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for use in SYSTEMS.names():
        if use in ("http", "opensearch", "elasticsearch"):
            assert ids(opened(use)) == ["b", "a"]
    assert world.proxy.seen == []
