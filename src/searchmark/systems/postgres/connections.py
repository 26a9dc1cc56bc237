"""The connections of one system: as many as calls are under way at once, kept between calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Lock

from searchmark.errors import InputError
from searchmark.retrieval.postgres.addresses import ENCODING, conninfo
from searchmark.systems.postgres import failures
from searchmark.systems.postgres.connection import (
    FAILED,
    Connection,
    LateError,
    LostError,
    connect,
)
from searchmark.systems.secrets import Secrets


class Connections:
    """Lends connections; a lost one is replaced when the next is asked for.

    `setup` runs on every new connection, after the limits of time and of writing. `limit` is the
    time limit of a call in seconds.
    """

    def __init__(
        self,
        dsn: str,
        secrets: Secrets,
        *,
        setup: Sequence[str],
        read_only: bool,
        limit: float | None,
    ) -> None:
        self.secrets, self.limit = secrets, limit
        self._conninfo = conninfo(dsn, fallback_application_name="searchmark")
        self._setup = tuple(setup)
        own = [f"SET statement_timeout = {max(1, ceil(limit * 1000))}"] if limit else []
        own += ["SET default_transaction_read_only = on"] if read_only else []
        self._own = "; ".join(own)
        self._lock = Lock()
        self._idle: list[Connection] = []
        self._is_closed = False

    @contextmanager
    def borrowed(self, end: float) -> Iterator[Connection]:
        """Give a connection that is ready, and take it back unless the call broke it off."""
        connection = None
        try:
            connection = self._kept() or self._opened(end)
            yield connection
        except LateError:
            raise failures.late(self.limit) from None
        except LostError as error:
            raise failures.lost(str(error), self.secrets) from None
        finally:
            if connection is not None:
                self._take_back(connection)

    def close(self) -> None:
        """Close all connections; those in use are closed when they come back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _kept(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_alive:
                return connection
            connection.close()

    def _opened(self, end: float) -> Connection:
        connection = connect(self._conninfo, end)
        try:
            for place, sql in enumerate(("", *self._setup), -1):
                if statement := sql or self._own:
                    self._prepare(connection, statement, place, end)
            if connection.encoding != ENCODING:
                raise InputError(
                    f"the statements of 'setup' set client_encoding to {connection.encoding}",
                    fix=f"leave it: texts are sent and read in {ENCODING}, whatever the database's",
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: Connection, sql: str, place: int, end: float) -> None:
        result = connection.run(sql, end)
        if result.status not in FAILED:
            return
        fault = failures.read_fault(result, self.secrets)
        if failures.is_about_statement(fault):
            key = f"setup[{place}]" if place >= 0 else "the session's settings"
            raise InputError(f"PostgreSQL refuses {key}: {fault.text} (SQLSTATE {fault.state})")
        raise LostError(fault.text)

    def _take_back(self, connection: Connection) -> None:
        is_sound = connection.is_alive
        with self._lock:
            if is_sound and not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()
