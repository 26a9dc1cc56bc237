"""`searchmark serve` as a process: its beginning, its end, what it says on the wire, PostgreSQL."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from searchmark.demo import place

if TYPE_CHECKING:
    from conftest import PostgresServer

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

COMMAND = [sys.executable, "-c", "from searchmark.cli.main import main; main()", "serve"]
TOKEN = "16-letters_or.more"
SEARCH = "/discovery/search?query=weather+forecast&limit=5"

Start = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    place(folder)
    return folder


@contextmanager
def serving(*options: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*COMMAND, "--api", "--port", "0", *map(str, options)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            if not line.startswith("serving"):
                process.kill()  # or the rest of what it says had no end
                raise AssertionError(line + process.stderr.read())
            yield process, line.split(" at ")[1].split("/discovery")[0]
        finally:
            process.kill()


def refused(*options: str | Path, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


def get(address: str, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urlopen(Request(address, headers=named), timeout=60) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def ids(answer: tuple[int, Any]) -> list[str]:
    assert answer[0] == 200, answer
    return [r["resource"] for r in answer[1]["resources"]]


def until(holds: Callable[[], bool]) -> None:
    end = monotonic() + 60
    while not holds():
        assert monotonic() < end
        sleep(0.05)


def test_a_wrong_beginning_is_told_and_not_waited_for(demo: Path) -> None:
    token = {"SERVE_TOKEN": TOKEN}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SERVE_TOKEN", token["SERVE_TOKEN"])
        options = ("--system", "keyword", "--host", "0.0.0.0", "--token", "${SERVE_TOKEN}")
        with pytest.raises(AssertionError, match="warning: "), serving(demo, *options):
            pass


def test_nobody_else_can_ask_by_default(demo: Path) -> None:
    with serving(demo, "--system", "keyword") as (_, address):
        assert address.startswith("http://127.0.0.1:")
        port = int(address.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError):  # an address of this machine, but another
            socket.create_connection(("127.0.0.2", port), timeout=60)
        assert ids(get(address + SEARCH))
        status, body = get(address + SEARCH, Host="evil.example")
        assert (status, "evil.example" in body["error"]) == (421, True)


def test_others_need_a_token(demo: Path) -> None:
    options = (demo, "--api", "--system", "keyword", "--port", "0", "--host", "0.0.0.0")
    code, said = refused(*options)
    assert code == 2
    assert said == (
        "searchmark: error: others than this machine reach the address '0.0.0.0', so requests "
        "need a token; set a variable to one, as SEARCHMARK_TOKEN, and give --token "
        "'${SEARCHMARK_TOKEN}'\n"
    )
    code, said = refused(*options, "--token", TOKEN)
    assert (code, "write --token '${NAME}', in single quotes" in said) == (2, True)
    assert TOKEN not in said
    code, said = refused(*options, "--token", "${SERVE_TOKEN}", SERVE_TOKEN="short")
    assert (code, "the variable SERVE_TOKEN holds no token" in said) == (2, True)


def test_who_sends_the_token_is_answered(demo: Path, start_service: Start) -> None:
    options = ("--host", "0.0.0.0", "--token", "${SERVE_TOKEN}")
    with start_service(demo, "keyword", *options, SERVE_TOKEN=TOKEN) as address:
        here = address.replace("0.0.0.0", "127.0.0.1")
        assert ids(get(here + SEARCH, Authorization=f"Bearer {TOKEN}", Host="any.example"))
        assert get(here + SEARCH)[0] == 401
        assert get(here + SEARCH, Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert set(get(here + "/health")[1]) == {"status", "partialResults"}


def test_what_a_proxy_says_of_its_clients_is_not_believed(demo: Path, start_service: Start) -> None:
    with start_service(demo, "keyword", "--rate", "0.01") as address:
        assert get(address + "/health")[0] == 200
        assert get(address + "/health", X_Forwarded_For="192.0.2.1")[0] == 429
        assert get(address + "/health", Forwarded="for=192.0.2.1")[0] == 429


@pytest.mark.parametrize(("files", "n"), [(40, 60), (180, 300)])
def test_a_crowd_that_never_asks_keeps_nobody_out(demo: Path, files: int, n: int) -> None:
    """With 180 files there is room for 52 connections; with 40 the system runs out of files."""
    limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *COMMAND]
    command = [*limited, "--api", "--port", "0", str(demo), "--system", "keyword"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, ExitStack() as on:
        on.callback(process.kill)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving"), line
        address = line.split(" at ")[1].split("/discovery")[0]
        for i in range(n):
            place = ("127.0.0.1", int(address.rpartition(":")[2]))
            connection = on.enter_context(socket.create_connection(place))
            if i % 2:
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        assert ids(get(address + SEARCH))
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        said = process.stderr.read().splitlines()
    scarce = "no connection can be taken: Too many open files; allow more open files"
    assert set(said) <= ({scarce} if files == 40 else set())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(demo: Path, number: signal.Signals) -> None:
    with serving(demo, "--system", "keyword") as (process, address):
        assert ids(get(address + SEARCH))
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))):  # an idle connection holds nothing up
            process.send_signal(number)
            assert process.wait(15) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_taken_port_is_told_before_anything_is_loaded(demo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(demo, "--api", "--port", str(port))
    assert code == 3
    assert said == (
        f"searchmark: error: the port {port} of 127.0.0.1 cannot be had: Address already in use; "
        "give another with --port, 0 for any that is free\n"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "say what to serve: --api, the discovery API"),
        (("--api", "--system", "keywrd"), "no system is called 'keywrd'"),
        (("--api", "--dsn", "x"), "--dsn goes with a system of the kind 'catalog-postgres' only"),
        (("--api", "--workers", "1"), "--workers goes with a system of the kind"),
        (("--api", "--host", "no such host"), "there is no address of the name 'no such host'"),
        (("--api", "--host", "192.0.2.1"), "'192.0.2.1' is no address of this machine"),
        *(
            (("--api", "--rate", rate), "requests a second are no limit that can be kept")
            for rate in ("1e-320", "1e-300", "0.001", "nan", "inf", "1e300", "-1", "-inf")
        ),
        (("--api", "--rate", "many"), "'many' is not a valid float"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    demo: Path, options: tuple[str, ...], sentence: str
) -> None:
    code, said = refused(demo, *options, "--port", "0")
    assert code == 2
    assert said.startswith("searchmark: error: ") and said.count("\n") == 1
    assert sentence in said


def test_a_kind_that_is_not_served_is_told(demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "other")
    project = tmp_path / "other" / "searchmark.toml"
    text = project.read_text(encoding="utf-8").split("[gate]")[0]
    more = '[systems.api]\nuse = "http"\npreset = "searchmark"\nbase = "http://127.0.0.1:9"\n'
    project.write_text(text + more, encoding="utf-8")
    code, said = refused(tmp_path / "other", "--api", "--system", "api", "--port", "0")
    assert code == 2
    assert "system 'api' is of the kind 'http', which is not served" in said


def exchanged(address: str, sent: bytes) -> tuple[bytes, Any]:
    """Send bytes; return the head and the JSON that come back."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        with connection.makefile("rb") as stream:
            head = b"".join(iter(stream.readline, b"\r\n")).lower()
            assert b"content-type: application/json" in head
            length = int(head.partition(b"content-length:")[2].split()[0])
            return head, json.loads(stream.read(length))


