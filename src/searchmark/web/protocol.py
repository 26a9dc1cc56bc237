"""HTTP/1.1 as the service speaks it: errors are JSON, and nobody may keep a connection waiting.

A request is whole within a time or answered 408. Of the connections that hold no request the
longest idle one is closed where more are open than the process can bear, so that a new client gets
its answer.
"""

import asyncio
import http
from collections.abc import Iterable
from functools import cache
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from searchmark.web.answers import as_json

REQUEST_S = 10.0
"""So long a request may take to come, head and body, from its first byte or the connection's."""

READ_S = 30.0
"""So long a client may take to read what has been written to it."""

DRAINED_S = 1.0
"""So long bytes of a request that was refused for its form are still taken."""

MOST = 2000
"""Most connections that are open."""

RESERVED, LEAST = 128, 16
"""Files that the process needs for other things, and connections that it has in any case."""

NO_HTTP = "this is no HTTP/1.1 request, or its first lines are too long"


@cache
def most_open() -> int:
    """Return how many connections may be open, as many as the system's limit of files allows."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return MOST
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return MOST
    return max(LEAST, min(MOST, files - RESERVED))


def close_closable(connections: Iterable[object]) -> None:
    """Close all connections that hold no whole request."""
    for connection in list(connections):
        if isinstance(connection, JsonProtocol) and connection.is_closable:
            connection.transport.abort()


class JsonProtocol(H11Protocol):
    """One connection.

    After a refusal of what is no HTTP, what still comes is read and dropped for a moment: closed
    over unread bytes, the connection would be reset, and the answer lost with it.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._is_refused = self._is_half_closed = False
        self._coming: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, and make room where there is none."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # a client is waited for from the first byte
        self.idle_since = self.loop.time()
        self._watch()
        if len(self.connections) > most_open():
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection's time limits."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        for timer in (self._coming, self._unread):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if not self._is_refused:
            super().data_received(data)
            self._watch()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Go on writing to a client that only ended its own side, till all is answered."""
        self._is_half_closed = not self.is_idle and not self._is_refused
        return self._is_half_closed

    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for one."""
        self.idle_since = self.loop.time()
        super().on_response_complete()
        self._watch()
        if self._is_half_closed and self.is_idle:
            self.transport.close()

    def pause_writing(self) -> None:
        """Give a client that does not read a time; it runs on where the connection is closing."""
        super().pause_writing()
        self._unread = self.loop.call_later(READ_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: what was written is read."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request."""
        self._refuse(400, NO_HTTP)

    @property
    def is_idle(self) -> bool:
        """Tell whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_closable(self) -> bool:
        """Tell whether nobody loses an answer when this connection is closed."""
        return (self.is_idle or self._coming is not None) and not self.transport.is_closing()

    def _watch(self) -> None:
        """Give what has to come a time, and take it back when it has come.

        A connection that waits for another request has the time that uvicorn gives it.
        """
        state = self.conn.their_state
        is_kept = self.timeout_keep_alive_task is not None
        is_coming = state is h11.SEND_BODY or (state is h11.IDLE and not is_kept)
        if is_coming and self._coming is None:
            self._coming = self.loop.call_later(REQUEST_S, self._give_up)
        elif not is_coming and self._coming is not None:
            self._coming.cancel()
            self._coming = None

    def _give_up(self) -> None:
        """End a connection whose request does not come; one that began is told so."""
        self._coming = None
        if self.transport.is_closing() or self._is_refused:
            return
        if self.is_idle and not self.conn.trailing_data[0]:
            self.transport.close()
            return
        if not self.is_idle:
            self.cycle.disconnected = True  # whoever answers it writes to nobody
            self.cycle.message_event.set()
        self._refuse(408, f"the request was not whole within {REQUEST_S:g} s")

    def _make_room(self) -> None:
        """Close the connection that has held no whole request for the longest time."""
        others = [c for c in self.connections if isinstance(c, JsonProtocol) and c.is_closable]
        first = min(others, key=lambda c: c.idle_since)  # this one at least is there
        if first is self:
            self._refuse(503, "all connections of this service are being answered; try again")
        else:
            first.transport.abort()

    def _refuse(self, status: int, sentence: str) -> None:
        """Answer with an error and end; one answer at most, whatever comes after it."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        try:
            self.transport.write(self._refusal(status, as_json({"error": sentence})))
            self.transport.write_eof()
        except (h11.LocalProtocolError, OSError):  # there is nobody to tell, or no way to
            self.transport.abort()
            return
        self._is_refused = True
        self.loop.call_later(DRAINED_S, self.transport.close)

    def _refusal(self, status: int, body: bytes) -> bytes:
        """Return an answer with an error as it goes over the wire; to HEAD without its body."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        if status == 503:
            headers.append((b"retry-after", b"1"))
        reason = http.HTTPStatus(status).phrase.encode()
        is_head = not self.is_idle and self.cycle.scope["method"] == "HEAD"
        parts = (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=b"" if is_head else body),
            h11.EndOfMessage(),
        )
        return b"".join(self.conn.send(part) or b"" for part in parts)
