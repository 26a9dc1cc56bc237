"""The PostgreSQL adapter on a real server with pgvector."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.policy import CallPolicy
from searchmark.systems.postgres.adapter import POSTGRES
from searchmark.systems.postgres.config import Config
from searchmark.systems.protocol import Context, Query, System
from searchmark.systems.secrets import Secrets

ITEMS = [("a'1", 3.5, 7), ("ü—2", 2.5, 8), ("c 3", 1.5, None)]
ECHO = "SELECT %(query)s AS doc_id"

Open = Callable[..., System]


@pytest.fixture(scope="module")
def database(postgres_server: Any) -> Iterator[psycopg.Connection]:
    with postgres_server.connect() as connection:
        connection.execute("CREATE TABLE items (doc_id text, score float8, tokens int)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO items VALUES (%s, %s, %s)", ITEMS)
        yield connection
        connection.execute("DROP TABLE items")


def context(folder: Path, dsn: str, calls: CallPolicy) -> Context:
    def nothing(name: str) -> System:
        raise AssertionError(name)

    environment = {"DATABASE_URL": dsn}
    return Context(
        Corpus.__new__(Corpus), folder, folder, nothing, calls=calls, secrets=Secrets(environment)
    )


@pytest.fixture
def open_sql(tmp_path: Path, database: psycopg.Connection, postgres_server: Any) -> Iterator[Open]:
    """Open a system with a statement; limits of calls and other keys by name."""
    with ExitStack() as stack:

        def open_(sql: str, *, dsn: str | None = None, **keys: Any) -> System:
            (tmp_path / "search.sql").write_text(sql, encoding="utf-8")
            limits = {f for f in CallPolicy.__struct_fields__}
            calls = CallPolicy(**{k: v for k, v in keys.items() if k in limits})
            rest = {k: v for k, v in keys.items() if k not in limits}
            config = Config(sql="search.sql", dsn="${DATABASE_URL}", **rest)
            opened = POSTGRES.open(
                "pg", config, context(tmp_path, dsn or postgres_server.dsn, calls)
            )
            return stack.enter_context(opened)

        yield open_


def ids(system: System, text: str = "x", k: int = 10) -> list[str]:
    return [hit.doc_id for hit in system.search(Query("q1", text), k).hits]


def n_connections(database: psycopg.Connection) -> int:
    row = database.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'searchmark'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def wait_for(is_so: Callable[[], bool]) -> None:
    """Give a server a moment to notice that a connection was closed."""
    for _ in range(100):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within five seconds")


ALL = "SELECT doc_id, score, tokens FROM items WHERE %(query)s <> '' ORDER BY score DESC"


def test_rows_become_hits_in_their_order(open_sql: Open) -> None:
    answer = open_sql(ALL + " LIMIT %(k)s", tokens="tokens").search(Query("q", "x"), 10)
    assert [(h.doc_id, h.score, h.tokens) for h in answer.hits] == ITEMS
    rising = open_sql(ALL.replace("DESC", "ASC") + " LIMIT %(k)s")
    assert ids(rising) == ["c 3", "ü—2", "a'1"]


def test_columns_are_found_by_name_or_by_place(open_sql: Open) -> None:
    by_name = open_sql(
        "SELECT tokens, score AS rank, doc_id FROM items WHERE %(query)s <> '' ORDER BY score DESC",
        id="doc_id",
        score="rank",
    )
    hits = by_name.search(Query("q", "x"), 1).hits
    assert (hits[0].doc_id, hits[0].score, hits[0].tokens) == ("a'1", 3.5, None)
    a_text_is_no_score = open_sql("SELECT doc_id, %(query)s FROM items")
    assert a_text_is_no_score.search(Query("q", "x"), 1).hits[0].score is None


def test_no_rows_are_an_empty_answer(open_sql: Open) -> None:
    assert ids(open_sql("SELECT doc_id FROM items WHERE doc_id = %(query)s"), "none") == []


def test_integers_become_texts(open_sql: Open) -> None:
    assert ids(open_sql("SELECT 12::bigint WHERE %(query)s <> ''")) == ["12"]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT NULL::text WHERE %(query)s <> ''", "row 1 has an id that is NULL"),
        ("SELECT '' WHERE %(query)s <> ''", "row 1 has an id that is empty"),
        ("SELECT 'a', 'NaN'::float8 WHERE %(query)s <> ''", "row 1 has a score that is NaN"),
        ("SELECT 'a' WHERE 1 / (length(%(query)s) - 1) > 0", "division by zero"),
        ("SELECT 'a' WHERE to_tsvector('a') @@ to_tsquery(%(query)s || ' b')", "websearch_to_ts"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(open_sql: Open, sql: str, told: str) -> None:
    system = open_sql(sql)
    for _ in range(2):  # the connection is of use again
        with pytest.raises(SystemFailedError, match=told) as raised:
            ids(system)
        assert "search.sql" in str(raised.value)
        assert not raised.value.retry


@pytest.mark.parametrize(
    ("sql", "keys", "told"),
    [
        ("SELECT doc_id\nFROM items\nWHERE doc_od = %(query)s", {}, r"search.sql:3: .*doc_od"),
        ("SELECT doc_id\nFROM itms WHERE doc_id = %(query)s", {}, r"search.sql:2: .*itms"),
        ("SELECT doc_id FRM items WHERE %(query)s <> ''", {}, r"search.sql:1: .*syntax"),
        ("SELECT 1.5 WHERE %(query)s <> ''", {}, r"no text or integer; write .*::text"),
        ("SELECT 'a'::char(9) WHERE %(query)s <> ''", {}, "padded with blanks"),
        (
            "SELECT doc_id FROM items WHERE %(query)s <> ''",
            {"score": "rank"},
            "no column called .rank.",
        ),
        ("SELECT 'a' i, 'b' i WHERE %(query)s <> ''", {"id": "i"}, "two columns"),
        ("SELECT 'a', 'b' s WHERE %(query)s <> ''", {"score": "s"}, "is no number"),
        ("DELETE FROM items WHERE doc_id = %(query)s", {}, "returns no columns"),
        ("SELECT doc_id FROM items", {}, "does not use the query"),
        ("SELECT %(query)s; SELECT 1", {}, "multiple commands"),
        (
            "SELECT 'a' WHERE %(query)s <> ''",
            {"setup": ["SET no_such = 1"]},
            r"setup\[0\].*no_such",
        ),
    ],
)
def test_a_wrong_statement_is_told_when_it_is_opened(
    open_sql: Open, sql: str, keys: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        open_sql(sql, **keys)


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP TABLE items; --",
        '" $1 %(k)s {query} \\ %% %s',
        "$$two$$\nlines\r\n\tand tabs",
        "ünïcødé 検索 🔎 \u202e",
        "-x --y /* z */",
        "",
    ],
)
def test_a_query_reaches_the_server_unharmed(open_sql: Open, text: str) -> None:
    system = open_sql("SELECT 'id ' || %(query)s, octet_length(%(query)s)")
    hit = system.search(Query("q", text), 10).hits[0]
    assert (hit.doc_id, hit.score) == ("id " + text, len(text.encode()))
    assert ids(open_sql(ALL)) == [item[0] for item in ITEMS]


@pytest.mark.parametrize(("text", "told"), [("a\0b", "NUL"), ("a\ud800", "surrogate")])
def test_what_no_text_can_hold_is_told(open_sql: Open, text: str, told: str) -> None:
    with pytest.raises(SystemFailedError, match=told):
        ids(open_sql(ECHO), text)


def test_the_id_of_the_query_can_be_bound(open_sql: Open) -> None:
    assert ids(open_sql("SELECT %(query_id)s || %(query)s")) == ["q1x"]


def test_no_more_than_k_rows_are_taken(open_sql: Open, database: psycopg.Connection) -> None:
    few = open_sql("SELECT n FROM generate_series(1, 20) n WHERE %(query)s <> ''")
    assert ids(few, k=3) == ["1", "2", "3"]
    many = open_sql(
        "SELECT b FROM generate_series(1, 20000) a, generate_series(1, 20000) b "
        "WHERE %(query)s <> ''"
    )
    assert ids(many, k=2) == ["1", "2"]  # read to the end, this would take minutes
    assert ids(many, k=3) == ["1", "2", "3"]


def test_nothing_is_written_unless_it_is_allowed(
    open_sql: Open, database: psycopg.Connection
) -> None:
    database.execute("CREATE TABLE written (query text)")
    sql = "INSERT INTO written VALUES (%(query)s) RETURNING query"
    try:
        with pytest.raises(SystemFailedError, match="read_only = false"):
            ids(open_sql(sql))
        assert ids(open_sql(sql, read_only=False), "kept") == ["kept"]
        assert database.execute("SELECT query FROM written").fetchall() == [("kept",)]
    finally:
        database.execute("DROP TABLE written")


def test_setup_runs_on_every_connection(open_sql: Open) -> None:
    sql = "SELECT current_setting(%(query)s) FROM pg_sleep(0.05)"
    system = open_sql(sql, setup=["SET work_mem = '7MB'", "SET statement_timeout = 4321"])
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: ids(system, "work_mem"), range(8)))
    assert found == [["7MB"]] * 8
    assert ids(system, "statement_timeout") == ["4321ms"]
    assert ids(open_sql(sql, timeout_s=2.5), "statement_timeout") == ["2500ms"]


def test_calls_side_by_side_have_connections_of_their_own(
    open_sql: Open, database: psycopg.Connection
) -> None:
    system = open_sql(
        "SELECT pg_backend_pid()::text FROM pg_sleep(0.3) WHERE %(query)s <> ''", concurrency=8
    )
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: ids(system, str(n)), range(8)))
        assert len({pid for (pid,) in found}) == 8
        again = list(threads.map(lambda n: ids(system, str(n)), range(8)))
    assert {pid for (pid,) in again} <= {pid for (pid,) in found}  # kept, not opened anew
    assert n_connections(database) == 8


def test_connections_are_closed_at_the_end(
    tmp_path: Path, postgres_server: Any, database: psycopg.Connection
) -> None:
    (tmp_path / "search.sql").write_text(ECHO)
    given = context(tmp_path, postgres_server.dsn, CallPolicy())
    wait_for(lambda: n_connections(database) == 0)  # those of the test before
    config = Config(sql="search.sql", dsn="${DATABASE_URL}")
    with POSTGRES.open("pg", config, given) as system:
        assert ids(system) == ["x"]
        assert n_connections(database) == 1
    wait_for(lambda: n_connections(database) == 0)


def test_a_statement_beyond_the_limit_is_ended_here_and_there(
    open_sql: Open, database: psycopg.Connection
) -> None:
    system = open_sql("SELECT 'a' FROM pg_sleep(60) WHERE %(query)s <> ''", timeout_s=0.4)
    start = time.monotonic()
    with pytest.raises(SystemTimeoutError, match=r"0\.4 s"):
        ids(system)
    assert time.monotonic() - start < 30  # of the 60 it would take
    wait_for(lambda: not _sleeping(database))


def test_a_limit_of_the_servers_own_is_a_timeout(open_sql: Open) -> None:
    system = open_sql(
        "SELECT 'a' FROM pg_sleep(60) WHERE %(query)s <> ''",
        setup=["SET statement_timeout = '100ms'"],
    )
    with pytest.raises(SystemTimeoutError, match="ended the statement"):
        ids(system)


def _sleeping(database: psycopg.Connection) -> list[Any]:
    return database.execute(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    ).fetchall()


@pytest.mark.parametrize("function", ["pg_terminate_backend", "pg_cancel_backend"])
def test_a_call_that_an_administrator_ends_may_be_made_again(
    open_sql: Open, database: psycopg.Connection, function: str
) -> None:
    system = open_sql("SELECT 'a' FROM pg_sleep(length(%(query)s))")
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ids, system, "x" * 60)
        wait_for(lambda: bool(_sleeping(database)))
        database.execute(f"SELECT {function}(%s)", _sleeping(database)[0])
        with pytest.raises(SystemFailedError, match=r"search\.sql.*SQLSTATE 57") as raised:
            call.result()
    assert raised.value.retry
    assert not isinstance(raised.value, SystemTimeoutError)
    assert ids(system, "") == ["a"]


def test_a_connection_lost_between_calls_is_replaced(
    open_sql: Open, database: psycopg.Connection
) -> None:
    system = open_sql("SELECT pg_backend_pid() WHERE %(query)s <> ''")
    first = ids(system)
    database.execute("SELECT pg_terminate_backend(%s, 5000)", [int(first[0])])
    assert ids(system) != first


def test_a_deadlock_or_conflict_may_be_tried_again(open_sql: Open) -> None:
    raising = (
        "CREATE FUNCTION pg_temp.refuse(code text) RETURNS text LANGUAGE plpgsql AS "
        "$f$ BEGIN RAISE EXCEPTION USING errcode = code, message = 'refused'; END $f$"
    )
    system = open_sql("SELECT pg_temp.refuse(%(query)s)", setup=[raising], read_only=False)
    for state, retry, busy in [
        ("40001", True, False),
        ("40P01", True, False),
        ("53300", True, True),
        ("22012", False, False),
        ("42501", False, False),
    ]:
        with pytest.raises(SystemFailedError, match=state) as raised:
            ids(system, state)
        assert (raised.value.retry, raised.value.busy) == (retry, busy)


def test_a_server_that_hangs_holds_nobody_up(
    open_sql: Open, own_postgres_server: Any, database: psycopg.Connection
) -> None:
    system = open_sql(ECHO, dsn=own_postgres_server.dsn, timeout_s=0.5)
    assert ids(system) == ["x"]
    main = psutil.Process(own_postgres_server._server.get_pid())
    stopped = [main, *main.children(recursive=True)]
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(2):  # on an open connection, then while connecting
            with pytest.raises(SystemTimeoutError, match=r"0\.5 s"):
                ids(system)
    finally:
        for process in stopped:
            process.send_signal(signal.SIGCONT)
    assert ids(system) == ["x"]


def test_a_killed_server_may_come_back(open_sql: Open, own_postgres_server: Any) -> None:
    system = open_sql(
        "SELECT %(query)s FROM pg_sleep(length(%(query)s) - 1)", dsn=own_postgres_server.dsn
    )
    assert ids(system) == ["x"]
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ids, system, "x" * 60)
        with own_postgres_server.connect() as watching:
            wait_for(lambda: bool(_sleeping(watching)))
        own_postgres_server.kill()
        with pytest.raises(SystemFailedError, match="no connection") as raised:
            call.result()
    assert raised.value.retry
    with pytest.raises(SystemFailedError, match="no connection") as raised:
        ids(system)
    assert raised.value.retry
    own_postgres_server.start()
    assert ids(system) == ["x"]


def test_a_server_that_is_down_at_first_is_asked_later(
    open_sql: Open, own_postgres_server: Any
) -> None:
    own_postgres_server.kill()
    system = open_sql("SELECT nope FROM items WHERE %(query)s <> ''", dsn=own_postgres_server.dsn)
    with pytest.raises(SystemFailedError) as raised:
        ids(system)
    assert raised.value.retry
    own_postgres_server.start()
    with pytest.raises(InputError, match=r"search\.sql:1"):  # looked at on the first connection
        ids(system)


def test_what_connecting_again_cannot_mend_is_not_retried(
    open_sql: Open, postgres_server: Any
) -> None:
    system = open_sql(ECHO, dsn=postgres_server.dsn.replace("/postgres?", "/no_such?"))
    with pytest.raises(SystemFailedError, match="no_such") as raised:
        ids(system)
    assert not raised.value.retry


def test_a_password_is_never_told(open_sql: Open) -> None:
    system = open_sql(ECHO, dsn="postgresql://me:planted-secret@127.0.0.1:1/db")
    with pytest.raises(SystemFailedError) as raised:
        ids(system)
    assert raised.value.retry
    with pytest.raises(InputError) as wrong:
        open_sql(ECHO, dsn="host=a planted-secret password=planted-secret")
    assert "planted-secret" not in str(raised.value) + str(wrong.value)


def test_identity_tells_the_statement(open_sql: Open) -> None:
    first, same, other = open_sql(ECHO), open_sql(ECHO), open_sql(ALL)
    assert dict(first.identity) == dict(same.identity)
    assert first.identity["sql"] != other.identity["sql"]


@pytest.fixture
def in_latin_1(database: psycopg.Connection, postgres_server: Any) -> Iterator[str]:
    """A database that holds its texts in another encoding than ours."""
    database.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    yield psycopg.conninfo.make_conninfo(postgres_server.dsn, dbname="latin")
    database.execute("DROP DATABASE latin WITH (FORCE)")


def test_texts_are_utf_8_whatever_the_database_and_the_environment_say(
    open_sql: Open, in_latin_1: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert ids(open_sql(ECHO), "世界 ü") == ["世界 ü"]
    latin = open_sql(ECHO, dsn=in_latin_1)
    assert ids(latin, "Zürich") == ["Zürich"]
    with pytest.raises(SystemFailedError, match="has no equivalent in encoding"):
        ids(latin, "世界")
    assert ids(latin, "Genève") == ["Genève"]


def test_a_setup_that_changes_the_encoding_is_refused(open_sql: Open) -> None:
    told = "'setup' set client_encoding to LATIN1; leave it: texts are sent and read in UTF8"
    with pytest.raises(InputError, match=told):
        open_sql(ECHO, setup=["SET client_encoding = 'LATIN1'"])


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:hunter2@secretly@127.0.0.1:1/db",
        "password=hunter 2secretly",
        "postgresql://u:hunter2/secretly@127.0.0.1:1/db",
    ],
)
def test_a_broken_address_is_told_without_a_piece_of_it(open_sql: Open, dsn: str) -> None:
    with pytest.raises(InputError, match="the address of the database") as caught:
        open_sql(ECHO, dsn=dsn)
    assert "secretly" not in str(caught.value)
    assert "hunter" not in str(caught.value)
