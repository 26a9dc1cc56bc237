"""A connection to PostgreSQL on which nothing waits longer than it is told.

psycopg's own connections wait in libpq or in their own loops, and for some things (finding a host,
ending a statement on a server that hangs) without a limit. This drives psycopg's wrapper of libpq.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import inf
from queue import Empty, SimpleQueue
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Thread
from time import monotonic

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

CONNECT_S = 30.0
"""The time limit of connecting where there is no other."""

FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE, pq.ExecStatus.NONFATAL_ERROR)
GIVEN = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)
ROW = pq.ExecStatus.SINGLE_TUPLE
IDLE = pq.TransactionStatus.IDLE


class LateError(Exception):
    """The time is over; the connection is of no more use."""


class LostError(Exception):
    """There is no connection, or no more; the message is libpq's."""


class Connection:
    """One connection; a call that raises LateError or LostError leaves it to be closed."""

    def __init__(self, link: PGconn) -> None:
        self._link = link
        link.notice_handler = None  # psycopg logs notices otherwise

    @property
    def encoding(self) -> str:
        """How the server writes texts to us."""
        return (self._link.parameter_status(b"client_encoding") or b"").decode("ascii", "replace")

    @property
    def is_alive(self) -> bool:
        """Whether the server has neither closed the connection nor said that it will."""
        link = self._link
        try:
            if link.status != pq.ConnStatus.OK or link.transaction_status != IDLE:
                return False
            for _ in range(3):  # a notice may lie there, a last word, then the end
                if not _ready(link.socket, EVENT_READ, 0.0):
                    return True
                link.consume_input()
            return False
        except (psycopg.Error, OSError, ValueError):
            return False

    def run(self, sql: str, end: float) -> PGresult:
        """Run statements without parameters; return the result that failed, or else the last."""
        self._send(lambda: self._link.send_query(sql.encode()))
        return self._outcome(end)

    def describe(self, sql: str, types: Sequence[int], end: float) -> PGresult:
        """Have a statement checked without running it; return its columns, or the failure."""
        self.run("BEGIN", end)  # or a pooler may give the two steps to two servers
        self._send(lambda: self._link.send_prepare(b"", sql.encode(), types))
        found = self._outcome(end)
        if found.status not in FAILED:
            self._send(lambda: self._link.send_describe_prepared(b""))
            found = self._outcome(end)
        self.run("ROLLBACK", end)
        return found

    def rows(
        self, sql: str, values: Sequence[bytes], types: Sequence[int], end: float
    ) -> Iterator[PGresult]:
        """Run a statement; yield a result a row as they arrive, then the one that ends them."""
        self._send(lambda: self._link.send_query_params(sql.encode(), values, types))
        with suppress(psycopg.Error):
            self._link.set_single_row_mode()
        return self._results(end)

    def skip(self, end: float) -> None:
        """Read what is left of a statement's rows, and forget it."""
        for _ in self._results(end):
            pass

    def close(self) -> None:
        """Close the connection; a statement that still runs ends at the server's own limit."""
        self._link.finish()

    def _send(self, send: Callable[[], None]) -> None:
        try:
            send()
        except psycopg.Error as error:
            raise LostError(str(error)) from None

    def _outcome(self, end: float) -> PGresult:
        last = None
        for result in self._results(end):
            if last is None or last.status not in FAILED:
                last = result
        if last is None:
            raise LostError("the server ended a statement without a result")
        return last

    def _results(self, end: float) -> Iterator[PGresult]:
        link = self._link
        try:
            while link.flush():
                _wait(link.socket, EVENT_READ | EVENT_WRITE, end)
                link.consume_input()
            while True:
                while link.is_busy():
                    _wait(link.socket, EVENT_READ, end)
                    link.consume_input()
                result = link.get_result()
                if result is None:
                    return
                if result.status not in (*FAILED, *GIVEN, ROW):
                    raise LostError("COPY and the like are no queries")
                yield result
        except (psycopg.Error, OSError, ValueError) as error:
            raise LostError(str(error)) from None


def connect(conninfo: str, end: float) -> Connection:
    """Connect until `end`; finding a host may block, so that a thread of its own does it."""
    end = min(end, monotonic() + CONNECT_S)
    found: SimpleQueue[Connection | Exception] = SimpleQueue()

    def work() -> None:
        try:
            link = _connected(conninfo, end)
            if monotonic() > end:  # nobody waits for it any more
                link.finish()
                raise LateError
            found.put(Connection(link))
        except Exception as error:
            found.put(error)

    Thread(target=work, name="connecting to PostgreSQL", daemon=True).start()
    try:
        answer = found.get(timeout=max(0.0, end - monotonic()) + 0.05)
    except Empty:
        raise LateError from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _connected(conninfo: str, end: float) -> PGconn:
    link = pq.PGconn.connect_start(conninfo.encode())
    try:
        while link.status != pq.ConnStatus.BAD:
            status = link.connect_poll()
            if status == pq.PollingStatus.OK:
                link.nonblocking = 1
                return link
            if status == pq.PollingStatus.FAILED:
                break
            is_reading = status == pq.PollingStatus.READING
            _wait(link.socket, EVENT_READ if is_reading else EVENT_WRITE, end)
        raise LostError(link.get_error_message())
    except BaseException:
        link.finish()
        raise


def _wait(socket: int, events: int, end: float) -> None:
    left = None if end == inf else max(0.0, end - monotonic())
    if left == 0.0 or not _ready(socket, events, left):
        raise LateError


def _ready(socket: int, events: int, seconds: float | None) -> bool:
    with DefaultSelector() as selector:
        selector.register(socket, events)
        return bool(selector.select(seconds))
