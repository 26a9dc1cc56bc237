"""Tables made and changed by numbered files: once, whole, by one process at a time."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from searchmark.errors import InputError, OutsideError
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.connection import Database, connect, scratch_schema
from searchmark.retrieval.postgres.migrating import Migration, migrate, migrations

ONE = Migration(1, "one", "CREATE TABLE a (x int); INSERT INTO a VALUES (1);")
TWO = Migration(2, "two", "ALTER TABLE a ADD y int;")
BROKEN = Migration(3, "three", "CREATE TABLE b (x int); SELECT 1 / 0;")


@pytest.fixture
def empty(postgres_server: Any) -> Iterator[Database]:
    dsn = postgres_server.dsn
    with scratch_schema(dsn) as schema, Database(dsn, schema) as database:
        yield database


def tables(database: Database) -> set[str]:
    with database.connection() as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s", (database.schema,)
        ).fetchall()
    return {name for (name,) in rows}


def test_the_package_brings_its_files_numbered_from_one_without_gaps() -> None:
    assert [one.version for one in migrations()] == list(range(1, len(migrations()) + 1))
    assert migrations()[0].name == "catalog"


def test_files_are_applied_once_and_new_ones_later(empty: Database) -> None:
    assert migrate(empty, [ONE]) == [1]
    assert migrate(empty, [ONE]) == []
    assert migrate(empty, [ONE, TWO]) == [2]
    with empty.connection() as connection:
        assert connection.execute("SELECT x, y FROM a").fetchall() == [(1, None)]


def test_a_file_that_changed_is_refused_and_nothing_is_applied(empty: Database) -> None:
    migrate(empty, [ONE])
    changed = ONE._replace(statements=ONE.statements + " ")
    with pytest.raises(InputError, match=r"0001_one\.sql has changed .* put the file back"):
        migrate(empty, [changed, TWO])
    with empty.connection() as connection, pytest.raises(psycopg.errors.UndefinedColumn):
        connection.execute("SELECT y FROM a")


def test_a_version_nobody_knows_is_refused(empty: Database) -> None:
    migrate(empty, [ONE, TWO])
    with pytest.raises(InputError, match=r"version 2 \(two\), which this Searchmark does not know"):
        migrate(empty, [ONE])


def test_a_file_that_fails_leaves_nothing_of_itself(empty: Database) -> None:
    with pytest.raises(OutsideError, match="division by zero"):
        migrate(empty, [ONE, TWO, BROKEN])
    assert tables(empty) == {"schema_migration", "a"}
    mended = BROKEN._replace(statements="CREATE TABLE b (x int);")
    assert migrate(empty, [ONE, TWO, mended]) == [3]  # the lock is free again


def test_processes_that_migrate_at_once_wait_for_each_other(postgres_server: Any) -> None:
    program = (
        "import sys\n"
        "from searchmark.retrieval.postgres.connection import Database\n"
        "from searchmark.retrieval.postgres.migrating import migrate\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "with Database(sys.argv[1], 'at_once') as database:\n"
        "    print(len(migrate(database)))\n"
    )
    command = [sys.executable, "-c", program, postgres_server.dsn]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with connect(postgres_server.dsn) as connection:
        connection.execute("DROP EXTENSION IF EXISTS vector CASCADE")
    try:
        started = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        ended = [process.communicate(timeout=60) for process in started]
        assert [process.returncode for process in started] == [0] * 4, ended
        assert sorted(int(out) for out, _ in ended) == [0, 0, 0, len(migrations())]
    finally:
        with connect(postgres_server.dsn) as connection:
            connection.execute("DROP SCHEMA IF EXISTS at_once CASCADE")


def test_a_schema_without_a_catalog_or_with_an_old_one_is_told(empty: Database) -> None:
    with pytest.raises(InputError, match="holds no catalog"):
        PostgresCatalog(empty, Layout())
    migrate(empty, migrations()[:1])
    with pytest.raises(InputError, match="lacks version 2 of its tables; migrate it"):
        PostgresCatalog(empty, Layout())


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b"])
def test_what_is_no_name_of_a_schema_is_told(name: str) -> None:
    with pytest.raises(InputError, match="no name of a schema"):
        Database("", name)


def test_odd_names_of_schemas_are_names(postgres_server: Any) -> None:
    name = 'a"b; DROP TABLE x; -- é'
    with Database(postgres_server.dsn, name) as database:
        try:
            assert migrate(database)
            assert "document" in tables(database)
        finally:
            with connect(postgres_server.dsn) as connection:
                connection.execute('DROP SCHEMA "a""b; DROP TABLE x; -- é" CASCADE')


def test_no_server_is_one_sentence() -> None:
    with pytest.raises(OutsideError, match="PostgreSQL says"):
        Database("host=127.0.0.1 port=1", "x").__enter__()
