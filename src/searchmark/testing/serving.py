"""The misbehaving server's own process: plans come in on standard input, records go out.

Standard library only. One JSON line in, one JSON line out; the end of the input ends the process,
so that it cannot outlive whoever started it.
"""

import base64
import json
import socket
import struct
import sys
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from searchmark.testing.dialects import Dialect, Request, find_dialect
from searchmark.testing.plan import Behaviour, Plan

HUGE = 12_000_000
STATUS = {
    Behaviour.TOO_MANY: 429,
    Behaviour.TOO_MANY_DATE: 429,
    Behaviour.ERROR_500: 500,
    Behaviour.UNAVAILABLE: 503,
    Behaviour.BAD_REQUEST: 400,
    Behaviour.FORBIDDEN: 403,
    Behaviour.NOT_FOUND: 404,
    Behaviour.FAILS: 422,
}
PAGE = "<!doctype html><title>Log in</title><p>Your session has ended. "


@dataclass
class State:
    """One plan while it is in force, with the requests that came under it."""

    plan: Plan
    dialect: Dialect
    patience_s: float
    requests: list[dict[str, Any]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    n_searches: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, request: Request, queries: list[str] | None) -> Plan:
        """Keep a request and return the plan for it."""
        body = base64.b64encode(request.body).decode()
        with self.lock:
            self.requests.append({**request._asdict(), "body": body})
            if queries is None:
                return self.plan.after()
            self.queries += queries
            self.n_searches += 1
            is_over = self.plan.times is not None and self.n_searches > self.plan.times
            return self.plan.after() if is_over else self.plan


class Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests, as the plan wants it."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def setup(self) -> None:
        """Note the connection, so that it can be closed from outside."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.n_connections += 1
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        """Forget the connection."""
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer any request."""
        state = self.server.state
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self._body())
        queries = state.dialect.queries(request)
        plan = state.note(request, queries)
        rows = [plan.rows(query) for query in queries or ()]
        if plan.behaviour in STATUS:
            rows = [[] for _ in rows]
        is_partial = plan.behaviour is Behaviour.PARTIAL
        document = state.dialect.answer(request, rows, is_partial)
        try:
            Reply(self, state, plan, request, document, queries).send()
        except OSError:
            self.close_connection = True  # whoever asked has gone: nothing to tell

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815 - http.server's names

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


