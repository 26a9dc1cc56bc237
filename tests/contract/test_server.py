"""The server that misbehaves does what a behaviour says, byte by byte, and is surely ended."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from time import monotonic, sleep

import pytest

from searchmark.testing import Behaviour, MisbehavingServer, Noticeboard, Plan, echo_ids
from searchmark.testing.dialects import DIALECTS
from searchmark.testing.serving import STATUS

GET = b"GET /search?q=red%20shoes&k=2 HTTP/1.1\r\nHost: x\r\nX-Odd: 1\r\n\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("json", patience_s=20.0) as server:
        yield server


def connect(server: MisbehavingServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def exchange(server: MisbehavingServer, request: bytes = GET) -> bytes:
    """Send a request and read until the other side ends the connection."""
    with connect(server) as connection:
        connection.sendall(request.replace(b"X-Odd: 1", b"X-Odd: 1\r\nConnection: close"))
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def one_answer(connection: socket.socket) -> str:
    """Send a request over a connection that is kept, and return the head of the whole answer."""
    connection.sendall(GET)
    raw = b""
    while b"\r\n\r\n" not in raw or len(head_and_body(raw)[1]) < length(head_and_body(raw)[0]):
        part = connection.recv(65536)
        assert part, "the connection was ended within an answer"
        raw += part
    return head_and_body(raw)[0]


def head_and_body(raw: bytes) -> tuple[str, bytes]:
    head, _, body = raw.partition(b"\r\n\r\n")
    return head.decode("latin-1"), body


def length(head: str) -> int:
    return int(head.lower().partition("content-length: ")[2].split("\r\n")[0])


def test_an_answer_has_the_ids_of_the_plan_in_order(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.ANSWERS, ("b", "a")))
    head, body = head_and_body(exchange(server))
    assert head.startswith("HTTP/1.1 200 ")
    hits = [{"id": "b", "score": 2.0}, {"id": "a", "score": 1.0}]
    assert json.loads(body) == {"hits": hits, "total": 2, "partial": False}
    assert length(head) == len(body)


def test_what_came_is_recorded(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.ANSWERS))
    exchange(server)
    body = '{"q": "caf\u00e9"}'.encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = b"POST /search HTTP/1.1\r\nHost: x\r\nX-Odd: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    exchange(server, head + chunked)
    first, second = server.requests()
    assert (first.method, first.path) == ("GET", "/search?q=red%20shoes&k=2")
    assert first.headers["x-odd"] == "1"
    assert (second.method, second.body) == ("POST", body)
    assert server.queries() == ["red shoes", "caf\u00e9"]
    server.behave(Plan(Behaviour.EMPTY))
    assert server.requests() == []


def test_a_connection_is_kept_for_the_next_request(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.EMPTY))
    before = server.n_connections()
    with connect(server) as connection:
        for _ in range(3):
            assert one_answer(connection).startswith("HTTP/1.1 200 ")
    assert server.n_connections() == before + 1


@pytest.mark.parametrize("behaviour", sorted(STATUS))
def test_a_status_comes_over_a_valid_answer_without_results(
    server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.behave(Plan(behaviour, ("a", "b")))
    head, body = head_and_body(exchange(server))
    assert head.startswith(f"HTTP/1.1 {STATUS[behaviour]} ")
    document = json.loads(body)
    assert document["hits"] == []
    assert "red shoes" in document["error"]


def test_retry_after_is_seconds_or_a_date_or_none(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.TOO_MANY, after_s=7.0))
    assert "\r\nRetry-After: 7\r\n" in head_and_body(exchange(server))[0] + "\r\n"
    server.behave(Plan(Behaviour.TOO_MANY, after_s=None))
    assert "Retry-After" not in head_and_body(exchange(server))[0]
    server.behave(Plan(Behaviour.TOO_MANY_DATE, after_s=600.0))
    head = head_and_body(exchange(server))[0]
    values = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    asked = parsedate_to_datetime(values["Retry-After"]) - parsedate_to_datetime(values["Date"])
    assert 599 <= asked.total_seconds() <= 601


def test_connections_end_where_the_plan_says(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.CUT_EARLY))
    assert exchange(server) == b""
    server.behave(Plan(Behaviour.CUT_LATE))
    head, body = head_and_body(exchange(server))
    assert 0 < len(body) < length(head)
    server.behave(Plan(Behaviour.CUT_CHUNKS))
    head, body = head_and_body(exchange(server))
    assert "Transfer-Encoding: chunked" in head
    assert body and not body.endswith(b"0\r\n\r\n")
    server.behave(Plan(Behaviour.RESET))
    with pytest.raises(ConnectionResetError):
        exchange(server)


def test_nobody_listens_and_then_somebody_does(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.ANSWERS))
    with connect(server) as kept:
        assert one_answer(kept).startswith("HTTP/1.1 200 ")
        server.behave(Plan(Behaviour.REFUSED))
        assert kept.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        connect(server)
    server.behave(Plan(Behaviour.ANSWERS))
    assert exchange(server).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("behaviour", "starts"),
    [(Behaviour.SLOW, b""), (Behaviour.STALL, b"HTTP/1.1 200 "), (Behaviour.TRICKLE, b"HTTP/1.1 ")],
)
def test_a_slow_answer_goes_on_until_the_next_plan(
    server: MisbehavingServer, behaviour: Behaviour, starts: bytes
) -> None:
    server.behave(Plan(behaviour))
    with connect(server) as connection:
        connection.sendall(GET)
        end = monotonic() + 15  # below the 20 s after which the server itself gives up
        connection.settimeout(0.3)
        got = b""
        with pytest.raises(TimeoutError):
            while len(got) < 200 or behaviour is not Behaviour.TRICKLE:
                part = connection.recv(1)
                assert part, "the connection was ended, and should have stayed"
                got += part
            raise TimeoutError  # what trickles never waits for so long
        assert got.startswith(starts) and bool(got) == bool(starts)
        server.behave(Plan(Behaviour.ANSWERS))
        connection.settimeout(10)
        while connection.recv(65536):
            assert monotonic() < end
    assert monotonic() < end


@pytest.mark.parametrize(
    "behaviour",
    [Behaviour.BROKEN_JSON, Behaviour.TRUNCATED_JSON, Behaviour.NOTHING, Behaviour.HTML],
)
def test_what_is_no_json_comes_whole_and_with_status_200(
    server: MisbehavingServer, behaviour: Behaviour
) -> None:
    server.behave(Plan(behaviour))
    head, body = head_and_body(exchange(server))
    assert head.startswith("HTTP/1.1 200 ")
    assert length(head) == len(body)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|enclosed"):
        json.loads(body)


def test_a_behaviour_may_last_for_some_searches(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.UNAVAILABLE, times=2))
    found = [exchange(server).split(b" ")[1] for _ in range(4)]
    assert found == [b"503", b"503", b"200", b"200"]


def test_an_echo_belongs_to_its_query(server: MisbehavingServer) -> None:
    server.behave(Plan(Behaviour.ECHO))
    hits = json.loads(head_and_body(exchange(server))[1])["hits"]
    assert [hit["id"] for hit in hits] == list(echo_ids("red shoes"))
    assert echo_ids("red shoes") != echo_ids("red shoe")


def test_a_dialect_may_come_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_dialect.py").write_text(
        "class Own:\n"
        "    headers = {'X-Own': 'yes'}\n"
        "    def queries(self, request): return [request.path.strip('/')]\n"
        "    def answer(self, request, rows, partial): return {'found': [r.id for r in rows[0]]}\n"
        "OWN = Own()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with MisbehavingServer("own_dialect:OWN") as server:
        server.behave(Plan(Behaviour.ANSWERS, ("x",)))
        head, body = head_and_body(exchange(server, GET.replace(b"/search?q=red%20", b"/")))
        assert "X-Own: yes" in head
        assert json.loads(body) == {"found": ["x"]}
        assert server.queries() == ["shoes&k=2"]


def test_every_dialect_has_its_rows(server: MisbehavingServer) -> None:
    from searchmark.testing import Request

    rows = [Plan(Behaviour.ANSWERS, ("a", "b")).rows("red")]
    asked = {
        "opensearch": ("/i/_search", {"query": {"match": {"t": {"query": "red"}}}}),
        "embeddings": ("/v1/embeddings", {"input": ["red"]}),
        "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "red"}]}),
        "rerank": ("/rerank", {"query": "red", "documents": ["x", "y"]}),
        "json": ("/search", {"q": "red"}),
    }
    assert set(asked) == set(DIALECTS)
    for name, (path, body) in asked.items():
        request = Request("POST", path, {}, json.dumps(body).encode())
        assert DIALECTS[name].queries(request) == ["red"], name
        assert json.dumps(DIALECTS[name].answer(request, rows, False)), name


def test_the_process_ends_with_whoever_started_it(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "from searchmark.testing import MisbehavingServer\n"
        "server = MisbehavingServer().__enter__()\n"
        "print(server.port, flush=True)\n"
        "os._exit(1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    port, end = int(done.stdout), monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            break
        assert monotonic() < end, "the server outlives the process that started it"
        sleep(0.05)


def test_a_server_that_is_not_running_says_so() -> None:
    server = MisbehavingServer()
    with pytest.raises(RuntimeError, match="use it in a 'with' statement"):
        server.behave(Plan(Behaviour.ANSWERS))
    with MisbehavingServer() as server:
        pass
    with pytest.raises(RuntimeError, match="use it in a 'with' statement"):
        server.queries()


def test_a_noticeboard_gives_the_plan_to_the_engine(tmp_path: Path) -> None:
    board, engine = Noticeboard(tmp_path), Noticeboard(tmp_path)
    plan = Plan(Behaviour.FAILS, ("a",), times=1, after_s=None)
    board.behave(plan)
    assert engine.follow("half \ud83d") == plan
    assert engine.follow("two\nlines") == plan.after()
    assert board.received() == ["half \ud83d", "two\nlines"]
    board.behave(plan)
    assert board.received() == []
