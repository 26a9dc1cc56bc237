"""The statement of a PostgreSQL system, run once a query."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.postgres import failures
from searchmark.systems.postgres.columns import Columns, find_columns, read_hit
from searchmark.systems.postgres.connection import (
    FAILED,
    ROW,
    Connection,
    LateError,
    LostError,
)
from searchmark.systems.protocol import Answer, Hit, Query

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

    from searchmark.retrieval.encoders import Encoder
    from searchmark.systems.postgres.config import Config
    from searchmark.systems.postgres.connections import Connections
    from searchmark.systems.postgres.statement import Statement

TEXT, INT4, UNKNOWN = 25, 23, 0
TYPES = {"query": TEXT, "query_id": TEXT, "k": INT4, "embedding": UNKNOWN}
"""The type each parameter is bound as; a vector takes the type of what it is compared with."""

REST_S = 0.05
"""How long the end of rows beyond those asked for is waited for; then the connection is dropped."""


@dataclass(slots=True, eq=False)
class PostgresSystem:
    """Runs the statement, every call on a connection that no other call uses meanwhile."""

    name: str
    config: "Config"
    statement: "Statement"
    connections: "Connections"
    encoder: "Encoder | None"
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)
    _is_checked: bool = False

    def search(self, query: Query, k: int) -> Answer:
        """Return the first `k` rows, in the order they come in."""
        end = self._end()
        values = self._values(query, k)
        with self.connections.borrowed(end) as connection:
            self._check(connection, end)
            rows = connection.rows(self.statement.sql, values, self._types(), end)
            hits = self._hits(rows, k)
            if len(hits) == k:
                with suppress(LateError, LostError):
                    connection.skip(min(end, monotonic() + REST_S))
            return Answer(hits)

    def check(self) -> None:
        """Have the server look at the statement; InputError where it refuses it."""
        end = self._end()
        with self.connections.borrowed(end) as connection:
            self._check(connection, end)

    def _end(self) -> float:
        limit = self.connections.limit
        return inf if limit is None else monotonic() + limit

    def _check(self, connection: Connection, end: float) -> None:
        """Look at the statement once, on whichever connection is the first."""
        if self._is_checked:
            return
        result = connection.describe(self.statement.sql, self._types(), end)
        if result.status in FAILED:
            fault = failures.read_fault(result, self.connections.secrets)
            if failures.is_about_statement(fault):
                raise failures.of_statement(fault, self.statement)
            raise failures.of_call(fault, self.statement, self.connections.limit)
        self._columns(result)
        self._is_checked = True

    def _hits(self, rows: "Iterator[PGresult]", k: int) -> tuple[Hit, ...]:
        hits: list[Hit] = []
        columns = None
        for result in rows:
            if result.status in FAILED:
                fault = failures.read_fault(result, self.connections.secrets)
                with suppress(LateError, LostError):
                    list(rows)  # until the connection is free again
                raise failures.of_call(fault, self.statement, self.connections.limit)
            columns = columns or self._columns_now(result)
            if result.status == ROW:
                where = f"{self.statement.path.name}: row {len(hits) + 1}"
                hits.append(read_hit(result, columns, where))
                if len(hits) == k:
                    break
        return tuple(hits)

    def _columns(self, result: "PGresult") -> Columns:
        config = self.config
        try:
            return find_columns(result, config.id, config.score, config.tokens)
        except InputError as error:
            raise InputError(error.what, path=self.statement.path, fix=error.fix) from None

    def _columns_now(self, result: "PGresult") -> Columns:
        """Return the columns of an answer; they were right once, so now the server changed."""
        try:
            return self._columns(result)
        except InputError as error:
            raise SystemFailedError(f"{self.statement.path.name} now {error.what}") from None

    def _types(self) -> list[int]:
        return [TYPES[name] for name in self.statement.names]

    def _values(self, query: Query, k: int) -> list[bytes]:
        """Return the parameters as PostgreSQL reads them, in the statement's order."""
        text = _bound(query.text, "the query")
        made = {
            "query": lambda: text,
            "query_id": lambda: _bound(query.query_id, "the query's id"),
            "k": lambda: b"%d" % k,
            "embedding": lambda: self._embedding(query.text),
        }
        return [made[name]() for name in self.statement.names]

    def _embedding(self, text: str) -> bytes:
        """Return the vector in pgvector's writing, with all the digits of its 32-bit floats."""
        if self.encoder is None:
            raise SystemFailedError("no model is loaded")
        from searchmark.retrieval.encoders import encode_query

        vector = encode_query(self.encoder, text)
        return ("[" + ",".join(map(str, vector)) + "]").encode()


def _bound(text: str, what: str) -> bytes:
    """Return text as PostgreSQL takes it."""
    if "\0" in text:
        raise SystemFailedError(f"{what} holds a NUL character, which no PostgreSQL text can hold")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise SystemFailedError(
            f"{what} holds half a character (a lone surrogate), which UTF-8 cannot hold"
        ) from None
