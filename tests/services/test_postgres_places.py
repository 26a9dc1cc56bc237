"""Where a catalog may be: addresses, names of schemas, encodings, what is there already."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

pytest.importorskip("psycopg_pool")

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from searchmark.errors import InputError
from searchmark.retrieval.postgres.addresses import conninfo
from searchmark.retrieval.postgres.connection import (
    SETTINGS,
    Database,
    connect,
    scratch_name,
    scratch_schema,
)
from searchmark.retrieval.postgres.migrating import check_migrated, migrate, migrations
from searchmark.systems.postgres.connections import Connections
from searchmark.systems.postgres.dsn import catalog_dsn, expanded_dsn
from searchmark.systems.secrets import Secrets

from .conftest import PostgresServer

SECRETS = ("hunter", "2secretly", "secretly")

NO_ADDRESSES = [
    ("postgresql://u:hunter2@secretly@127.0.0.1:1/db", "names a host that no host can be called"),
    ("postgresql://u:hunter2/secretly@127.0.0.1:1/db", "holds an '@' behind the host"),
    ("postgresql://u:1234/secretly@127.0.0.1:1/db", "holds an '@' behind the host"),
    ("postgresql://u:hunter2@h:secretly/db", "names a port that is no number"),
    ("postgresql://u:hunter2@h/db?secretly=1", "is no connection string"),
    ("postgresql://u:hunter%zz@h/db", "is no connection string"),
    ("password=hunter 2secretly", "is no connection string"),
    ("password='hunter host=h", "is no connection string"),
    ("password=hunter secretly=x", "is no connection string"),
    ("host=h password=hunter port=2secretly", "names a port that is no number"),
    ("host=h password=hunter\0secretly", "holds a NUL character"),
    ("host=h password=hunter\udcff", "is no connection string"),
]


@pytest.mark.parametrize(("dsn", "told"), NO_ADDRESSES)
def test_what_is_no_address_is_told_without_a_piece_of_it(dsn: str, told: str) -> None:
    def adapter(dsn: str) -> object:
        return Connections(dsn, Secrets({}), setup=(), read_only=True, limit=1)

    for use in (connect, conninfo, adapter, lambda dsn: Database(dsn, "s")):
        with pytest.raises(InputError) as caught:
            use(dsn)
        said = str(caught.value)
        assert told in said
        assert not any(secret in said for secret in SECRETS), said


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "postgresql:///db?host=/tmp/a@b",
        "postgresql://u:p%40ss@h1:1,h2:2/db?application_name=me@here",
        "postgresql://u:p:q?r@[::1]:5432/db",
        "host=@abstract password='a b@c' port=",
    ],
)
def test_addresses_keep_what_they_say(dsn: str) -> None:
    assert conninfo_to_dict(conninfo(dsn)) == {**conninfo_to_dict(dsn), "client_encoding": "UTF8"}


VALUES = {
    "ODD": "a b' \\c@:/?&=%+x sslmode=disable",
    "EMPTY": "",
    "HOSTS": "h1:5,[::1]:6",
    "WHOLE": "postgresql://u:p@h/db",
    "PAIRS": "host=h password='x y'",
}


@pytest.mark.parametrize(
    ("dsn", "meant"),
    [
        ("postgresql://u:${ODD}@h/db", {"user": "u", "password": "ODD", "host": "h"}),
        ("postgresql://${ODD}@${HOSTS}/${ODD}", {"user": "ODD", "port": "5,6", "dbname": "ODD"}),
        ("postgresql://h/db?options=${ODD}", {"options": "ODD", "host": "h", "dbname": "db"}),
        ("password=${ODD} host=h", {"password": "ODD", "host": "h"}),
        ("password = ${ODD} host=h", {"password": "ODD", "host": "h"}),
        ("password='${ODD}' host=h", {"password": "ODD", "host": "h"}),
        ("options='-c a=${ODD} -c b=${EMPTY}'", {"options": "-c a=ODD -c b="}),
        ("password='\\\\' user=${ODD}", {"password": "\\", "user": "ODD"}),
        ("password=${EMPTY} host=h", {"password": "", "host": "h"}),
        ("password=$${ODD}", {"password": "${ODD}"}),
        ("${WHOLE}", {"user": "u", "password": "p", "host": "h", "dbname": "db"}),
        ("${WHOLE}?application_name=${ODD}", {"host": "h", "application_name": "ODD"}),
        ("${PAIRS} user=${ODD}", {"host": "h", "password": "x y", "user": "ODD"}),
    ],
)
def test_a_variable_is_one_value_of_an_address(dsn: str, meant: dict[str, str]) -> None:
    found = conninfo_to_dict(expanded_dsn(dsn, Secrets(VALUES), key="dsn"))
    assert "sslmode" not in found  # nothing in a value becomes an option
    wanted = {key: value.replace("ODD", VALUES["ODD"]) for key, value in meant.items()}
    if "$$" in dsn:
        wanted = meant
    assert found.items() >= wanted.items()


def test_one_rule_says_which_database_is_meant() -> None:
    assert catalog_dsn("", None, environment={}) == "${DATABASE_URL}"
    assert catalog_dsn(None, "host=a", "host=b", environment={"PGHOST": "c"}) == "host=a"
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE"):
        assert catalog_dsn("", environment={name: "x", "DATABASE_URL": "y"}) == ""
        assert catalog_dsn("", environment={name: ""}) == "${DATABASE_URL}"


@contextmanager
def another_database(server: PostgresServer, encoding: str) -> Iterator[str]:
    name = f"in_{encoding.lower()}_{uuid4().hex[:8]}"
    with connect(server.dsn) as connection:
        connection.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'".encode()
        )
        try:
            yield make_conninfo(server.dsn, dbname=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(
    postgres_server: PostgresServer, encoding: str
) -> None:
    with another_database(postgres_server, encoding) as dsn:
        with pytest.raises(InputError, match=f"holds its texts as {encoding}, .*ENCODING 'UTF8'"):
            Database(dsn, "s").__enter__()
        with pytest.raises(InputError, match=encoding), scratch_schema(dsn):
            pass


def test_sessions_are_as_the_statements_need_them(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    monkeypatch.setenv(
        "PGOPTIONS",
        "-cstandard_conforming_strings=off -cextra_float_digits=0 -cDateStyle=SQL"
        " -cdefault_transaction_isolation=serializable",
    )
    with Database(postgres_server.dsn, "s") as database, database.connection() as connection:
        for name, value in {**SETTINGS, "client_encoding": "UTF8"}.items():
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            assert row is not None
            assert row[0].partition(",")[0] == value
        assert connection.execute("SELECT '\u20ac' || %s", ("\u4e16",)).fetchone() == ("€世",)


@pytest.mark.parametrize("schema", ["$user", "pg_x", "pg_catalog", "information_schema"])
def test_what_is_postgresqls_own_is_no_schema_for_a_catalog(schema: str) -> None:
    with pytest.raises(InputError, match="is PostgreSQL's own; give a schema for the catalog"):
        Database("", schema)


def test_a_schema_that_the_next_evaluation_drops_is_not_filled(
    postgres_server: PostgresServer,
) -> None:
    name = scratch_name()
    with Database(postgres_server.dsn, name) as database:
        with pytest.raises(InputError, match="are those of evaluations"):
            migrate(database)
        with database.connection() as connection:
            found = connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (name,))
            assert found.fetchall() == []


@pytest.fixture
def foreign(postgres_server: PostgresServer) -> Iterator[Database]:
    """A schema that is somebody else's."""
    name = f"foreign_{uuid4().hex[:8]}"
    with connect(postgres_server.dsn) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    try:
        with Database(postgres_server.dsn, name) as database:
            yield database
    finally:
        with connect(postgres_server.dsn) as connection:
            connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def relations(database: Database) -> set[str]:
    with database.connection() as connection:
        rows = connection.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
            " WHERE nspname = %s AND relkind IN ('r', 'v')",
            (database.schema,),
        ).fetchall()
    return {name for (name,) in rows}


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TABLE document (title text)", "document"),
        ("CREATE TABLE embedding_job (job_id int)", "embedding_job"),
        ("CREATE VIEW generation AS SELECT 1 AS one", "generation"),
        ("CREATE TABLE schema_migration (version text, applied text)", "schema_migration"),
        (
            "CREATE TABLE schema_migration (version text, name text, sha256 text)",
            "schema_migration",
        ),
    ],
)
def test_what_others_keep_there_is_left_alone(foreign: Database, statement: str, name: str) -> None:
    with foreign.connection() as connection:
        connection.execute(statement.encode())
    with pytest.raises(InputError, match=f"holds something else under a name .*{name}"):
        migrate(foreign)
    if name == "embedding_job":  # of the second file: the first one was applied
        assert relations(foreign) >= {name, "document"}
    else:
        assert relations(foreign) == {name}
    if name == "schema_migration":
        with foreign.connection() as connection, pytest.raises(InputError, match="something else"):
            check_migrated(connection, foreign.schema)


