"""What both adapters send and how they take what comes back, on a server that records and obeys."""

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.protocol import Answer, Query, System

from .conftest import Recorder, free_port, opened

pytest.importorskip("opensearchpy")
pytest.importorskip("elasticsearch")

BOTH = pytest.mark.parametrize("use", ["opensearch", "elasticsearch"])
MODEL = "all-MiniLM-L6-v2"


def found(*ids: Any, total: Any = None, **more: Any) -> dict[str, Any]:
    """Return an answer of an engine, with a score that falls by one a rank."""
    rows = [{"_index": "i", "_id": id, "_score": 9.0 - n} for n, id in enumerate(ids)]
    count = {"value": len(ids), "relation": "eq"} if total is None else total
    shards = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}
    hits = {"total": count, "max_score": 9.0, "hits": rows}
    return {"took": 1, "timed_out": False, "_shards": shards, "hits": hits, **more}


def search(system: System, text: str = "red shoes", k: int = 10) -> Answer:
    return system.search(Query("q1", text), k)


def failure(system: System, text: str = "red shoes") -> SystemFailedError:
    with pytest.raises(SystemFailedError) as caught:
        search(system, text)
    assert "\n" not in str(caught.value)
    return caught.value


# what is sent


@BOTH
def test_the_default_template_searches_in_the_fields(use: str, recorder: Recorder) -> None:
    recorder.answer(found("a"))
    with opened(use, hosts=recorder.url, index="shop", fields=["title^2", "text"]) as system:
        answer = search(system, k=7)
    (request,) = recorder.requests
    assert (request.method, request.path) == ("POST", "/shop/_search")
    assert request.json == {
        "size": 7,
        "query": {"multi_match": {"query": "red shoes", "fields": ["title^2", "text"]}},
        "_source": False,
    }
    assert [h.doc_id for h in answer.hits] == ["a"]
    assert answer.size == len(recorder.body)
    assert system.tags == {"lexical"}


@BOTH
def test_opening_asks_nothing(use: str, recorder: Recorder) -> None:
    with opened(use, hosts=recorder.url, index="shop", fields=["title"]):
        pass
    assert recorder.requests == []
    with opened(use, hosts="http://127.0.0.1:9", index="shop", fields=["title"]):
        pass


@BOTH
def test_names_may_come_from_the_environment(
    use: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        "SHOP_URL": recorder.url,
        "SHOP_INDEX": "shop-7",
        "SHOP_LANG": 'd"e',
        "SHOP_USER": "u7",
    }
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    recorder.answer(found())
    template = {
        "query": {"match": {"t": "{query}"}},
        "post_filter": {"term": {"l": "${SHOP_LANG}"}},
    }
    keys = {"template": template, "routing": "${SHOP_USER}", "index": "${SHOP_INDEX}"}
    if use == "opensearch":
        keys["search_pipeline"] = "p-${SHOP_USER}"
    with opened(use, hosts="${SHOP_URL}", **keys) as system:
        search(system)
    (request,) = recorder.requests
    path, _, pairs = request.path.partition("?")
    assert path == "/shop-7/_search"
    assert set(pairs.split("&")) - {"search_pipeline=p-u7"} == {"routing=u7"}
    assert request.json["post_filter"] == {"term": {"l": 'd"e'}}
    monkeypatch.delenv("SHOP_INDEX")
    with pytest.raises(InputError, match="SHOP_INDEX"), opened(use, hosts="http://a", **keys):
        pass


@BOTH
def test_a_template_is_sent_as_it_is_filled(use: str, recorder: Recorder) -> None:
    template = {
        "size": 3,
        "query": {"match": {"title": {"query": "{query}", "boost": 2}}},
        "rescore": {
            "window_size": "{k}",
            "query": {"rescore_query": {"match": {"t": "<{query}>"}}},
        },
        "stats": ["{query_id}", "{{k}}"],
    }
    recorder.answer(found())
    with opened(use, hosts=recorder.url, index="shop", template=template) as system:
        search(system, 'a "{k}" }', k=50)
    assert recorder.requests[0].json == {
        "size": 3,
        "query": {"match": {"title": {"query": 'a "{k}" }', "boost": 2}}},
        "rescore": {
            "window_size": 50,
            "query": {"rescore_query": {"match": {"t": '<a "{k}" }>'}}},
        },
        "stats": ["q1", "{k}"],
    }


