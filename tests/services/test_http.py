"""The http kind against a real server process: sockets, time, size, pages, redirects, TLS."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from urllib.request import urlopen

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.project.entries import decode_systems
from searchmark.systems import SYSTEMS
from searchmark.systems.protocol import Answer, Context, Query, System
from searchmark.systems.secrets import Secrets

SERVER = Path(__file__).with_name("http_server.py")
CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
READ = {"ids": "hits[].id", "scores": "hits[].score"}
RED = Query("q1", "red")

Open = Callable[..., System]


class Server:
    """A server process and the requests that reached it since the last `forget`."""

    def __init__(self, port: int) -> None:
        self.port, self._seen = port, 0
        self.url = f"http://127.0.0.1:{port}"

    def received(self) -> list[dict[str, Any]]:
        with urlopen(f"{self.url}/log") as answer:
            log: list[dict[str, Any]] = json.load(answer)
        return log[self._seen :]

    def forget(self) -> None:
        self._seen += len(self.received())


@contextmanager
def started(*arguments: object) -> Iterator[int]:
    command = [sys.executable, str(SERVER), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with started() as port:
        yield Server(port)


@pytest.fixture
def server(running: Server) -> Server:
    running.forget()
    return running


@pytest.fixture
def opened(server: Server, tmp_path: Path) -> Iterator[Open]:
    """Open a system for a path of the server, or for a whole table."""
    with ExitStack() as stack:

        def open_one(path: str = "", *, env: dict[str, str] | None = None, **keys: Any) -> System:
            table = {"use": "http", "url": server.url + path, **READ, **keys}
            problems: list[Any] = []
            entry = decode_systems({"api": table}, problems)["api"]
            assert problems == []
            context = Context(
                CORPUS, tmp_path, tmp_path, lambda _: None, None, entry.calls, Secrets(env or {})
            )
            kind = SYSTEMS.load("http")
            system: System = stack.enter_context(kind.open("api", entry.config, context))
            return system

        yield open_one


def failure(system: System, query: Query = RED, k: int = 10) -> SystemFailedError:
    with pytest.raises(SystemFailedError) as caught:
        system.search(query, k)
    assert "\n" not in str(caught.value)
    return caught.value


def ids(answer: Answer) -> list[str]:
    return [hit.doc_id for hit in answer.hits]


# --- what arrives ---------------------------------------------------------------------------------

NASTY = [
    'say "yes" and \\ or \\u0041',
    "{query} {k} {{k}} } {",
    "two\nlines\r\n\tand a tab",
    "'; DROP TABLE docs; -- /* */",
    "$HOME ${PATH} $(id) `id`",
    "-rf --help",
    "a&b=c;d#e?f+g %20 %zz 100%",
    "Größe 東京 \U0001f9ea e\u0301 \u200f",
    " blanks around ",
    "nul\0nul",
    "../..",
    "x" * 5000,
]


@pytest.mark.parametrize("text", NASTY)
def test_a_query_arrives_byte_for_byte(server: Server, opened: Open, text: str) -> None:
    query = Query("id/1", text)
    body = {"q": "{query}", "both": "<{query}|{k}>", "k": "{k}", "deep": [{"q": "{query}"}]}
    form = {"q": "{query}", "k": "{k}", "all": ["{query}", "x"]}
    opened("/ok/{query}?q={query}", params={"p": "{query}", "n": ["{k}", True]}).search(query, 3)
    opened("/ok", body=body).search(query, 3)
    opened("/ok", form=form).search(query, 3)
    opened("/ok", text="<{query}>").search(query, 3)
    addressed, posted, filled, raw = server.received()
    parts = urlsplit(addressed["path"])
    assert unquote(parts.path.removeprefix("/ok/")) == text
    assert parse_qs(parts.query, keep_blank_values=True) == {
        "q": [text],
        "p": [text],
        "n": ["3", "true"],
    }
    assert json.loads(posted["body"]) == {
        "q": text,
        "both": f"<{text}|3>",
        "k": 3,
        "deep": [{"q": text}],
    }
    assert posted["method"] == "POST"
    assert posted["headers"]["content-type"] == "application/json"
    assert parse_qs(filled["body"], keep_blank_values=True, strict_parsing=True) == {
        "q": [text],
        "k": ["3"],
        "all": [text, "x"],
    }
    assert raw["body"] == f"<{text}>"


def test_half_a_surrogate_pair_is_a_failure_that_is_sent_nowhere(
    server: Server, opened: Open
) -> None:
    query = Query("q", "a\ud800")
    for keys in ({"params": {"q": "{query}"}}, {"body": {"q": "{query}"}}, {"text": "{query}"}):
        error = failure(opened("/ok", **keys), query)
        assert "half a surrogate pair" in str(error)
        assert not error.retry
    assert server.received() == []


def test_a_body_from_a_file_and_headers(server: Server, opened: Open, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"q": "{query}", "user": "${USER_NAME}", "n": 1.5}')
    system = opened(
        "/ok",
        body_file="body.json",
        headers={"X-Query-Id": "{query_id}", "user-agent": "mine", "X-A": "${KEY}"},
        env={"USER_NAME": "u{k}", "KEY": "k-1234567"},
    )
    system.search(RED, 5)
    (seen,) = server.received()
    assert json.loads(seen["body"]) == {"q": "red", "user": "u{k}", "n": 1.5}
    assert seen["headers"]["x-query-id"] == "q1"
    assert seen["headers"]["x-a"] == "k-1234567"
    assert seen["headers"]["user-agent"] == "mine"
    assert set(system.identity) == {"body"}
    other = failure(system, Query("two\nlines", "red"))
    assert "header X-Query-Id cannot hold" in str(other)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no JSON"),
        ('{"a": ["{nope}"]}', r"a\[0\]: unknown placeholder \{nope\}"),
        ('{"a": 1}', r"holds \{query\}"),
    ],
)
def test_a_body_file_that_is_wrong(opened: Open, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "body.json").write_text(text)
    with pytest.raises(InputError, match=rf"body\.json: .*{told}"):
        opened("/ok", body_file="body.json")
    with pytest.raises(InputError, match=r"none\.json: body_file: cannot be read"):
        opened("/ok", body_file="none.json")


def test_headers_that_are_sent(server: Server, opened: Open) -> None:
    env = {"TOKEN": "tok-123456", "USERNAME": "me", "PASS": "pa:ss\u00e9"}
    opened("/ok?q={query}", bearer="${TOKEN}", env=env).search(RED, 1)
    opened("/ok?q={query}", basic="${USERNAME}:${PASS}", env=env).search(RED, 1)
    opened("/ok?q={query}", api_key="${TOKEN}", api_key_header="X-Key", env=env).search(RED, 1)
    bearer, basic, key = (seen["headers"] for seen in server.received())
    assert bearer["authorization"] == "Bearer tok-123456"
    # the bytes 6d653a 70613a 7373c3 a9 in base64
    assert basic["authorization"] == "Basic bWU6cGE6c3PDqQ=="
    assert key["x-key"] == "tok-123456"
    assert bearer["user-agent"].startswith("searchmark/")
    assert bearer["accept"] == "application/json"
    assert bearer["accept-encoding"] == "gzip"
    with pytest.raises(InputError, match="needs the environment variable TOKEN"):
        opened("/ok?q={query}", bearer="${TOKEN}")
    with pytest.raises(InputError, match="no header can hold") as caught:
        opened("/ok?q={query}", bearer="${TOKEN}", env={"TOKEN": "tok-12\n3456"})
    assert "3456" not in str(caught.value)


# --- what comes back ------------------------------------------------------------------------------


def test_an_answer_in_the_order_of_the_engine(opened: Open) -> None:
    answer = opened("/ok?q={query}", total="total", tokens=7).search(RED, 2)
    assert [(h.doc_id, h.score, h.tokens) for h in answer.hits] == [("b", 9.5, 7), ("a", 8.5, 7)]
    assert answer.total == 3
    assert answer.size == 103  # the length of the JSON text
    assert ids(opened("/numbers?q={query}").search(RED, 9)) == ["12", "12"]


@pytest.mark.parametrize("path", ["chunked", "gzip", "gzip-twice", "closing"])
def test_ways_to_send_an_answer(opened: Open, path: str) -> None:
    system = opened(f"/{path}?q={{query}}")
    for _ in range(3):
        answer = system.search(RED, 9)
        assert ids(answer) == ["b", "a", "c"]
        assert answer.size == 103


def test_json_lines(opened: Open) -> None:
    system = opened("/lines?q={query}", format="jsonl", ids="[].id", scores="[].score")
    answer = system.search(RED, 9)
    assert ids(answer) == ["b", "a"]
    assert answer.size == 26  # 12 + 1 + 13 bytes
    empty = opened("/raw?body=%0A&q={query}", format="jsonl", ids="[].id", scores="[].score")
    assert empty.search(RED, 9).hits == ()
    broken = opened(
        "/raw?body=%7B%7D%0A%7B&q={query}", format="jsonl", ids="[].id", scores="[].score"
    )
    assert "is no JSON" in str(failure(broken))


@pytest.mark.parametrize(
    ("path", "told", "retry"),
    [
        ("/html?", "200 OK with a web page titled 'Please log in', not with JSON", False),
        ("/nothing?", "answered 200 OK with an empty body", False),
        ("/raw?body=[1&", "answered 200 OK with what is no JSON", False),
        ("/raw?body={}&", "nothing at ids = 'hits[].id'; it is {}; it begins with {}", False),
        ("/raw?body={%22error%22:%22closed%22}&", 'it holds error; it begins with {"error"', False),
        ("/raw?body=" + "[" * 3000 + "&", "is no JSON (it nests too deeply)", False),
        ("/cut?", "the connection was cut before the answer was complete", True),
        ("/cut-chunks?", "the connection was cut before the answer was complete", True),
        ("/slam?", "the connection was cut before the answer was complete", True),
        ("/gzip-cut?", "answered with gzip that breaks off", False),
        ("/gzip-wrong?", "answered with damaged gzip", False),
        ("/brotli?", "in the encoding 'br', which was not asked for", False),
        ("/big?bytes=10000000&", "more than 10,000,000 bytes (max_bytes)", False),
        ("/big-chunks?", "more than 10,000,000 bytes (max_bytes)", False),
        ("/bomb?", "more than 10,000,000 bytes (max_bytes)", False),
        ("/status?status=400&said=parse+error&", '400 Bad Request: {"error": "parse er', False),
        ("/status?status=401&", "answered 401 Unauthorized", False),
        ("/status?status=404&", "answered 404 Not Found", False),
        ("/status?status=204&", "answered 204 No Content with nothing; if that means", False),
        ("/status?status=304&", "answered 304 Not Modified", False),
        ("/status?status=408&", "answered 408 Request Timeout", True),
        ("/status?status=425&", "answered 425 Too Early", True),
        ("/status?status=429&", "answered 429 Too Many Requests", True),
        ("/status?status=500&", "answered 500 Internal Server Error", True),
        ("/status?status=501&", "answered 501 Not Implemented", False),
        ("/status?status=502&", "answered 502 Bad Gateway", True),
        ("/status?status=503&", "answered 503 Service Unavailable", True),
        ("/status?status=504&", "answered 504 Gateway Timeout", True),
        ("/status?status=599&", "answered 599", False),
    ],
)
def test_what_is_no_answer(server: Server, opened: Open, path: str, told: str, retry: bool) -> None:
    path = path.replace("[", "%5B").replace("{", "%7B").replace("}", "%7D")
    system = opened(path + "q={query}")
    error = failure(system)
    assert told in str(error)
    name = path.split("?")[0]
    assert str(error).startswith(f"GET {server.url}{name}")
    assert error.retry is retry
    assert not isinstance(error, SystemTimeoutError)
    assert "q=" not in str(error)  # neither the query nor what else stands behind the path
    with pytest.raises(SystemFailedError):
        system.search(RED, 3)  # what was left of the first answer is not taken for the second


def test_a_longer_answer_can_be_allowed(opened: Open) -> None:
    assert ids(opened("/big?bytes=100&q={query}", max_bytes=170).search(RED, 9)) == ["a"]
    long = opened("/big?bytes=10000000&q={query}", max_bytes=11_000_000)
    assert ids(long.search(RED, 9)) == ["a"]


def test_statuses_that_mean_nothing_was_found(opened: Open) -> None:
    keys = {"empty_status": [404, 204]}
    for status in (404, 204):
        system = opened(f"/status?status={status}&q={{query}}", **keys)
        assert system.search(RED, 5).hits == ()
    failure(opened("/status?status=400&q={query}", **keys))


def test_a_status_of_what_is_not_the_whole_answer(opened: Open) -> None:
    for status in (200, 201, 203):
        answer = opened(f"/ok?status={status}&q={{query}}").search(RED, 5)
        assert (len(answer.hits), answer.partial) == (3, False)
    for status in (206, 207):
        answer = opened(f"/ok?status={status}&q={{query}}").search(RED, 5)
        assert (len(answer.hits), answer.partial) == (3, True)
    error = failure(opened("/ok?status=202&q={query}"))
    assert str(error).endswith("answered 202 Accepted: the answer is not there yet")
    assert not error.retry


def test_several_lists_are_no_empty_answer(opened: Open) -> None:
    told = "of 2 elements 2 are lists, where one list of results is expected"
    assert told in str(failure(opened("/lists?q={query}", scores=None)))
    joined = opened("/lists?q={query}", ids="hits[*][].id", scores=None)
    assert joined.search(RED, 5).hits == ()


@pytest.mark.parametrize(
    ("after", "seconds"), [("2", 2.0), ("1.5", 1.5), ("soon", None), ("-1", None)]
)
def test_retry_after(opened: Open, after: str, seconds: float | None) -> None:
    error = failure(opened(f"/status?status=429&after={after}&q={{query}}"))
    assert error.after_s == seconds
    date = failure(
        opened("/status?status=503&q={query}&after=Fri,%2031%20Dec%202100%2023:59:59%20GMT")
    )
    assert date.after_s is not None
    assert date.after_s > 1e9


def test_a_server_that_is_not_there(opened: Open) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = failure(opened(url=f"http://127.0.0.1:{port}/x?q={{query}}"))
    assert f"GET http://127.0.0.1:{port}/x: no connection (Connection refused)" in str(error)
    assert error.retry
    unknown = failure(opened(url="http://no-such-host.invalid/?q={query}"))
    assert "the host's name cannot be resolved" in str(unknown)


def test_secrets_that_a_server_repeats_are_not_told(opened: Open) -> None:
    env = {"TOKEN": "s3cr3t-Zz9-and-more"}
    error = failure(opened("/secret?q={query}", bearer="${TOKEN}", env=env))
    assert "answered 403 Forbidden" in str(error)
    assert "s3cr3t" not in str(error)


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["stall", "trickle", "trickle-head"])
def test_the_time_limit_is_that_of_the_whole_attempt(opened: Open, path: str) -> None:
    system = opened(f"/{path}?q={{query}}", timeout_s=0.4)
    start = monotonic()
    error = failure(system)
    assert isinstance(error, SystemTimeoutError)
    assert not error.retry
    assert "did not answer within 0.4 s (timeout_s)" in str(error)
    assert monotonic() - start < 5  # the server goes on for 20 to 50 s


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_time_limit_holds_before_there_is_a_connection(opened: Open, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as busy:
        port = busy.getsockname()[1]
        with ExitStack() as stack:
            if scheme == "http":  # nobody takes these, so that a third one waits at the door
                for _ in range(3):
                    waiting = stack.enter_context(socket.socket())
                    waiting.setblocking(False)
                    waiting.connect_ex(("127.0.0.1", port))
            system = opened(url=f"{scheme}://127.0.0.1:{port}/?q={{query}}", timeout_s=0.4)
            start = monotonic()
            assert isinstance(failure(system), SystemTimeoutError)
            assert monotonic() - start < 5


def test_the_time_limit_is_that_of_all_pages_together(server: Server, opened: Open) -> None:
    pages = "/{query}?limit={k}&offset={offset}"
    slow = opened(pages, page_size=1, max_pages=200, timeout_s=0.8)
    error = failure(slow, Query("q", "late-pages"), k=200)
    assert isinstance(error, SystemTimeoutError)
    assert 1 < len(server.received()) < 10  # a page takes 0.2 s, all of them 40 s


# --- connections ----------------------------------------------------------------------------------


def test_connections_are_used_again(server: Server, opened: Open) -> None:
    system = opened("/ok?q={query}")
    for _ in range(5):
        system.search(RED, 3)
    assert len({seen["connection"] for seen in server.received()}) == 1


def test_each_thread_of_the_pool_keeps_its_connection(server: Server, opened: Open) -> None:
    system = opened("/ok?q={query}", concurrency=4)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: system.search(Query(str(i), "red"), 3), range(60)))
    assert all(ids(answer) == ["b", "a", "c"] for answer in answers)
    received = server.received()
    assert len(received) == 60
    assert len({seen["connection"] for seen in received}) <= 4


def test_a_connection_that_failed_is_not_used_again(server: Server, opened: Open) -> None:
    system = opened("/{query}?x=1", timeout_s=5)
    assert ids(system.search(Query("1", "ok"), 3)) == ["b", "a", "c"]
    for path in ("big-chunks", "cut", "slam", "bomb"):
        failure(system, Query("2", path))
        assert ids(system.search(Query("3", "ok"), 3)) == ["b", "a", "c"]


# --- pages ----------------------------------------------------------------------------------------

PAGED = {
    "offset": {"url": "/pages?q={query}&limit={k}&offset={offset}"},
    "page": {"url": "/pages?q={query}&limit={k}&page={page}"},
    "cursor": {"url": "/pages?q={query}&limit={k}&cursor={cursor}", "cursor": "next"},
}


@pytest.mark.parametrize("kind", PAGED)
@pytest.mark.parametrize(
    ("k", "found", "requests"),
    # of 45 documents in pages of 20; the end is seen on an empty page, or by the cursor
    [(10, 10, 1), (20, 20, 1), (21, 21, 2), (45, 45, 3), (60, 45, {"cursor": 3})],
)
def test_pages(server: Server, opened: Open, kind: str, k: int, found: int, requests: Any) -> None:
    keys = {**PAGED[kind], "scores": None, "page_size": 20}
    url = server.url + keys.pop("url")
    keys.pop("scores")
    system = opened(url=url, **keys, tokens=1)
    answer = system.search(RED, k)
    assert ids(answer) == [f"d{i}" for i in range(found)]
    expected = requests.get(kind, 4) if isinstance(requests, dict) else requests
    assert len(server.received()) == expected


def test_pages_that_fail_or_do_not_end(opened: Open) -> None:
    url = "/pages?q={query}&limit={k}&offset={offset}"
    error = failure(opened(url + "&fail_at=20", page_size=20), k=40)
    assert "503" in str(error)
    assert error.retry
    few = opened(url, page_size=5, max_pages=3)
    assert "gave 15 of 40 results on 3 pages" in str(failure(few, k=40))
    same = failure(opened("/pages?q={query}&limit={k}&o={offset}", page_size=20), k=40)
    assert "page 2 is page 1 again" in str(same)


# --- redirects ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Server]:
    with started() as port:
        yield Server(port)


def test_redirects_on_the_same_host_are_followed(server: Server, opened: Open) -> None:
    env = {"TOKEN": "tok-123456"}
    got = opened("/redirect?to=/ok?from=1&q={query}", bearer="${TOKEN}", env=env).search(RED, 3)
    assert ids(got) == ["b", "a", "c"]
    for status in ("307", "308"):
        url = f"/redirect?to=/ok&status={status}"
        assert ids(opened(url, body={"q": "{query}"}).search(RED, 3)) == ["b", "a", "c"]
    seen = [s for s in server.received() if s["path"].startswith("/ok")]
    assert [s["method"] for s in seen] == ["GET", "POST", "POST"]
    assert seen[0]["headers"]["authorization"] == "Bearer tok-123456"
    assert seen[1]["body"] == seen[2]["body"] == '{"q":"red"}'


def test_redirects_that_are_not_followed(server: Server, opened: Open) -> None:
    assert "redirects more than 5 times" in str(failure(opened("/loop?q={query}")))
    moved = failure(opened("/redirect?to=/ok", body={"q": "{query}"}))
    assert "which may lose the body" in str(moved)
    none = failure(opened("/redirect?to=/ok&q={query}", redirects="none"))
    assert "answered 302 Found: to '/ok', not followed" in str(none)
    odd = failure(opened("/redirect?to=file:///etc/passwd&q={query}", redirects="any"))
    assert "which is no address" in str(odd)
    for target in ("http://[", "http://h:99999/", "http://%5B::1/", "http://a%20b/", "%2F%2F["):
        odd = failure(opened(f"/redirect?to={target}&q={{query}}", redirects="any"))
        assert "which is no address" in str(odd)
    seen = opened("/redirect?to=/ok&status=303", body={"q": "{query}"}).search(RED, 3)
    assert ids(seen) == ["b", "a", "c"]


def test_another_host_gets_nothing_secret(server: Server, elsewhere: Server, opened: Open) -> None:
    env = {"TOKEN": "tok-123456"}
    url = f"/redirect?to={elsewhere.url}/ok&q={{query}}"
    keys: dict[str, Any] = {
        "bearer": "${TOKEN}",
        "headers": {"X-Mine": "${TOKEN}", "X-Plain": "yes"},
        "env": env,
    }
    error = failure(opened(url, **keys))
    assert "another host, which is not followed" in str(error)
    assert not error.retry
    assert elsewhere.received() == []
    assert ids(opened(url, redirects="any", **keys).search(RED, 3)) == ["b", "a", "c"]
    (seen,) = elsewhere.received()
    assert seen["headers"]["x-plain"] == "yes"
    assert "tok-123456" not in json.dumps(seen)
    body = {"q": "{query}", "key": "${TOKEN}"}
    posted = opened(f"{url}&status=307", redirects="any", body=body, env=env)
    assert "another host, which is not followed" in str(failure(posted))


# --- proxy ----------------------------------------------------------------------------------------


def test_a_proxy_is_used_only_where_it_is_set(
    server: Server, elsewhere: Server, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, elsewhere.url)
    elsewhere.forget()
    opened("/ok?q={query}").search(RED, 3)
    assert elsewhere.received() == []
    monkeypatch.undo()
    opened("/ok?q={query}", proxy=elsewhere.url)
    system = opened("/ok?q={query}", proxy="http://127.0.0.1:9")
    assert "proxy" in str(failure(system))


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an authority, a certificate of localhost and one of a client."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    constraints = ["-addext", "basicConstraints=critical,CA:TRUE"]
    openssl(
        "req",
        "-x509",
        *key,
        *constraints,
        "-subj",
        "/CN=Test CA",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    )
    for name, names in (("server", "DNS:search.test"), ("client", "DNS:client")):
        openssl(
            "req", *key[:3], "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"
        )
        (folder / f"{name}.cnf").write_text(f"subjectAltName={names}\n")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            *signing,
            "-extfile",
            f"{name}.cnf",
            "-out",
            f"{name}.pem",
        )
    return folder


@pytest.fixture(scope="module")
def secure(certificates: Path) -> Iterator[str]:
    with started(certificates / "server.pem", certificates / "server.key") as port:
        yield f"https://127.0.0.1:{port}/ok?q={{query}}"


def test_tls(secure: str, opened: Open, certificates: Path) -> None:
    ca = str(certificates / "ca.pem")
    unknown = failure(opened(url=secure))
    assert "TLS failed" in str(unknown)
    assert "certificate" in str(unknown)
    assert not unknown.retry
    other_name = failure(opened(url=secure, ca_file=ca))
    assert "TLS failed" in str(other_name)
    named = opened(url=secure, ca_file=ca, server_name="search.test")
    assert ids(named.search(RED, 3)) == ["b", "a", "c"]
    assert "TLS failed" in str(failure(opened(url=secure, ca_file=ca, server_name="other.test")))
    trusting = opened(url=secure, verify=False)
    assert ids(trusting.search(RED, 3)) == ["b", "a", "c"]
    with pytest.raises(InputError, match=r"none\.pem: ca_file: there is no such file"):
        opened(url=secure, ca_file="none.pem")
    with pytest.raises(InputError, match=r"ca\.key: ca_file: holds no certificate"):
        opened(url=secure, ca_file=str(certificates / "ca.key"))


def test_the_time_limit_holds_over_tls(secure: str, opened: Open, certificates: Path) -> None:
    url = secure.replace("/ok?", "/trickle?")
    system = opened(url=url, verify=False, timeout_s=0.5)
    start = monotonic()
    assert isinstance(failure(system), SystemTimeoutError)
    assert monotonic() - start < 5


def test_client_certificates(opened: Open, certificates: Path) -> None:
    trust = {"ca_file": str(certificates / "ca.pem"), "server_name": "search.test"}
    shown = {
        "client_cert": str(certificates / "client.pem"),
        "client_key": str(certificates / "client.key"),
    }
    server = (certificates / f"server.{end}" for end in ("pem", "key"))
    with started(*server, certificates / "ca.pem") as port:
        url = f"https://127.0.0.1:{port}/ok?q={{query}}"
        assert ids(opened(url=url, **trust, **shown).search(RED, 3)) == ["b", "a", "c"]
        failure(opened(url=url, **trust))
