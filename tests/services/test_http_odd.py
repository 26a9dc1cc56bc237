"""What comes back is no good HTTP, byte by byte as some broken server sends it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import SystemFailedError
from searchmark.project.entries import decode_systems
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query, System

CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
BODY = b'{"hits": [{"id": "a"}]}'
LENGTH = b"Content-Length: %d" % len(BODY)


class Raw:
    """Sends the pieces it was given to every request that comes, 50 ms between them."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(10)
            while connection.recv(65_536):
                for i, piece in enumerate(self.pieces):
                    time.sleep(0.05 if i else 0)
                    connection.sendall(piece)
                if b"Connection: close" in self.pieces[-1]:
                    return

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def raw() -> Iterator[Raw]:
    server = Raw()
    yield server
    server.close()


@pytest.fixture
def system(raw: Raw, tmp_path: Path) -> Iterator[System]:
    table = {"use": "http", "url": raw.url + "?q={query}", "ids": "hits[].id", "retries": 0}
    problems: list[Any] = []
    entries = decode_systems({"s": table}, problems)
    assert problems == []
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
        yield pool.open("s")


def reply(*head: bytes, body: bytes = BODY) -> bytes:
    return b"\r\n".join([*head, b"Connection: close", b"", body])


@pytest.mark.parametrize(
    ("sent", "told", "is_passing"),
    [
        (reply(BODY), "does not speak HTTP", True),
        (reply(b"SSH-2.0-OpenSSH_9.6"), "does not speak HTTP", True),
        (reply(b"HTTP/1.1 99999 OK", LENGTH), "does not speak HTTP", True),
        (reply(b"HTTP/1.1 200 OK", *[b"X: a"] * 200), "does not speak HTTP", True),
        (reply(b"HTTP/1.1 200 OK", b"X: " + b"a" * 70_000), "does not speak HTTP", True),
        (reply(b"HTTP/1.1 200 OK", b"Content-Length: 5, 9"), "its answer not be read", False),
        (reply(b"HTTP/1.1 200 OK", b"Content-Length: " + b"9" * 20), "max_bytes", False),
        (
            reply(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=b"-5\r\nabc"),
            "its answer not be read",
            False,
        ),
        (
            reply(b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", body=b"zz\r\nabc"),
            "was cut before",
            True,
        ),
        (reply(b"HTTP/1.1 101 Upgrade", b"Upgrade: x"), "answered 101, after which", False),
        (reply(b"HTTP/1.1 429 Busy", b"Retry-After: -5", LENGTH), "answered 429", True),
        (reply(b"HTTP/1.1 429 Busy", b"Retry-After: \xff\xfe", LENGTH), "answered 429", True),
        (reply(b"HTTP/1.1 302 Found", b"Location: http://[", body=b""), "no address", False),
        (reply(b"HTTP/1.1 302 Found", b"Location: http://me:pw@h/", body=b""), "no addr", False),
    ],
)
def test_what_is_no_good_http_is_a_failure_with_its_reason(
    sent: bytes, told: str, is_passing: bool, raw: Raw, system: System
) -> None:
    raw.pieces = [sent]
    with pytest.raises(SystemFailedError, match=told) as raised:
        system.search(Query("q", "red"), 5)
    assert raised.value.retry is is_passing
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_an_answer_that_was_announced_is_not_the_next_ones(raw: Raw, system: System) -> None:
    late = b"HTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n\r\n" + BODY
    raw.pieces = [b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", late]
    with pytest.raises(SystemFailedError, match="answered 103, after which"):
        system.search(Query("q1", "red"), 5)
    # on the same connection the answer to the first query would come first now
    other = BODY.replace(b'"a"', b'"b"')
    raw.pieces = [b"HTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n\r\n" + other]
    found = system.search(Query("q2", "blue"), 5)
    assert [hit.doc_id for hit in found.hits] == ["b"]


def test_100_continue_is_passed_over(raw: Raw, system: System) -> None:
    raw.pieces = [b"HTTP/1.1 100 Continue\r\n\r\n", reply(b"HTTP/1.1 200 OK", LENGTH)]
    assert [hit.doc_id for hit in system.search(Query("q", "red"), 5).hits] == ["a"]