@BOTH
def test_parameters_go_into_the_address_or_before_each_search(use: str, recorder: Recorder) -> None:
    recorder.answer(found())
    keys = {
        "params": {"search_type": "dfs_query_then_fetch", "request_cache": False},
        "routing": "user 1",
        "preference": "_local",
    }
    with opened(use, hosts=recorder.url, index="a,b*", fields=["t"], **keys) as system:
        search(system)
        recorder.body = json.dumps({"responses": [found(), found()]}).encode()
        system.search_many([Query("1", "x\ny"), Query("2", "z")], 4)
    single, batch = recorder.requests
    path, _, pairs = single.path.partition("?")
    assert path == "/a,b*/_search"
    assert sorted(pairs.split("&")) == [
        "preference=_local",
        "request_cache=false",
        "routing=user+1" if use == "opensearch" else "routing=user%201",
        "search_type=dfs_query_then_fetch",
    ]
    assert batch.path == "/a,b*/_msearch"
    head = {**keys["params"], "routing": "user 1", "preference": "_local"}
    assert [batch.lines[0], batch.lines[2]] == [head, head]
    asked = [batch.lines[i]["query"]["multi_match"]["query"] for i in (1, 3)]
    assert asked == ["x\ny", "z"]
    assert {batch.lines[i]["size"] for i in (1, 3)} == {4}
    assert len(batch.lines) == 4


def test_a_search_pipeline_is_named_in_both_forms(recorder: Recorder) -> None:
    hybrid = {
        "hybrid": {
            "queries": [
                {"match": {"text": "{query}"}},
                {"knn": {"vector": {"vector": "{embedding}", "k": "{k}"}}},
            ]
        }
    }
    recorder.answer(found("a"))
    keys = {"template": {"query": hybrid}, "model": MODEL, "search_pipeline": "nlp"}
    with opened("opensearch", hosts=recorder.url, index="shop", **keys) as system:
        search(system, k=5)
        recorder.body = json.dumps({"responses": [found("a")]}).encode()
        system.search_many([Query("1", "red shoes")], 5)
        assert set(system.identity) == {"model"}
    single, batch = recorder.requests
    assert single.path == "/shop/_search?search_pipeline=nlp"
    lexical, vector = single.json["query"]["hybrid"]["queries"]
    assert lexical == {"match": {"text": "red shoes"}}
    assert vector["knn"]["vector"]["k"] == 5
    numbers = vector["knn"]["vector"]["vector"]
    assert len(numbers) == 384
    assert sum(x * x for x in numbers) == pytest.approx(1.0, abs=1e-5)
    assert "search_pipeline" not in single.json
    assert batch.lines == [{}, {**single.json, "search_pipeline": "nlp"}]