@dataclass
class Reply:
    """One answer on its way out."""

    to: Handler
    state: State
    plan: Plan
    request: Request
    document: dict[str, Any]
    asked: list[str] | None

    def send(self) -> None:
        """Send what the plan wants sent."""
        behaviour = self.plan.behaviour
        special = getattr(self, f"_as_{behaviour.value}", None)
        if special is not None:
            special()
        elif behaviour in STATUS:
            self._status(STATUS[behaviour])
        else:
            self._whole(self._json())

    def _json(self) -> bytes:
        return json.dumps(self.document, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def _head(self, status: int, length: int | None, kind: str = "application/json") -> None:
        self.to.send_response(status)
        self.to.send_header("Content-Type", kind)
        for name, value in self.state.dialect.headers.items():
            self.to.send_header(name, value)
        if length is None:
            self.to.send_header("Transfer-Encoding", "chunked")
        else:
            self.to.send_header("Content-Length", str(length))

    def _whole(self, body: bytes, status: int = 200, kind: str = "application/json") -> None:
        self._head(status, len(body), kind)
        self.to.end_headers()
        if self.request.method != "HEAD":
            self.to.wfile.write(body)

    def _repeated(self) -> str:
        """Return what a careless engine says of a request: everything, secrets too, many times."""
        secret = self.request.headers.get("authorization", "none").split()[-1]
        return f"refused: {self.asked} {secret * 50} {self.request.path} {self.request.headers}"

    def _status(self, status: int) -> None:
        body = json.dumps({"error": self._repeated(), **self.document}).encode()
        self._head(status, len(body))
        if status == 429 and self.plan.after_s is not None:
            self.to.send_header("Retry-After", self._retry_after(self.plan.after_s))
        self.to.end_headers()
        self.to.wfile.write(body)

    def _retry_after(self, after_s: float) -> str:
        if self.plan.behaviour is Behaviour.TOO_MANY:
            return f"{after_s:g}"
        return format_datetime(datetime.now(UTC) + timedelta(seconds=after_s), usegmt=True)

    def _as_huge(self) -> None:
        self.document["filler"] = "x" * HUGE
        self._whole(self._json())

    def _as_cut_early(self) -> None:
        self.to.close_connection = True

    def _half(self) -> None:
        body = self._json()
        self._head(200, len(body))
        self.to.end_headers()
        self.to.wfile.write(body[: len(body) // 2])
        self.to.close_connection = True

    _as_cut_late = _half

    def _as_cut_chunks(self) -> None:
        half = self._json()[: len(self._json()) // 2]
        self._head(200, None)
        self.to.end_headers()
        self.to.wfile.write(b"%x\r\n%s\r\n" % (len(half), half))
        self.to.close_connection = True

    def _as_reset(self) -> None:
        self._half()
        linger = struct.pack("ii", 1, 0)  # closing sends a reset instead of an end
        self.to.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.to.connection.close()

    def _as_slow(self) -> None:
        self.state.over.wait(self.state.patience_s)
        self.to.close_connection = True

    def _as_stall(self) -> None:
        self._half()
        self._as_slow()

    def _as_trickle(self) -> None:
        n = int(self.state.patience_s / 0.05)
        self._head(200, n)
        self.to.end_headers()
        for _ in range(n):
            self.to.wfile.write(b" ")
            if self.state.over.wait(0.05):
                break
        self.to.close_connection = True

    def _as_broken_json(self) -> None:
        self._whole(b"{'hits': [a, b,, ]}")

    def _as_truncated_json(self) -> None:
        self._whole(self._json()[: len(self._json()) // 2])

    def _as_nothing(self) -> None:
        self._whole(b"")

    def _as_html(self) -> None:
        self._whole(f"{PAGE}{self._repeated()}".encode(), kind="text/html; charset=utf-8")

    def _as_wrong_shape(self) -> None:
        body = {"status": "starting", "error": {"type": "not_ready", "reason": self._repeated()}}
        self._whole(json.dumps(body).encode())

    def _as_wrong_type(self) -> None:
        self._whole(json.dumps(_flattened(self.document)).encode())


def _flattened(document: Any) -> Any:
    """Return the document with a text where each list was."""
    if isinstance(document, list):
        return "none"
    if isinstance(document, dict):
        return {key: _flattened(value) for key, value in document.items()}
    return document


class Server(ThreadingHTTPServer):
    """Listens on one port; `state` is what is in force."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, state: State) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.state = state
        self.connections: set[socket.socket] = set()
        self.n_connections = 0
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def handle_error(self, *_: object) -> None:
        """Say nothing of connections that broke: here they are meant to."""

    def refuse(self) -> None:
        """Stop to listen and close every connection."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                self.connections.discard(connection)


class Control:
    """Does what the lines on standard input say."""

    def __init__(self, dialect: Dialect, patience_s: float) -> None:
        self.state = State(Plan(Behaviour.ANSWERS), dialect, patience_s)
        self.server: Server | None = Server(0, self.state)
        self.port: int = self.server.server_address[1]

    def do(self, message: dict[str, Any]) -> dict[str, Any]:
        """Carry out one message and return the reply to it."""
        if message["do"] == "behave":
            self._behave(Plan(Behaviour(message.pop("behaviour")), **_plan_values(message)))
        n_connections = self.server.n_connections if self.server else 0
        with self.state.lock:
            return {
                "port": self.port,
                "n_connections": n_connections,
                "requests": self.state.requests if message["do"] == "requests" else [],
                "queries": self.state.queries,
            }

    def _behave(self, plan: Plan) -> None:
        before = self.state
        self.state = State(plan, before.dialect, before.patience_s)
        if plan.behaviour is Behaviour.REFUSED and self.server is not None:
            self.server.refuse()
            self.server = None
        elif plan.behaviour is not Behaviour.REFUSED and self.server is None:
            self.server = Server(self.port, self.state)
        if self.server is not None:
            self.server.state = self.state
        before.over.set()


def _plan_values(message: dict[str, Any]) -> dict[str, Any]:
    return {"ids": tuple(message["ids"]), "times": message["times"], "after_s": message["after_s"]}


def main() -> None:
    """Serve until standard input ends."""
    control = Control(find_dialect(sys.argv[1]), float(sys.argv[2]))
    message: dict[str, Any] = {"do": "start"}
    while True:
        sys.stdout.write(json.dumps(control.do(message)) + "\n")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            return
        message = json.loads(line)


if __name__ == "__main__":
    main()
