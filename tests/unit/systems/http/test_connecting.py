"""The time limit is that of the look-up of a name, of all its addresses and of the answer."""

import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest
from urllib3.exceptions import LocationParseError

from searchmark.data import Corpus
from searchmark.errors import OutsideError, Problem, SystemFailedError, SystemTimeoutError
from searchmark.project.entries import decode_systems
from searchmark.systems.http import connecting
from searchmark.systems.http.connecting import connected
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query

LookUp = Callable[..., list[Any]]

CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["red"]}))

KINDS: Mapping[str, Mapping[str, Any]] = {
    "http": {"use": "http", "url": "http://slow.test/?q={query}", "ids": "a"},
    "secure": {"use": "http", "url": "https://slow.test/?q={query}", "ids": "a"},
    "opensearch": {
        "use": "opensearch",
        "hosts": "http://slow.test:9",
        "index": "i",
        "fields": ["t"],
    },
    "elasticsearch": {
        "use": "elasticsearch",
        "hosts": "http://slow.test:9",
        "index": "i",
        "fields": ["t"],
    },
    "chat": {"use": "chat", "url": "http://slow.test/v1", "model": "m", "fields": ["text"]},
    "rerank": {
        "use": "rerank",
        "of": "first",
        "fields": ["text"],
        "endpoint": {"url": "http://slow.test/v1", "model": "m"},
    },
    "dense": {
        "use": "dense",
        "fields": ["text"],
        "endpoint": {"url": "http://slow.test/v1", "model": "m"},
    },
}


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Let the name slow.test be looked up for as long as the event is not set."""
    usual, event = socket.getaddrinfo, Event()

    def look_up(host: Any, *arguments: Any, **keys: Any) -> Any:
        if host == "slow.test":
            event.wait(60)
            raise socket.gaierror("it came to nothing")
        return usual(host, *arguments, **keys)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield event
    event.set()


@pytest.mark.parametrize("name", KINDS)
def test_a_slow_look_up_ends_with_the_time_limit(name: str, let_go: Event, tmp_path: Path) -> None:
    (tmp_path / "connecting_first.py").write_text("def search(text, k):\n    return ['a']\n")
    problems: list[Problem] = []
    tables = {
        "slow": {**KINDS[name], "timeout_s": 0.1, "retries": 0},
        "first": {"use": "python", "callable": "connecting_first:search"},
    }
    entries = decode_systems(tables, problems)
    assert problems == []
    with (
        Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool,
        pytest.raises(OutsideError if name == "dense" else SystemTimeoutError, match=r"0\.1 s"),
    ):
        pool.open("slow").search(Query("q", "red"), 3)  # a dense one embeds when it is opened
    assert not let_go.is_set()


class Dead:
    """Addresses none of which answers, and the limit that each was given."""

    def __init__(self, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.limits = 100.0, list[float | None]()
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{i}", 9)) for i in range(n)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
        monkeypatch.setattr(connecting, "monotonic", lambda: self.at)
        monkeypatch.setattr(connecting, "_connected", self.connect)

    def connect(self, address: object, limit: float | None, options: object) -> socket.socket:
        self.limits.append(limit)
        self.at += limit or 0.0
        raise TimeoutError("timed out")


def test_the_addresses_of_a_host_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Dead(4, monkeypatch)
    with pytest.raises(TimeoutError):
        connected("many.test", 9, 108.0)
    assert dead.limits == [2.0, 2.0, 2.0, 2.0]  # 8 s: 8 / 4, 6 / 3, 4 / 2, 2 / 1
    assert dead.at == 108.0


def test_without_a_limit_each_address_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Dead(2, monkeypatch)
    with pytest.raises(TimeoutError):
        connected("many.test", 9, None)
    assert dead.limits == [None, None]


def test_a_host_without_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    Dead(0, monkeypatch)
    with pytest.raises(OSError, match="the host has no address"):
        connected("none.test", 9, 108.0)


def test_the_first_address_that_takes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens there
        places = [closed.getsockname(), server.getsockname()]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
        nodelay = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connected("two.test", 9, connecting.monotonic() + 60, [nodelay]) as made:
            assert made.getpeername() == server.getsockname()
            assert made.getsockopt(*nodelay[:2]) != 0


def test_a_name_that_leads_nowhere_and_one_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object) -> object:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(socket.gaierror):
        connected("no.test", 9, connecting.monotonic() + 60)
    with pytest.raises(LocationParseError):
        connected("a" * 64 + ".test", 9, None)


def test_a_failure_of_the_look_up_is_told_and_may_pass(let_go: Event, tmp_path: Path) -> None:
    let_go.set()
    entries = decode_systems({"api": {**KINDS["http"], "retries": 0}}, [])
    with (
        Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool,
        pytest.raises(SystemFailedError, match="name cannot be resolved") as raised,
    ):
        pool.open("api").search(Query("q", "red"), 3)
    assert raised.value.retry