@BOTH
@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ({"basic": "me:${SHOP_SECRET}"}, "Basic bWU6czNjcmV0LXY0bHVl"),
        ({"bearer": "${SHOP_SECRET}"}, "Bearer s3cret-v4lue"),
        ({"api_key": "${SHOP_SECRET}"}, "ApiKey s3cret-v4lue"),
        ({"api_key": "id:${SHOP_SECRET}"}, "ApiKey aWQ6czNjcmV0LXY0bHVl"),
    ],
)
def test_who_asks_is_shown_to_the_engine_and_to_nobody_else(
    use: str,
    recorder: Recorder,
    keys: dict[str, str],
    sent: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOP_SECRET", "s3cret-v4lue")
    keys = {**keys, "headers": {"X-Tenant": "${SHOP_SECRET}"}}
    recorder.answer({"error": f"no entry for {sent} (s3cret-v4lue)"}, 401)
    with opened(use, hosts=recorder.url, index="shop", fields=["t"], **keys) as system:
        error = failure(system)
    headers = recorder.requests[0].headers
    assert (headers["authorization"], headers["x-tenant"]) == (sent, "s3cret-v4lue")
    assert "401 Unauthorized: no entry for" in str(error)
    assert "s3cret-v4lue" not in str(error)
    assert not error.retry


def test_hosts_are_asked_in_turn(recorder: Recorder) -> None:
    other = Recorder()
    try:
        for server in (recorder, other):
            server.answer(found())
        for use in ("opensearch", "elasticsearch"):
            hosts = [recorder.url, other.url + "/prefix/"]
            with opened(use, hosts=hosts, index="shop", fields=["t"]) as system:
                for _ in range(4):
                    search(system)
        assert [r.path for r in recorder.requests] == ["/shop/_search"] * 4
        assert [r.path for r in other.requests] == ["/prefix/shop/_search"] * 4
    finally:
        other.close()


@BOTH
def test_a_host_that_is_away_is_neither_avoided_nor_tried_twice(
    use: str, recorder: Recorder
) -> None:
    recorder.answer(found("a"))
    hosts = [f"http://127.0.0.1:{free_port()}", recorder.url]
    outcomes = []
    with opened(use, hosts=hosts, index="shop", fields=["t"]) as system:
        for _ in range(6):
            try:
                outcomes.append(len(search(system).hits))
            except SystemFailedError as error:
                assert error.retry
                outcomes.append(-1)
    assert sorted(outcomes) == [-1, -1, -1, 1, 1, 1]
    assert outcomes[0] == outcomes[2] == outcomes[4]


# what comes back


@BOTH
@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ({"value": 12, "relation": "eq"}, 12),
        ({"value": 10000, "relation": "gte"}, None),
        (12, 12),
        (-1, None),
    ],
)
def test_a_total_is_told_only_where_it_is_one(
    use: str, recorder: Recorder, total: Any, expected: int | None
) -> None:
    recorder.answer(found("a", "b", total=total))
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        answer = search(system)
    assert answer.total == expected
    assert not answer.partial


@BOTH
def test_an_answer_without_a_total_is_one(use: str, recorder: Recorder) -> None:
    document = found("a")
    del document["hits"]["total"], document["_shards"]
    recorder.answer(document)
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        assert search(system).total is None


@BOTH
@pytest.mark.parametrize(
    "more",
    [
        {"timed_out": True},
        {"_shards": {"total": 2, "successful": 1, "skipped": 0, "failed": 1}},
        {"_clusters": {"total": 2, "successful": 1, "skipped": 1}},
    ],
)
def test_what_is_partial_is_told(use: str, recorder: Recorder, more: dict[str, Any]) -> None:
    recorder.answer(found("a", **more))
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        answer = search(system)
        recorder.answer({"responses": [{**found("a", **more), "status": 200}]})
        (batched,) = system.search_many([Query("q", "x")], 5)
    assert answer.partial
    assert isinstance(batched, Answer)
    assert batched.partial


@BOTH
def test_no_hits_because_every_shard_failed_is_no_empty_answer(
    use: str, recorder: Recorder
) -> None:
    recorder.answer(found(_shards={"total": 2, "successful": 0, "skipped": 0, "failed": 2}))
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        error = failure(system)
    assert "all shards failed" in str(error)
    assert error.retry


@BOTH
def test_ids_and_scores_are_kept_as_they_come(use: str, recorder: Recorder) -> None:
    document = found("b", "a", "b", " c ", "007", "1e3")
    for row, score in zip(document["hits"]["hits"], [1.0, 2.0, 2.0, None, 0, -1.5], strict=True):
        row["_score"] = score
    recorder.answer(document)
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        answer = search(system, k=5)
    assert [(h.doc_id, h.score) for h in answer.hits] == [
        ("b", 1.0),
        ("a", 2.0),
        ("b", 2.0),
        (" c ", None),
        ("007", 0.0),
    ]


