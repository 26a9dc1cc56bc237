"""Connections: how long they wait, what they say of themselves to the network."""

from typing import Any

import psycopg
import pytest

from searchmark.errors import OutsideError
from searchmark.retrieval.postgres.connection import ALIVE, Database
from searchmark.web.outage import is_away


def test_a_statement_that_takes_too_long_is_one_searchs_own_concern(postgres_server: Any) -> None:
    with (
        Database(postgres_server.dsn, "public", statement_s=0.05) as database,
        database.connection() as connection,
    ):
        with pytest.raises(OutsideError, match="57014") as told, database.connection() as other:
            other.execute("SELECT pg_sleep(60)")
        assert not is_away(told.value)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_that_is_refused_is_everybodys_concern(postgres_server: Any) -> None:
    with Database(postgres_server.dsn, "public", most=1, wait_s=0.05) as database:
        with database.connection(), pytest.raises(OutsideError) as told, database.connection():
            pass
        assert "no connection to PostgreSQL became free in time" in str(told.value)
        assert is_away(told.value)


def test_a_lost_machine_is_noticed_unless_the_address_says_otherwise(postgres_server: Any) -> None:
    def said(dsn: str) -> dict[str, str]:
        with Database(dsn, "public") as database, database.connection() as connection:
            return connection.info.get_parameters()

    assert said(postgres_server.dsn).items() >= {k: str(v) for k, v in ALIVE.items()}.items()
    own = psycopg.conninfo.make_conninfo(postgres_server.dsn, keepalives_idle=77)
    found = said(own)
    assert (found["keepalives_idle"], found["keepalives_count"]) == ("77", "3")
