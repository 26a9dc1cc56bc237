"""The running server: a socket of our own, an end that takes no longer than it must."""

import contextlib
import ipaddress
import logging
import signal
import socket
from collections.abc import Generator

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from searchmark.errors import InputError, OutsideError
from searchmark.web.answers import as_json
from searchmark.web.front import App

LONGEST_HEAD = 262_144
"""So many bytes of a request's first lines are read; limits of addresses are checked after."""

GRACE_S = 1
"""How long answers that are under way may take when the service ends."""

DRAINED_S = 1.0
"""So long bytes of a request that was refused for its form are still taken."""

BACKLOG = 1024


def bind(host: str, port: int) -> socket.socket:
    """Return a bound socket; OutsideError where the port is taken, InputError for no address."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(
            f"there is no address of the name '{host}' here", fix="give one with --host"
        ) from None
    family, kind, number, _, address = found[0]
    bound = socket.socket(family, kind, number)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise OutsideError(
            f"the port {port} of {host} cannot be had: {error.strerror or error}; give another "
            "with --port, 0 for any that is free"
        ) from None
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the base of the service's addresses."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Tell whether only this machine can reach the socket."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def serve(app: App, bound: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        app,
        http=JsonProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=BACKLOG,
    )
    _Server(config).run([bound])


class JsonProtocol(H11Protocol):
    """HTTP/1.1 whose refusal of what is no HTTP is JSON, as all our errors are.

    After it what still comes is read and dropped for a moment: closed over unread bytes, the
    connection would be reset, and the answer lost with it.
    """

    _is_refused = False

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if not self._is_refused:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        body = as_json({"error": "this is no HTTP/1.1 request, or its first lines are too long"})
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        parts = (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        for part in parts:
            self.transport.write(self.conn.send(part) or b"")
        self._is_refused = True
        self.transport.write_eof()
        self.loop.call_later(DRAINED_S, self.transport.close)


class _Server(uvicorn.Server):
    """Ends by a signal as by a command: uvicorn would raise the signal again afterwards."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        ending = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in ending}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