@BOTH
@pytest.mark.parametrize(
    ("status", "headers", "retry", "after_s"),
    [
        (429, {"Retry_After": "7"}, True, 7.0),
        (503, {}, True, None),
        (502, {}, True, None),
        (500, {}, True, None),
        (400, {}, False, None),
        (403, {}, False, None),
        (413, {}, False, None),
    ],
)
def test_a_status_is_a_failure_and_is_not_tried_again_here(
    use: str,
    recorder: Recorder,
    status: int,
    headers: dict[str, str],
    retry: bool,
    after_s: float | None,
) -> None:
    cause = {"type": "es_rejected_execution_exception", "reason": "queue\ncapacity"}
    error = {"type": "search_phase_execution_exception", "reason": "all shards failed"}
    error |= {"root_cause": [cause], "caused_by": {**cause, "caused_by": {"reason": "too deep"}}}
    recorder.answer({"error": error, "status": status}, status, **headers)
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        caught = failure(system)
    assert (caught.retry, caught.after_s, caught.busy) == (retry, after_s, status == 429)
    assert f"POST {recorder.url}/shop/_search answered {status} " in str(caught)
    assert "es_rejected_execution_exception: queue capacity: too deep" in str(caught)
    assert len(recorder.requests) == 1


@BOTH
def test_failures_of_a_batch_are_those_of_their_queries(use: str, recorder: Recorder) -> None:
    full = {"error": {"type": "rejected", "reason": "queue is full"}, "status": 429}
    bad = {"error": {"type": "parse", "reason": "no such field"}, "status": 400}
    odd = {"error": "something"}
    responses = [{**found("a"), "status": 200}, full, bad, odd, {"hits": {}}, None, found("z")]
    recorder.answer({"took": 3, "responses": responses})
    queries = [Query(str(i), "x") for i in range(len(responses))]
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        first, *failed, last = system.search_many(queries, 5)
    assert [h.doc_id for a in (first, last) for h in a.hits] == ["a", "z"]  # type: ignore[union-attr]
    assert all(isinstance(f, SystemFailedError) for f in failed)
    told = [(f.retry, f.busy) for f in failed]  # type: ignore[union-attr]
    assert told == [(True, True), *[(False, False)] * 4]
    parts = ["429 Too Many Requests: rejected: queue is full", "parse: no such field", "something"]
    for part, error in zip([*parts, "nothing at", "nothing at"], failed, strict=True):
        assert part in str(error)
        assert f"{recorder.url}/shop/_msearch" in str(error)


@BOTH
@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"responses": [found("a")]}, "gave 1 answers to 2 searches"),
        ({"hits": {}}, "without a list 'responses'"),
        ([], "without a list 'responses'"),
    ],
)
def test_a_batch_with_another_number_of_answers_is_a_failure(
    use: str, recorder: Recorder, document: Any, told: str
) -> None:
    recorder.answer(document)
    with (
        opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system,
        pytest.raises(SystemFailedError, match=told),
    ):
        system.search_many([Query("1", "x"), Query("2", "y")], 5)


DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@BOTH
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"hits": {"hits": [', "is no JSON"),
        (b"", "empty body"),
        (b"<html><title>Login</title></html>", "a web page titled 'Login'"),
        (b'{"hits": {"hits": [{"_id": "a", "_score": NaN}]}}', "is no JSON"),
        (b'{"hits": {"hits": [{"_id": "a", "_score": "high"}]}}', "has a text at _score"),
        (b'{"hits": {"hits": [{"_id": null, "_score": 1}]}}', "result 1 has no id"),
        (b'{"hits": {"hits": [{"_id": {"a": 1}, "_score": 1}]}}', "result 1 has no id"),
        (b'{"hits": {"total": 3}}', "nothing at id_field = '_id'"),
        (b'{"hits": {"total": "3", "hits": []}}', "a text at hits.total"),
        (b"[]", "nothing at id_field = '_id'"),
        (b"null", "nothing at id_field = '_id'"),
        (b'"text"', "nothing at id_field = '_id'"),
        (b'{"\xff": 1}', "is no JSON"),
        (DEEP, "nests too deeply"),
    ],
)
def test_what_is_no_answer_is_a_failure(
    use: str, recorder: Recorder, body: bytes, told: str
) -> None:
    recorder.answer(body)
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        error = failure(system)
    assert told in str(error)
    assert recorder.url in str(error)
    assert not error.retry


