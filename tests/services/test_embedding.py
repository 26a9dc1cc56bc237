"""Embedding endpoints as encoders, against a server on loopback that answers as it is told."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, OutsideError, SystemFailedError
from searchmark.systems import embedding
from searchmark.systems.dense import DENSE, Config
from searchmark.systems.pacing import Clock
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Query, System

WORDS = ("rain", "wind", "gold", "cat")
"""The dimensions of the vectors that the server makes: how often each word stands in the text."""

CORPUS = Corpus(
    pl.DataFrame(
        {
            "doc_id": ["d1", "d2", "d3", "d4", "d5"],
            "text": ["rain rain wind", "gold", "cat cat gold", "", "wind wind"],
            "title": ["", "", "", "", "wind"],
        }
    )
)

Reply = tuple[int, Any, dict[str, str]]


def counted(text: str) -> list[float]:
    return [float(text.split().count(w)) for w in WORDS] + [0.25]  # never all zeros


def vectors(body: Any) -> list[dict[str, Any]]:
    return [{"index": i, "embedding": counted(t)} for i, t in enumerate(body["input"])]


class Embedder:
    """A server; `reply` makes each answer of the request's body, `bodies` are what came."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.tokens: list[str | None] = []
        self.paths: list[str] = []
        self.reply: Callable[[Any], Reply] = lambda body: (200, {"data": vectors(body)}, {})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                outer.tokens.append(self.headers["Authorization"])
                outer.paths.append(self.path)
                status, found, headers = outer.reply(body)
                raw = json.dumps(found).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    @property
    def texts(self) -> list[str]:
        return [t for body in self.bodies for t in body["input"] if t != embedding.PROBE]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embedder]:
    at = [0.0]

    def wait(_: Event, seconds: float) -> None:
        at[0] += seconds

    monkeypatch.setattr(embedding, "CLOCK", Clock(now=lambda: at[0], wait=wait))
    made = Embedder()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@contextmanager
def opened(folder: Path, url: str, corpus: Corpus = CORPUS, **keys: Any) -> Iterator[System]:
    own = {k: keys.pop(k) for k in list(keys) if k in embedding.EndpointConfig.__struct_fields__}
    table = {"endpoint": {"url": url, "model": "m", **own}, **keys}
    entry = Entry("s", "dense", msgspec.convert(table, Config))
    with Pool({"s": entry}, corpus, folder=folder, cache=folder) as pool:
        yield pool.open("s")


def pairs(system: System, text: str) -> list[tuple[str, float | None]]:
    return [(h.doc_id, h.score) for h in system.search(Query("q", text), 10).hits]


def cosine(a: str, b: str) -> float:
    x, y = np.array(counted(a)), np.array(counted(b))
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_rankings_are_cosines_and_vectors_are_kept(server: Embedder, tmp_path: Path) -> None:
    with opened(tmp_path, server.url, batch=2) as system:
        found = pairs(system, "rain wind")
        expected = {
            d: cosine(t, "rain wind")
            for d, t in zip(CORPUS.doc_ids, CORPUS.joined(["title", "text"]), strict=True)
            if t
        }
        assert dict(found) == pytest.approx(expected, abs=2e-6)  # d4 is empty: no result
        assert [d for d, _ in found] == sorted(expected, key=lambda d: -expected[d])
        assert set(system.identity) == {"model"}
    assert max(len(b["input"]) for b in server.bodies) == 2
    assert sorted(server.texts) == sorted(
        ["rain rain wind", "gold", "cat cat gold", "wind wind wind", "rain wind"]
    )
    assert {b["model"] for b in server.bodies} == {"m"}
    assert set(server.paths) == {"/v1/embeddings"}
    server.bodies.clear()
    with opened(tmp_path, server.url) as system:
        assert pairs(system, "rain wind") == found
    assert server.texts == ["rain wind"]