@pytest.mark.parametrize(
    ("sent", "status", "sentence"),
    [
        (b"rubbish\r\n\r\n", b"400", "this is no HTTP/1.1 request"),
        (b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", b"400", "this is no HTTP/1.1 request"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400", "this is no HTTP/1.1 request"),
        (
            b"GET /health?" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"414",
            "the address has 100,007 bytes",
        ),
        (
            b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 600_000,
            b"400",
            "its first lines are too long",
        ),
        (
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
            b"413",
            "a long body",
        ),
    ],
)
def test_every_error_on_the_wire_is_json(
    keyword: str, sent: bytes, status: bytes, sentence: str
) -> None:
    head, body = exchanged(keyword, sent)
    assert head.split(b" ")[1] == status
    assert list(body) == ["error"]
    assert sentence in body["error"]


@pytest.fixture(scope="module")
def keyword(demo: Path, start_service: Start) -> Iterator[str]:
    with start_service(demo, "keyword") as address:
        yield address


def test_filters_and_cursors_over_the_wire(keyword: str) -> None:
    found: list[str] = []
    target = "/discovery/resources?network=solana&max_price=0.01&limit=7"
    cursor = ""
    while cursor is not None:
        status, page = get(keyword + target + (f"&cursor={cursor}" if cursor else ""))
        found += ids((status, page))
        assert {r["network"] for r in page["resources"]} == {"solana"}
        assert max(r["amount"] for r in page["resources"]) <= 0.01
        cursor = page["nextCursor"]
    assert found == sorted(set(found))
    assert len(found) == page["total"]
    assert get(f"{keyword}/discovery/resources?networks=solana")[1] == {
        "error": "there is no parameter 'networks' here; did you mean 'network'?"
    }