@BOTH
def test_an_answer_that_is_too_long_is_not_read(use: str, recorder: Recorder) -> None:
    recorder.answer(found("x" * 10_000_000))
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        error = failure(system)
    assert "more than 10,000,000 bytes (max_bytes)" in str(error)
    recorder.answer(found("a"))
    with opened(use, hosts=recorder.url, index="shop", fields=["t"], max_bytes=10) as system:
        assert "more than 10 bytes" in str(failure(system))
    recorder.answer(found("x" * 10_000_000))
    keys = {"fields": ["t"], "max_bytes": 20_000_000}
    with opened(use, hosts=recorder.url, index="shop", **keys) as system:
        assert len(search(system).hits[0].doc_id) == 10_000_000


@BOTH
def test_warnings_of_the_engine_are_no_failures(use: str, recorder: Recorder) -> None:
    recorder.answer(found("a"), Warning='299 Elasticsearch-8.19.0 "[types] are deprecated"')
    with opened(use, hosts=recorder.url, index="shop", fields=["t"]) as system:
        assert len(search(system).hits) == 1


def test_a_server_that_is_not_elasticsearch_is_told(recorder: Recorder) -> None:
    recorder.answer(found("a"), X_Elastic_Product="")
    with opened("elasticsearch", hosts=recorder.url, index="shop", fields=["t"]) as system:
        assert 'for OpenSearch write use = "opensearch"' in str(failure(system))


@BOTH
def test_a_dead_server_may_be_tried_again(use: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with opened(use, hosts=url, index="shop", fields=["t"]) as system:
        error = failure(system)
        with pytest.raises(SystemFailedError, match="no connection") as caught:
            system.search_many([Query("q", "x")], 5)
    assert f"POST {url}/shop/_search: no connection (Connection refused)" in str(error)
    assert error.retry
    assert caught.value.retry


@pytest.fixture
def trickling() -> Iterator[str]:
    """A server that sends a byte every 50 ms, for ever."""
    end = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.end_headers()
            try:
                while not end.wait(0.05):
                    self.wfile.write(b" ")
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    end.set()
    server.shutdown()
    server.server_close()


@BOTH
def test_the_time_limit_is_that_of_the_whole_call(use: str, trickling: str) -> None:
    limits = {"timeout_s": 0.4}
    with opened(use, limits=limits, hosts=trickling, index="shop", fields=["t"]) as system:
        error = failure(system)  # without a limit on the whole this would never come back
    assert isinstance(error, SystemTimeoutError)
    assert not error.retry
    assert "did not answer within 0.4 s (timeout_s)" in str(error)


# TLS


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "own.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:search.example"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run(
        [*command, "-keyout", path, "-out", tmp_path / "cert.pem"], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return path


@BOTH
def test_a_certificate_is_checked_against_what_is_trusted(
    use: str, recorder: Recorder, certificate: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    recorder.server.socket = context.wrap_socket(recorder.server.socket, server_side=True)
    recorder.answer(found("a"))
    url = recorder.url.replace("http:", "https:")
    folder, keys = certificate.parent, {"hosts": url, "index": "shop", "fields": ["t"]}
    with opened(use, folder, **keys) as system:
        assert "TLS failed" in str(failure(system))
    with opened(use, folder, ca_file="cert.pem", **keys) as system:
        assert "TLS failed" in str(failure(system))  # it is another host's
    named = {"ca_file": "cert.pem", "server_name": "search.example"}
    with opened(use, folder, **named, **keys) as system:
        assert len(search(system).hits) == 1
    with opened(use, folder, verify=False, **keys) as system:
        assert len(search(system).hits) == 1
    with pytest.raises(InputError, match="no such file"), opened(use, folder, ca_file="x", **keys):
        pass