def test_vectors_out_of_order_are_put_in_order(server: Embedder, tmp_path: Path) -> None:
    server.reply = lambda body: (200, {"data": vectors(body)[::-1]}, {})
    with opened(tmp_path / "a", server.url) as system:
        turned = pairs(system, "cat")
    server.reply = lambda body: (
        200,
        {"data": [{"embedding": v["embedding"]} for v in vectors(body)]},
        {},
    )
    with opened(tmp_path / "b", server.url) as system:  # without an index: as they come
        assert pairs(system, "cat") == turned
    assert turned[0][0] == "d3"


def broken(place: int, change: Callable[[list[Any]], Any]) -> Callable[[Any], Reply]:
    """Answer well `place` times, then with changed vectors."""
    calls = iter(range(1000))

    def reply(body: Any) -> Reply:
        data = vectors(body)
        return 200, {"data": data if next(calls) < place else change(data)}, {}

    return reply


WRONG: list[tuple[Callable[[list[Any]], Any], str]] = [
    (lambda d: d[:-1], "0 vectors came for 1 texts"),
    (lambda d: [*d, *d], "2 vectors came for 1 texts"),
    (
        lambda d: [{**d[0], "embedding": [1.0]}],
        "a vector of 1 dimensions came where 5 are expected",
    ),
    (lambda d: [{**d[0], "embedding": [None] * 5}], "vector 0 holds nothing, no number"),
    (lambda d: [{**d[0], "embedding": [1e200] * 4 + [float("1e999")]}], "is no JSON"),
    (lambda d: [{**d[0], "embedding": [1e200] * 5}], "what is no finite number"),
    (lambda d: [{**d[0], "embedding": [0.0] * 5}], "got a vector of zeros"),
    (lambda d: [{**d[0], "embedding": "AAAA"}], "vector 0 is a text"),
    (lambda d: [{**d[0], "embedding": [True] * 5}], "vector 0 holds true"),
    (lambda d: [{**d[0], "embedding": [10**400] * 5}], "holds a number that is too large"),
    (lambda d: [{**d[0], "index": 7}], "index is not 0 to 0, each once: 7"),
    (lambda d: {"vectors": d}, "without a list 'data'"),
    (lambda d: [5], "vector 0 is nothing"),
]


@pytest.mark.parametrize(("change", "told"), WRONG)
def test_a_wrong_answer_to_a_query_is_its_failure(
    server: Embedder, tmp_path: Path, change: Callable[[list[Any]], Any], told: str
) -> None:
    with opened(tmp_path, server.url) as system:
        server.reply = broken(0, change)
        with pytest.raises(SystemFailedError, match=told) as caught:
            pairs(system, "rain")
        assert not caught.value.retry


def test_a_wrong_answer_while_indexing_ends_with_exit_3_and_goes_on_later(
    server: Embedder, tmp_path: Path
) -> None:
    server.reply = broken(4, lambda d: d[:-1])  # two probes, two batches of one, then this
    with pytest.raises(OutsideError) as caught, opened(tmp_path, server.url, batch=1):
        pass
    assert caught.value.exit_code == 3
    assert (
        "system 's' cannot be opened: embedding the corpus stopped: POST http://127.0.0.1"
        in str(caught.value)
    )
    assert "0 vectors came for 1 texts" in str(caught.value)
    assert "the same command goes on from there" in str(caught.value)
    before, server.bodies = server.texts, []
    server.reply = lambda body: (200, {"data": vectors(body)}, {})
    with opened(tmp_path, server.url, batch=1):
        pass
    assert len(before) == 3
    assert set(server.texts) == {"rain rain wind", "gold", "cat cat gold", "wind wind wind"} - set(
        before[:2]
    )


def test_a_busy_endpoint_is_asked_again_while_indexing_and_not_for_a_query(
    server: Embedder, tmp_path: Path
) -> None:
    calls = iter(range(1000))

    def busy_now_and_then(body: Any) -> Reply:
        if next(calls) % 2 == 0:
            return 429, {"error": "slow down"}, {"Retry-After": "1"}
        return 200, {"data": vectors(body)}, {}

    server.reply = busy_now_and_then
    with opened(tmp_path, server.url, batch=1) as system:
        server.reply = lambda body: (429, {"error": "slow down"}, {"Retry-After": "1"})
        server.bodies.clear()
        with pytest.raises(SystemFailedError, match="429") as caught:
            pairs(system, "rain")
    assert caught.value.retry and caught.value.after_s == 1.0
    assert len(server.bodies) == 1  # the caller tries again, not the encoder