class Endpoint:
    """A process that gives vectors, and gives others under another name; the port stays."""

    def __init__(self, script: Path) -> None:
        self._script, self.port = script, "0"
        self._process: subprocess.Popen[str] | None = None

    def start(self, model: str = "") -> None:
        command = [sys.executable, str(self._script), self.port, model]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        with self._process.stdout as told:
            self.port = told.readline().strip()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def endpoint(repository: Path) -> Iterator[Endpoint]:
    found = Endpoint(repository / "benchmarks" / "embedder.py")
    found.start()
    yield found
    found.kill()


@pytest.fixture
def embedded_there(demo: Path, tmp_path: Path, endpoint: Endpoint) -> Path:
    """Give the demo with the model of its dense arm behind the endpoint."""
    project = tmp_path / "demo"
    shutil.copytree(demo, project)
    file = project / "searchmark.toml"
    table = f'[systems.dense.endpoint]\nurl = "http://127.0.0.1:{endpoint.port}/v1"\nmodel = "m"\n'
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("# What users get", f"{table}\n# What users get"), "utf-8")
    return project


def test_a_search_by_meaning_alone_answers_by_words_when_it_has_to(
    embedded_there: Path, endpoint: Endpoint
) -> None:
    with serving(embedded_there, "--system", "dense") as (_, address):
        whole = get(address + SEARCH)
        assert whole[1]["partialResults"] is False
        assert len(ids(whole)) == 5
        endpoint.kill()
        partial = get(address + "/discovery/search?query=forecast+weather&limit=5")
        assert partial[1]["partialResults"] is True
        assert "svc-weather-now" in ids(partial)
        health = get(address + "/health")[1]
        assert health["status"] == "partial" and "127.0.0.1" in health["dense"]
        assert get(address + SEARCH)[1] == whole[1]  # its vector is kept


def test_an_endpoint_that_is_away_at_the_start_is_waited_for_by_words(
    embedded_there: Path, endpoint: Endpoint, keyword: str
) -> None:
    endpoint.kill()
    with serving_later(embedded_there, "--system", "hybrid") as (said, address):
        assert said.startswith("the dense arm failed, answers are partial: system 'dense' has no")
        page = get(address + SEARCH)
        assert page[1]["partialResults"] is True
        assert ids(page) == ids(get(keyword + SEARCH))
        health = get(address + "/health")[1]
        assert (health["status"], health["vectors"], health["generation"]) == ("partial", 0, "")
        assert f"127.0.0.1:{endpoint.port}" in health["dense"]
        first = get(address + "/discovery/search?query=weather&limit=2")[1]["nextCursor"]

        endpoint.start()
        until(lambda: not get(address + SEARCH)[1]["partialResults"])
        with serving(embedded_there, "--system", "hybrid") as (_, other):
            late, there = get(address + SEARCH)[1], get(other + SEARCH)[1]
            assert late["resources"] == there["resources"]  # as if it had been there
            assert get(address + "/health") == get(other + "/health")
        # a page 2 is still that of the ranking by words that page 1 began
        second = get(f"{address}/discovery/search?query=weather&limit=2&cursor={first}")[1]
        words = get(keyword + "/discovery/search?query=weather&limit=4")
        assert [r["resource"] for r in second["resources"]] == ids(words)[2:]


