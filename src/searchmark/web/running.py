"""The running server: a socket of our own, an end that takes no longer than it must."""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import signal
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from searchmark.errors import InputError, OutsideError
from searchmark.web.front import App
from searchmark.web.protocol import JsonProtocol, close_closable
from searchmark.web.quiet import at_level

_log = logging.getLogger(__name__)

LONGEST_HEAD = 262_144
"""So many bytes of a request's first lines are read; limits of addresses are checked after."""

GRACE_S = 1
"""How long answers that are under way may take when the service ends."""

BACKLOG = 1024
"""So many connections may wait to be taken."""

TAKEN = 16
"""So many are taken at a time, or all files were gone before one of them could be closed."""

SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
TOLD_EVERY_S = 5.0


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
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError(
                f"'{host}' is no address of this machine", fix="give one with --host"
            ) from None
        raise OutsideError(
            f"the port {port} of {host} cannot be had: {error.strerror or error}; give another "
            f"with --port, {_which(error)}"
        ) from None
    return bound


def _which(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        return "1024 or above, which needs no privileges"
    return "0 for any that is free"


def address_of(bound: socket.socket) -> str:
    """Return the base of the service's addresses."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Tell whether only this machine can reach the socket."""
    return ipaddress.ip_address(bound.getsockname()[0].partition("%")[0]).is_loopback


def serve(app: App, bound: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    with at_level(logging.CRITICAL, "uvicorn.error"):
        server_of(app).run([bound])


def server_of(app: App) -> "Server":
    """Return the server of an application."""
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
        backlog=TAKEN,
    )
    return Server(config)


class Server(uvicorn.Server):
    """Ends by a signal as by a command: uvicorn would raise the signal again afterwards."""

    _told_at = float("-inf")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin; more may wait than uvicorn, which has one number for both, takes at a time."""
        asyncio.get_running_loop().set_exception_handler(self._tell)
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(BACKLOG)

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Close what waits where no file is left, and tell so now and then; asyncio tries again."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in SCARCE:
            loop.default_exception_handler(context)
            return
        close_closable(self.server_state.connections)
        if loop.time() - self._told_at > TOLD_EVERY_S:
            self._told_at = loop.time()
            _log.warning("no connection can be taken: %s; allow more open files", error.strerror)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End by SIGINT and SIGTERM, whose handlers are put back afterwards."""
        ending = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in ending}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