def test_a_dead_endpoint_is_told_with_exit_3(server: Embedder, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"  # nobody listens there
        with (
            pytest.raises(OutsideError, match=r"'s' has no embeddings: .*no connection") as caught,
            opened(tmp_path, url),
        ):
            pass
    assert caught.value.exit_code == 3


def test_models_and_dimensions_never_mix(server: Embedder, tmp_path: Path) -> None:
    def embedded(**keys: Any) -> int:
        server.bodies.clear()
        with opened(tmp_path, server.url, **keys):
            return len(server.texts)

    assert embedded() == 4
    assert embedded() == 0
    assert embedded(model="other") == 4
    assert embedded(revision="2") == 4
    server.reply = lambda body: (
        200,
        {"data": [{"embedding": v["embedding"][1:]} for v in vectors(body)]},
        {},
    )
    assert embedded(dimensions=4) == 4
    assert {b.get("dimensions") for b in server.bodies} == {4}


def test_a_model_that_changed_behind_its_name_is_noticed(server: Embedder, tmp_path: Path) -> None:
    with opened(tmp_path, server.url):
        pass

    def other(text: str) -> list[float]:
        return [b / 255 for b in hashlib.sha256(text.encode()).digest()[:5]]

    server.reply = lambda body: (
        200,
        {"data": [{"embedding": other(t)} for t in body["input"]]},
        {},
    )
    told = r"gives other vectors than those that are kept \(cosine .*set another endpoint\.revision"
    with pytest.raises(InputError, match=told), opened(tmp_path, server.url):
        pass
    with opened(tmp_path, server.url, revision="2"):
        pass


def test_prefixes_stand_before_what_is_not_empty(server: Embedder, tmp_path: Path) -> None:
    keys = {"document_prefix": "passage: ", "query_prefix": "query: "}
    with opened(tmp_path, server.url, **keys) as system:
        assert pairs(system, "  ") == []
        pairs(system, "rain")
    assert sorted(server.texts) == sorted(
        [f"passage: {t}" for t in ["rain rain wind", "gold", "cat cat gold", "wind wind wind"]]
        + ["query: rain"]
    )


def test_the_key_goes_as_a_bearer_token_and_is_never_told(
    server: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBED_KEY", "sk-9f8e7d6c5b4a3210")
    with opened(tmp_path, server.url, key="${EMBED_KEY}") as system:
        assert set(server.tokens) == {"Bearer sk-9f8e7d6c5b4a3210"}
        server.reply = lambda body: (401, {"error": "no such key sk-9f8e7d6c5b4a3210"}, {})
        with pytest.raises(SystemFailedError, match="401") as caught:
            pairs(system, "rain")
    assert "sk-9f8e" not in str(caught.value) and "${EMBED_KEY}" in str(caught.value)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"sk-9f8e" not in path.read_bytes()


def test_keys_that_make_no_endpoint_are_problems() -> None:
    def problems(**keys: Any) -> set[str]:
        assert DENSE.problems is not None
        config = msgspec.convert(keys, Config)
        return {p.key for p in DENSE.problems(config, "s", {})}

    good = {"url": "http://127.0.0.1:1/v1", "model": "m"}
    assert problems(endpoint=good) == set()
    wrong = {"url": "here", "model": "", "batch": 0, "dimensions": 0, "max_bytes": 0}
    assert problems(endpoint=wrong) == {f"endpoint.{key}" for key in wrong}
    assert problems(endpoint={**good, "key": "sk-9f8e7d6c5b4a3210"}) == {"endpoint.key"}
    assert problems(endpoint=good, model="wordllama") == {"model"}
    assert problems(endpoint=good, precision="int8") == {"precision"}