def test_a_function_of_the_same_name_is_told(foreign: Database) -> None:
    with foreign.connection() as connection:
        connection.execute(
            b"CREATE FUNCTION count_terms(terms tsvector) RETURNS int LANGUAGE sql RETURN 1"
        )
    with pytest.raises(InputError, match="count_terms"):
        migrate(foreign)
    assert relations(foreign) == set()


def test_the_tables_of_others_in_public_are_no_catalog_of_ours(
    postgres_server: PostgresServer, foreign: Database
) -> None:
    with connect(postgres_server.dsn) as connection:
        connection.execute("CREATE TABLE public.schema_migration (version int)")
        try:
            assert len(migrate(foreign)) == len(migrations())
        finally:
            connection.execute("DROP TABLE public.schema_migration")


def test_a_lost_keeper_does_not_give_up_a_schema_that_is_used(
    postgres_server: PostgresServer,
) -> None:
    with scratch_schema(postgres_server.dsn) as kept, Database(postgres_server.dsn, kept) as used:
        with used.connection() as connection, connect(postgres_server.dsn) as other:
            keepers = other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
                " WHERE locktype = 'advisory' AND pid NOT IN (%s, pg_backend_pid())",
                (connection.info.backend_pid,),
            ).fetchall()
            assert keepers == [(True,)]
        with scratch_schema(postgres_server.dsn), used.connection() as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_namespace WHERE nspname = %s", (kept,)
            ).fetchone()
        assert row == (1,)
    with (
        connect(postgres_server.dsn) as connection,
        pytest.raises(psycopg.errors.InvalidSchemaName),
    ):
        connection.execute(f'CREATE TABLE "{kept}".x (y int)'.encode())