@contextmanager
def serving_later(*options: str | Path) -> Iterator[tuple[str, str]]:
    """Serve, and give what was said before it was ready."""
    command = [*COMMAND, "--api", "--port", "0", *map(str, options)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                if line.startswith("serving"):
                    yield said, line.split(" at ")[1].split("/discovery")[0]
                    return
                said += line
            raise AssertionError(said)
        finally:
            process.kill()


def test_another_model_behind_the_endpoint_is_not_compared_with_what_is_kept(
    embedded_there: Path, endpoint: Endpoint
) -> None:
    with serving(embedded_there, "--system", "hybrid") as (_, address):
        assert get(address + SEARCH)[1]["partialResults"] is False
        endpoint.kill()
        assert get(address + "/discovery/search?query=a")[1]["partialResults"] is True
        endpoint.start("other")
        until(lambda: "gives other vectors" in get(address + "/health")[1]["dense"])
        assert get(address + "/discovery/search?query=b")[1]["partialResults"] is True
        endpoint.kill()
        endpoint.start()
        until(lambda: get(address + "/health")[1]["status"] == "ok")
    # the same where it was away at the start: what is kept is that of the first one
    endpoint.kill()
    with serving_later(embedded_there, "--system", "hybrid") as (_, address):
        endpoint.start("other")
        until(lambda: "gives other vectors" in get(address + "/health")[1]["dense"])
        assert get(address + SEARCH)[1]["partialResults"] is True


def test_an_endpoint_that_refuses_is_told_at_the_start(
    embedded_there: Path, endpoint: Endpoint
) -> None:
    file = embedded_there / "searchmark.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("/v1", "/nothing-here"), encoding="utf-8")
    code, said = refused(embedded_there, "--api", "--system", "dense", "--port", "0")
    assert code == 3
    assert said.startswith("searchmark: error: system 'dense' has no embeddings:")


@pytest.fixture(scope="module")
def on_postgres(
    postgres_server: "PostgresServer", repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Give a project whose one system is the demo's catalog in PostgreSQL."""
    return postgres_project(repository, tmp_path_factory.mktemp("on-postgres"))


def postgres_project(repository: Path, folder: Path) -> Path:
    example = repository / "examples" / "demo-postgres" / "searchmark.toml"
    text = example.read_text(encoding="utf-8")
    data = (repository / "src" / "searchmark" / "demo").as_posix()
    (folder / "searchmark.toml").write_text(text.replace("../../src/searchmark/demo", data))
    return folder


SYSTEM = "hybrid-postgres"


@pytest.mark.slow
def test_partial_results_are_right_while_the_queue_is_worked_off(
    on_postgres: Path, postgres_server: "PostgresServer", start_service: Start
) -> None:
    pytest.importorskip("onnxruntime")
    kept = ("--schema", "served", "--dsn", "${DATABASE_URL}")
    dsn = {"DATABASE_URL": postgres_server.dsn}
    with start_service(on_postgres, SYSTEM, *kept, "--fill", **dsn) as address:
        assert get(address + SEARCH)[1]["partialResults"] is True  # nobody embeds
        health = get(address + "/health")[1]
        assert (health["waiting"], health["vectors"], health["status"]) == (102, 0, "partial")

    with (
        start_service(on_postgres, SYSTEM, *kept, "--workers", "2", **dsn) as address,
        postgres_server.connect() as connection,
    ):
        until(lambda: not get(address + SEARCH)[1]["partialResults"])
        whole = get(address + SEARCH)
        health = get(address + "/health")[1]
        assert (health["waiting"], health["vectors"], health["status"]) == (0, 408, "ok")

        # the dense arm fails in PostgreSQL: vectors of another length cannot be compared
        connection.execute("SET search_path TO served, public")
        connection.execute("CREATE TABLE kept AS SELECT * FROM embedding")
        connection.execute("UPDATE embedding SET vector = '[1]'")
        partial = get(address + SEARCH)
        assert partial[1]["partialResults"] is True
        assert ids(partial) and all("bestText" not in r for r in partial[1]["resources"])
        connection.execute("DELETE FROM embedding")
        connection.execute("INSERT INTO embedding SELECT * FROM kept")
        assert get(address + SEARCH)[1] == whole[1]
        assert whole[1]["resources"][0]["bestText"]

    code, said = refused(on_postgres, "--api", "--system", SYSTEM, "--port", "0", "--fill")
    assert (code, "--fill needs a schema to fill" in said) == (2, True)


@pytest.mark.slow
def test_a_lost_database_is_told_and_found_again(
    own_postgres_server: "PostgresServer",
    repository: Path,
    tmp_path: Path,
    start_service: Start,
) -> None:
    project = postgres_project(repository, tmp_path)
    kept = ("--schema", "served", "--fill", "--threads", "2")
    dsn = {"DATABASE_URL": own_postgres_server.dsn}
    with start_service(project, "keyword-postgres", *kept, **dsn) as address:
        whole = get(address + SEARCH)
        assert whole[1]["partialResults"] is False  # words need no vectors
        own_postgres_server.kill()
        for _ in range(3):
            status, body = get(address + SEARCH)
            assert (status, list(body)) == (503, ["error"])
            # told by the search itself, and not by the end of a request's time
            assert "the catalog cannot be asked at present" in body["error"]
            assert os.fspath(own_postgres_server.dsn) not in body["error"]
        own_postgres_server.start()
        until(lambda: get(address + SEARCH) == whole)


def test_the_variables_of_libpq_name_the_database_of_a_service_too(
    repository: Path,
    tmp_path: Path,
    postgres_server: "PostgresServer",
    start_service: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from psycopg.conninfo import conninfo_to_dict

    file = postgres_project(repository, tmp_path) / "searchmark.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('dsn = "${DATABASE_URL}"\n', ""), encoding="utf-8")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    given = conninfo_to_dict(postgres_server.dsn)
    named = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    variables = {v: str(given[k]) for k, v in named.items() if given.get(k)}
    assert "PGHOST" in variables
    kept = ("--schema", "served_by_libpq", "--fill")
    with start_service(tmp_path, "keyword-postgres", *kept, **variables) as address:
        assert get(address + "/health")[1]["documents"] == 102
        assert ids(get(address + SEARCH))
