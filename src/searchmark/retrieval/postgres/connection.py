"""Connections to one schema of a PostgreSQL database, and the scratch schemas of evaluations."""

import logging
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from searchmark.errors import InputError, OutsideError, one_line
from searchmark.retrieval.postgres.addresses import check_encoding, conninfo

Connection = psycopg.Connection[Any]

CONNECT_S = 10
"""How long a connection may take to be made, and a caller to wait for a free one."""

MOST = 16
"""Most connections of one `Database`."""

ALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""libpq's own defaults let a session wait for hours for a machine that lost its power."""

SCRATCH = "searchmark_scratch_"
"""Beginning of the names of scratch schemas; host, process and time follow, for people."""

SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "default_transaction_isolation": "read committed",
}
"""What statements here are written for, whatever a server, a role or PGOPTIONS prefers."""

_SET = (
    "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS t (name, value)"
)

_UNHEARD = logging.NullHandler()
"""Whoever asks is told why there is no connection; the pool's tries are for those who listen."""

_KEEP = "SELECT pg_advisory_lock_shared(hashtextextended(%s, 0))"
_TRY = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))"
_FREE = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"

_PATH = """
SELECT set_config('search_path', quote_ident(%s) || coalesce((
    SELECT ', ' || quote_ident(nspname) FROM pg_extension
    JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'
), '') || ', public', false)
"""


class Database:
    """A schema of a database; a context manager. Connections are made when they are needed.

    Every connection commits by itself unless `connection.transaction()` is open, and sees the
    tables of the schema by their bare names.
    """

    def __init__(
        self,
        dsn: str,
        schema: str,
        *,
        most: int = MOST,
        wait_s: float = CONNECT_S,
        statement_s: float = 0,
    ) -> None:
        """Take an address; `wait_s` limits the wait for a connection, `statement_s` a statement."""
        self.dsn, self.schema, self._statement_s = dsn, schema, statement_s
        check_name(schema)
        self._pool = ConnectionPool(
            conninfo(dsn),
            min_size=0,
            max_size=most,
            open=False,
            timeout=wait_s,
            kwargs={
                "autocommit": True,
                "connect_timeout": CONNECT_S,
                "application_name": schema,
                **_alive(dsn),
            },
            configure=self._configure,
            check=ConnectionPool.check_connection,
            name=schema,
            reconnect_timeout=wait_s,
        )

    def _configure(self, connection: Connection) -> None:
        connection.execute(_PATH, (self.schema,))
        if self.schema.startswith(SCRATCH):
            connection.execute(_KEEP, (self.schema,))
        connection.execute(_SET, (list(SETTINGS), list(SETTINGS.values())))
        if self._statement_s:
            limit = f"{self._statement_s * 1000:.0f}"
            connection.execute("SELECT set_config('statement_timeout', %s, false)", (limit,))

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection; what PostgreSQL refuses inside is told as an OutsideError."""
        with told(), self._pool.connection() as connection:
            yield connection

    def __enter__(self) -> "Database":
        """Return the database; the schema may not be there yet."""
        connect(self.dsn).close()  # a pool would go on trying in the background and tell a log
        logging.getLogger("psycopg.pool").addHandler(_UNHEARD)
        self._pool.open(wait=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._pool.close()


def check_name(schema: str) -> None:
    """Refuse what PostgreSQL does not take as the name of a schema, or takes for something else."""
    try:
        is_name = 0 < len(schema.encode()) <= 63 and "\0" not in schema
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InputError(f"{schema!r} is no name of a schema", fix="give 1 to 63 bytes of text")
    if schema == "$user" or schema.startswith("pg_") or schema == "information_schema":
        raise InputError(
            f"the schema '{schema}' is PostgreSQL's own", fix="give a schema for the catalog"
        )


def _alive(dsn: str) -> dict[str, int]:
    """Return what makes a lost machine known in half a minute, where the address says nothing."""
    with suppress(psycopg.Error):  # an address that is none is told when it is used
        given = conninfo_to_dict(dsn)
        return {name: value for name, value in ALIVE.items() if name not in given}
    return {}


def connect(dsn: str) -> Connection:
    """Return one connection of its own; OutsideError where none can be made."""
    with told():
        made = psycopg.connect(conninfo(dsn), autocommit=True, connect_timeout=CONNECT_S)
    try:
        check_encoding(made.info.parameter_status("server_encoding"), made.info.dbname)
    except InputError:
        made.close()
        raise
    return made


@contextmanager
def told() -> Iterator[None]:
    """Turn what psycopg raises into one sentence."""
    try:
        yield
    except PoolTimeout:
        raise OutsideError(
            "no connection to PostgreSQL became free in time; see that it runs, and how many "
            "connections it allows"
        ) from None
    except psycopg.Error as error:
        state = f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""
        said = one_line(str(error).strip() or type(error).__name__)
        raise OutsideError(f"PostgreSQL says: {said}{state}") from error


@contextmanager
def scratch_schema(dsn: str) -> Iterator[str]:
    """Make a schema for one evaluation, and drop it at the end whatever happens.

    Its owner holds a lock on the name as long as it lives, and so does every connection of a
    `Database` of that name, in case the owner's own one is lost. So the schemas that killed owners
    left behind are known by their free locks; they are dropped first.
    """
    name = scratch_name()
    with connect(dsn) as keeper:
        with told():
            _drop_leftovers(keeper)
            keeper.execute(_KEEP, (name,))
        try:
            with told():
                keeper.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
            yield name
        finally:
            _drop_in_any_case(dsn, keeper, name)


def scratch_name() -> str:
    """Return a new name: host, process and time, and a part that makes it the only one."""
    host = re.sub(r"[^a-z0-9]+", "_", socket.gethostname().lower())[:12]
    return f"{SCRATCH}{host}_{os.getpid()}_{int(time.time())}_{uuid4().hex[:6]}"


def _drop_in_any_case(dsn: str, keeper: Connection, name: str) -> None:
    """Drop the schema; where the keeper's connection or its patience was lost, over another one."""
    try:
        _drop(keeper, name)
    except BaseException as error:
        with suppress(psycopg.Error, OutsideError), connect(dsn) as other:
            _drop(other, name)  # what still cannot be dropped the next evaluation drops
        if not isinstance(error, psycopg.Error):
            raise  # a person who wants the program to end


def _drop(connection: Connection, name: str) -> None:
    """Drop a schema; whoever is still at work in it, such as a search given up, is ended."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()",
        (name,),
    )
    connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


def _drop_leftovers(connection: Connection) -> None:
    names = connection.execute(
        "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
        " AND pg_has_role(nspowner, 'USAGE')",
        (SCRATCH,),
    ).fetchall()
    for (name,) in names:
        with unowned(connection, name) as is_unowned:
            if is_unowned:
                _drop(connection, name)


@contextmanager
def unowned(connection: Connection, schema: str) -> Iterator[bool]:
    """Tell whether no evaluation holds a scratch schema, and let none take it meanwhile."""
    row = connection.execute(_TRY, (schema,)).fetchone()
    is_free = bool(row and row[0])
    try:
        yield is_free
    finally:
        if is_free and not connection.broken:
            connection.execute(_FREE, (schema,))
