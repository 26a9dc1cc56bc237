"""HTTP connections that end an exchange at its deadline, however slowly the other side talks.

The time limits of sockets start anew with every byte. Here each wait gets what is left of the
whole: from the connection's first step to the last byte of the body.
"""

import http.client
import io
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from searchmark.systems.http.connecting import connected
from searchmark.systems.http.proxy import Proxy


class _Reader(io.RawIOBase):
    """Reads a socket with what is left until the deadline as the limit of each wait."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self._sock, self._end = sock, end
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """A response that is read until the deadline and no longer."""

    def __init__(self, sock: socket.socket, *arguments: Any, end: float, **keys: Any) -> None:
        super().__init__(sock, *arguments, **keys)
        self.fp.close()
        self.fp = io.BufferedReader(_Reader(sock, end))


class _Plain(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _opened(self)

    def getresponse(self) -> Any:
        with _limited(self):
            return super().getresponse()


class _Secure(HTTPSConnection):
    def connect(self) -> None:
        with _limited(self):  # the answer of a proxy too, to which a tunnel is asked for
            super().connect()

    def _new_conn(self) -> socket.socket:
        return _opened(self)

    def getresponse(self) -> Any:
        with _limited(self):
            return super().getresponse()


def _opened(connection: HTTPConnection) -> socket.socket:
    """Connect, and leave what is left of the time to the TLS handshake."""
    limit, host = connection.timeout, connection.host
    end = None if limit is None else monotonic() + limit
    try:
        name = connection._dns_host  # with the dot at the end that the host's header is without
        sock = connected(name, connection.port, end, connection.socket_options or ())
    except socket.gaierror as error:
        raise NameResolutionError(host, connection, error) from error
    except TimeoutError as error:
        raise ConnectTimeoutError(connection, f"no connection to {host} in time") from error
    except OSError as error:
        raise NewConnectionError(connection, f"no connection: {error}") from error
    sys.audit("http.client.connect", connection, host, connection.port)
    if end is not None:
        sock.settimeout(max(end - monotonic(), 0.001))
    return sock


@contextmanager
def _limited(connection: HTTPConnection) -> Iterator[None]:
    """Make the response end when the time that is left for reading is over."""
    usual, left = connection.response_class, connection.timeout
    made: list[_Response] = []
    if left is not None:
        end = monotonic() + left

        def ending(*arguments: Any, **keys: Any) -> _Response:
            made.append(_Response(*arguments, end=end, **keys))
            return made[-1]

        connection.response_class = ending  # type: ignore[assignment]
    try:
        yield
    except BaseException:
        for response in made:  # one with a wrong header is in nobody's hands
            response.close()
        raise
    finally:
        connection.response_class = usual  # what comes later has its own time


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure

    def _validate_conn(self, conn: Any) -> None:
        """Connect; that nothing is verified is what the project file asks for, and no warning."""
        if conn.is_closed:
            conn.connect()


def open_manager(proxy: Proxy | None, connections: int, **tls: Any) -> PoolManager:
    """Return a manager that keeps `connections` open to a host, and retries nothing itself."""
    keys: dict[str, Any] = {"num_pools": 8, "maxsize": connections, "retries": False, **tls}
    if proxy is None:
        manager = PoolManager(**keys)
    else:
        manager = ProxyManager(proxy.address, proxy_headers=dict(proxy.headers), **keys)
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return manager
