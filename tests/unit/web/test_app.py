"""The service as an application, asked without a network."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from threading import Event, Thread
from typing import Any, NamedTuple

import jsonschema
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

pytest.importorskip("fastapi")

from searchmark.data import Corpus
from searchmark.data.filters import Filter
from searchmark.errors import InputError, OutsideError, SystemFailedError
from searchmark.retrieval.catalogs import Found, Health, Mode, Page
from searchmark.retrieval.constraints import Constraint
from searchmark.retrieval.encoders import encode_query
from searchmark.retrieval.generation import Generation, Progress
from searchmark.web.access import Admission
from searchmark.web.app import build_app
from searchmark.web.arm import GuardedEncoder
from searchmark.web.front import Front
from searchmark.web.limits import Limits
from searchmark.web.served import Served, filter_parameters

IDS = [f"d{i:02}" for i in range(25)]
CORPUS = Corpus(
    pl.DataFrame(
        {
            "doc_id": IDS,
            "title": [f"title {i}" for i in range(25)],
            "text": pl.Series([None] * 25, dtype=pl.String),
            "type": ["http", "mcp"] * 12 + ["http"],
            "amount": [i / 10 for i in range(25)],
            "tags": [["a", "b"]] * 25,
            "nested": [{"a": 1}] * 25,
        }
    )
)
DOCUMENTS = {row["doc_id"]: row for row in CORPUS.frame.to_dicts()}


class Encoder:
    """Gives one number; `error` is raised instead."""

    error: Exception | None = None

    @property
    def generation(self) -> Generation:
        return Generation("m", "r", 1, "mean", True, "fp32", 9, "t")

    def encode(
        self, texts: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        if self.error is not None:
            raise self.error
        return np.ones((len(texts), 1), np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


class Shelf:
    """A catalog in which everything is found: backwards with vectors, forwards by words alone."""

    def __init__(self, guard: GuardedEncoder) -> None:
        self.guard = guard
        self.error: Exception | None = None
        self.is_waiting = False
        self.gate: Event | None = None
        self.asked: list[tuple[str, int, int, Mode, tuple[Filter, ...]]] = []

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        self.asked.append((text, limit, offset, mode, filters))
        if self.gate is not None:
            self.gate.wait(20)
        if self.error is not None:
            raise self.error
        ids, why = list(reversed(IDS)), "documents wait" if self.is_waiting else ""
        try:
            encode_query(self.guard, text)
        except SystemFailedError as error:
            ids, why = IDS, str(error)
        found = tuple(Found(d, 1.0, DOCUMENTS[d]) for d in ids[offset : offset + limit])
        return Page(found, bool(why), len(ids), why)

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        self.asked.append(("", limit, 0, "fused", filters))
        ids = [d for d in IDS if after is None or d > after][:limit]
        return Page(tuple(Found(d, None, DOCUMENTS[d]) for d in ids), total=25)

    def health(self) -> Health:
        return Health(25, int(self.is_waiting), 2, 99, "m", "ok")


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any


class Service:
    """The application as the front lets requests through to it."""

    def __init__(self, limits: Limits, access: Admission | None = None) -> None:
        self.encoder = Encoder()
        self.guard = GuardedEncoder(self.encoder)
        self.shelf = Shelf(self.guard)
        constraints = [Constraint(r"under (\d+)", "amount", "<=")]
        filters = filter_parameters(CORPUS.frame, constraints, limits)
        served = Served("shelf", self.shelf, filters, self.guard)
        self.app = Front(build_app(served, limits, key=b"key", access=access), limits, access)

    def get(self, target: str | bytes, **more: Any) -> Reply:
        return asyncio.run(self.ask(target, **more))

    async def ask(
        self,
        target: str | bytes,
        method: str = "GET",
        headers: Sequence[tuple[bytes, bytes]] = (),
        client: str = "127.0.0.1",
    ) -> Reply:
        raw = target.encode() if isinstance(target, str) else target
        path, _, query = raw.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path.decode("latin-1"),
            "raw_path": path,
            "root_path": "",
            "query_string": query,
            "headers": list(headers),
            "client": (client, 1),
            "server": ("127.0.0.1", 2),
        }
        said: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        await self.app(scope, receive, send)
        found = {n.decode().lower(): v.decode() for n, v in said[0]["headers"]}
        body = b"".join(m.get("body", b"") for m in said[1:])
        assert found["content-type"] == "application/json"
        return Reply(said[0]["status"], found, json.loads(body))


@pytest.fixture
def service() -> Service:
    return Service(Limits())


def ids(reply: Reply) -> list[str]:
    assert reply.status == 200
    return [r["resource"] for r in reply.body["resources"]]


def test_an_answer_has_its_shape(service: Service) -> None:
    reply = service.get("/discovery/search?query=a+b&limit=1")
    cursor = reply.body.pop("nextCursor")
    assert isinstance(cursor, str)
    assert reply.body == {
        "resources": [
            {
                "resource": "d24",
                "title": "title 24",
                "type": "http",
                "amount": 2.4,
                "tags": ["a", "b"],
                "nested": {"a": 1},
                "score": 1.0,
            }
        ],
        "partialResults": False,
        "total": 25,
    }
    assert service.shelf.asked == [("a b", 2, 0, "fused", ())]


def test_pages_are_the_ranking_cut(service: Service) -> None:
    found, target = [], "/discovery/search?query=a&type=http"
    cursor, sizes = None, iter((10, 7, 100))
    while True:
        page = f"&limit={next(sizes)}" + (f"&cursor={cursor}" if cursor else "")
        reply = service.get(target + page)
        found += ids(reply)
        cursor = reply.body["nextCursor"]
        if cursor is None:
            break
    assert found == list(reversed(IDS))
    assert service.shelf.asked[-1][4] == (Filter("type", "=", "http"),)


def test_a_listing_goes_on_behind_the_last_id(service: Service) -> None:
    first = service.get("/discovery/resources?limit=20&max_price=2&tags=a")
    assert ids(first) == IDS[:20]
    assert service.shelf.asked[0][4] == (Filter("tags", "=", "a"), Filter("amount", "<=", 2.0))
    assert "score" not in first.body["resources"][0]
    cursor = first.body["nextCursor"]
    rest = service.get(f"/discovery/resources?limit=20&cursor={cursor}&tags=a&max_price=2")
    assert ids(rest) == IDS[20:]
    assert rest.body["nextCursor"] is None


@pytest.mark.parametrize(
    "target",
    [
        "/discovery/search?query=other&cursor={}",
        "/discovery/search?query=a&type=http&cursor={}",
        "/discovery/resources?cursor={}",
        "/discovery/search?query=a&cursor=x{}",
    ],
)
def test_a_cursor_goes_with_its_own_request_only(service: Service, target: str) -> None:
    cursor = service.get("/discovery/search?query=a&limit=3").body["nextCursor"]
    reply = service.get(target.format(cursor))
    assert reply.status == 404
    assert "the cursor was not given for this request" in reply.body["error"]
    other = Service(Limits())
    other_key = build_app(Served("s", other.shelf, (), None), Limits())
    other.app = Front(other_key, Limits())
    assert other.get(f"/discovery/search?query=a&cursor={cursor}").status == 404


def test_without_the_encoder_it_goes_on_by_words(service: Service) -> None:
    service.encoder.error = SystemFailedError("refused", retry=True)
    reply = service.get("/discovery/search?query=a&limit=3")
    assert reply.body["partialResults"] is True
    assert ids(reply) == IDS[:3]
    assert service.get("/health").body["status"] == "partial"

    # the encoder comes back: a page 2 is still that of the ranking that page 1 began
    service.encoder.error = None
    end = Event()
    while service.guard.why:
        end.wait(0.01)
    cursor = reply.body["nextCursor"]
    second = service.get(f"/discovery/search?query=a&limit=3&cursor={cursor}")
    assert ids(second) == IDS[3:6]
    assert second.body["partialResults"] is True
    assert service.get("/discovery/search?query=a&limit=3").body["partialResults"] is False


def test_a_ranking_that_cannot_go_on_is_no_other_ranking(service: Service) -> None:
    cursor = service.get("/discovery/search?query=a&limit=3").body["nextCursor"]
    service.encoder.error = SystemFailedError("refused", retry=True)
    target = f"/discovery/search?query=a&limit=3&cursor={cursor}"
    assert ids(service.get(target)) == ["d21", "d20", "d19"]  # the query's vector is still here
    service.guard._kept.clear()
    reply = service.get(target)
    assert reply.status == 409
    assert reply.headers["retry-after"] == "1"
    assert "needs the search by meaning" in reply.body["error"]


def test_a_waiting_queue_is_partial_and_paged_as_usual(service: Service) -> None:
    service.shelf.is_waiting = True
    reply = service.get("/discovery/search?query=a&limit=3")
    assert reply.body["partialResults"] is True
    assert ids(reply) == ["d24", "d23", "d22"]
    cursor = reply.body["nextCursor"]
    second = service.get(f"/discovery/search?query=a&limit=3&cursor={cursor}")
    assert ids(second) == ["d21", "d20", "d19"]
    health = service.get("/health").body
    assert (health["partialResults"], health["waiting"], health["dead"]) == (True, 1, 2)


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (InputError("a filter is wrong"), 400, "a filter is wrong"),
        (OutsideError("host=secret"), 503, "the catalog cannot be asked at present; try again"),
        (ValueError("secret"), 500, "a fault of the service, which its log tells"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    service: Service, error: Exception, status: int, sentence: str
) -> None:
    service.shelf.error = error
    reply = service.get("/discovery/search?query=a")
    assert (reply.status, reply.body) == (status, {"error": sentence})
    assert ("retry-after" in reply.headers) == (status == 503)


@pytest.mark.parametrize(
    ("target", "method", "status", "sentence"),
    [
        ("/", "GET", 404, "there is nothing at this address; known: /discovery/resources,"),
        ("/discovery/serch?query=a", "GET", 404, "did you mean '/discovery/search'"),
        ("/docs", "GET", 404, "there is nothing"),
        ("/redoc", "GET", 404, "there is nothing"),
        ("/discovery/search/", "GET", 404, "there is nothing"),
        ("/health", "POST", 405, "the method POST is not answered here; use GET"),
        ("/health?x=1", "GET", 400, "there is no parameter 'x' here; there are none"),
        ("/openapi.json?x=1", "GET", 400, "there is no parameter 'x' here; there are none"),
        ("/discovery/search", "GET", 400, "the parameter 'query' is missing"),
        ("/discovery/search?query=a&network=b", "GET", 400, "there is no parameter 'network'"),
        ("/discovery/resources?nested=b", "GET", 400, "there is no parameter 'nested'"),
        ("/discovery/resources?text=b", "GET", 400, "there is no parameter 'text'"),
        ("/discovery/search?query=" + "a" * 1001, "GET", 400, "has 1,001 characters"),
        ("/discovery/search?query=" + "a" * 100_000, "GET", 414, "the address has 100,023 bytes"),
        (b"/discovery/search?query=\xff\xfe", "GET", 400, "the parameters are not UTF-8"),
        (b"/\xff\x00", "GET", 404, "there is nothing"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    service: Service, target: str | bytes, method: str, status: int, sentence: str
) -> None:
    reply = service.get(target, method=method)
    assert reply.status == status
    assert list(reply.body) == ["error"]
    assert sentence in reply.body["error"]
    assert service.shelf.asked == []
    assert ("allow" in reply.headers) == (status == 405)


def test_a_long_body_is_refused(service: Service) -> None:
    headers = [(b"content-length", b"65537")]
    assert service.get("/health", headers=headers).status == 413
    assert service.get("/health", headers=[(b"content-length", b"65536")]).status == 200


def test_an_address_that_asks_too_often_is_told_to_wait() -> None:
    service = Service(Limits(per_second=0.5))
    assert service.get("/health").status == 200
    reply = service.get("/health")
    assert reply.status == 429
    assert reply.headers["retry-after"] == "2"  # a token takes 1 / 0.5 seconds
    assert "more than 0.5 requests a second" in reply.body["error"]
    assert service.get("/health", client="127.0.0.2").status == 200


def test_more_than_can_wait_are_told_to_come_again() -> None:
    service = Service(Limits(per_second=0, threads=1, waiting=2))
    service.shelf.gate = gate = Event()

    async def ask_all() -> list[Reply]:
        jobs = [asyncio.create_task(service.ask(f"/discovery/search?query={i}")) for i in range(5)]
        refused = [await job for job in jobs[3:]]
        gate.set()
        return [*[await job for job in jobs[:3]], *refused]

    replies = asyncio.run(ask_all())
    assert [r.status for r in replies] == [200, 200, 200, 429, 429]
    assert replies[-1].headers["retry-after"] == "1"
    assert service.get("/discovery/search?query=a").status == 200


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    service = Service(Limits(threads=1, time_s=0.05))
    service.shelf.gate = gate = Event()
    reply = service.get("/discovery/search?query=a")
    assert (reply.status, reply.body) == (503, {"error": "no answer within 0.05 s"})
    # the only thread is held up: nobody else waits for it
    reply = service.get("/discovery/search?query=never")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.body["error"].startswith("no search that runs comes to an end")
    gate.set()
    while service.get("/discovery/search?query=b").status != 200:
        pass
    assert [a[0] for a in service.shelf.asked if a[0] == "never"] == []  # its turn never came


def test_the_document_tells_what_is_answered(service: Service) -> None:
    document = service.get("/openapi.json").body
    assert set(document["paths"]) == {"/discovery/search", "/discovery/resources", "/health"}
    named = {
        path: [p["name"] for p in item["get"].get("parameters", [])]
        for path, item in document["paths"].items()
    }
    assert named["/discovery/search"] == ["query", "limit", "cursor", "type"]
    assert named["/discovery/resources"] == [
        *("limit", "cursor"),
        *("title", "type", "amount", "tags"),
        "max_price",
    ]
    assert named["/health"] == []
    assert "422" not in json.dumps(document)
    for path, target in {
        "/discovery/search": "/discovery/search?query=a",
        "/discovery/resources": "/discovery/resources",
        "/health": "/health",
    }.items():
        responses = document["paths"][path]["get"]["responses"]
        assert set(responses) >= {"200", "400", "413", "414", "429", "503"}
        for status, body in (
            ("200", service.get(target).body),
            ("400", service.get(f"{path}?no=1").body),
        ):
            schema = responses[status]["content"]["application/json"]["schema"]
            whole = {**schema, "components": document["components"]}
            jsonschema.validate(body, whole)
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({}, whole)


def test_many_threads_ask_one_catalog(service: Service) -> None:
    replies: list[Reply] = []

    def ask(i: int) -> None:
        replies.append(service.get(f"/discovery/search?query={i}&limit=100"))

    threads = [Thread(target=ask, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ids(r) for r in replies] == [list(reversed(IDS))] * 20
