"""No secret of the environment gets out, and no query is harmed on its way, in any kind of system.

Each kind is made to fail in ways that show a secret: in exceptions, on standard error, in what a
server answers, in what libraries log. Then it is looked for in all that was printed and kept.
"""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

import polars as pl
import pytest

from searchmark.systems import SYSTEMS

SECRET = 'pl4nted/Zq8+Wv3=Kd6&Yt9"Rx2'
PLAIN = "plainPlantedZq8Wv3Kd6Yt9Rx2"
"""One without signs, for libraries that refuse others."""

ENVIRONMENT = {"ENGINE_TOKEN": SECRET, "ENGINE_PASSWORD": PLAIN}

SAFE = {"bm25", "bm25s", "dense", "hybrid", "rerank", "run", "tantivy"}
"""Kinds that reach nothing by themselves: files, and other systems. Those of them that can be
given a server are in CASES as well."""

QUERIES = ("refused", "broken", "odd", "silent")
"""What the echoing server is asked, and so does."""

PADDING = {"refused": 0, "broken": 185, "odd": 60, "silent": 30}
"""How much comes before the secret: it is to stand where messages are cut."""

PYTHON = """
import base64, json, logging, os, sys
from urllib.parse import quote

logging.getLogger("engine").warning("imported with %s", os.environ["ENGINE_TOKEN"])
secret, password = os.environ["ENGINE_TOKEN"], os.environ["ENGINE_PASSWORD"]


def told(text):
    with open(os.path.join(os.path.dirname(__file__), "asked.jsonl"), "a") as asked:
        asked.write(json.dumps(text) + "\\n")
    basic = base64.b64encode(f"user:{secret}".encode()).decode()
    written = [secret, quote(secret, safe=""), json.dumps(secret), repr(secret), basic, password]
    print("printed", *written)
    print("printed", *written, file=sys.stderr)
    logging.getLogger("engine").warning("headers %r", {"Authorization": "Basic " + basic})
    if text == "silent":
        return "x" * 190 + secret
    try:
        raise ConnectionError(f"http://user:{password}@host/?key={written[1]}")
    except ConnectionError as error:
        raise ValueError("x" * 190 + " ".join(written)) from error
"""

FUNCTION = PYTHON + "\n\ndef search(text, k):\n    return told(text)\n"

LANGCHAIN = (
    PYTHON
    + """

from langchain_core.retrievers import BaseRetriever


class Mine(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return told(query)


made = Mine()
"""
)
LLAMAINDEX = (
    PYTHON
    + """

from llama_index.core.retrievers import BaseRetriever


class Mine(BaseRetriever):
    def _retrieve(self, query):
        return told(query.query_str)


made = Mine()
"""
)
HAYSTACK = (
    PYTHON
    + """

from haystack import Pipeline, component


@component
class Mine:
    @component.output_types(documents=list)
    def run(self, query: str, top_k: int = 10):
        return {"documents": told(query)}


made = Pipeline()
made.add_component("retriever", Mine())
"""
)

PROGRAM = """
import json, os, sys
with open("asked.jsonl", "a") as asked:
    asked.write(json.dumps(sys.argv[1]) + "\\n")
print("begin", os.environ["API_KEY"], file=sys.stderr)
if sys.argv[1] == "odd":
    print(os.environ["API_KEY"] * 9)
elif sys.argv[1] == "silent":
    print('[{"name": "%s"}]' % os.environ["ENGINE_PASSWORD"])
else:
    sys.exit("x" * 150 + os.environ["ENGINE_PASSWORD"] + os.environ["API_KEY"])
"""

TOKEN, PASSWORD = "${ENGINE_TOKEN}", "${ENGINE_PASSWORD}"

INSIDE = {"bm25": {"use": "bm25", "candidates": "or"}}


def of_server(url: str) -> dict[str, dict[str, Any]]:
    """Return systems that send secrets to the server, each with what it is made of."""
    index = {"index": "docs", "fields": ["text"]}
    endpoint = {"url": url, "model": "m", "key": TOKEN}
    return {
        "http": {
            "use": "http",
            "url": url + "/search?api_key=${ENGINE_PASSWORD}",
            "params": {"q": "{query}", "token": TOKEN},
            "headers": {"X-Api-Key": TOKEN},
            "ids": "hits[].id",
        },
        "http basic": {
            "use": "http",
            "url": url + "/search?q={query}",
            "basic": f"user:{TOKEN}",
            "ids": "hits[].id",
        },
        "opensearch": {"use": "opensearch", "hosts": [url], "basic": f"user:{TOKEN}", **index},
        "elasticsearch": {"use": "elasticsearch", "hosts": [url], "api_key": TOKEN, **index},
        "elasticsearch bearer": {"use": "elasticsearch", "hosts": [url], "bearer": TOKEN, **index},
        "chat": {"use": "chat", **endpoint},
        "dense endpoint": {"use": "dense", "endpoint": endpoint},
        "rerank endpoint": {"use": "rerank", "of": "bm25", "endpoint": endpoint},
        "hybrid of http": {"use": "hybrid", "of": ["arm"]},
        "postgres": {"use": "postgres", "dsn": TOKEN, "sql": "search.sql"},
        "catalog-postgres": {
            "use": "catalog-postgres",
            "dsn": f"postgresql://user:{PASSWORD}@127.0.0.1:1/db",
            "fields": ["title"],
            "mode": "bm25",
        },
        "catalog-postgres endpoint": {
            "use": "catalog-postgres",
            "dsn": "${DATABASE_URL}",
            "fields": ["text"],
            "texts": {"description": "text"},
            "ties": [],
            "endpoint": endpoint,
        },
        "postgres password": {
            "use": "postgres",
            "dsn": f"postgresql://user:{PASSWORD}@127.0.0.1:1/db",
            "sql": "search.sql",
        },
        "python": {"use": "python", "callable": "engine:search"},
        "command": {
            "use": "command",
            "argv": [sys.executable, "program.py", "{query}"],
            "env": {"API_KEY": TOKEN},
            "ids": "[].id",
        },
        "langchain": {"use": "langchain", "retriever": "lc:made"},
        "llamaindex": {"use": "llamaindex", "retriever": "li:made"},
        "haystack": {"use": "haystack", "retriever": "hs:made"},
    }


QUIET = {"catalog-postgres", "postgres", "postgres password"}
"""Cases in which nothing is told that a secret would stand in: of addresses no piece is told."""

CASES = tuple(of_server("http://127.0.0.1:1"))


def test_every_kind_has_a_case() -> None:
    covered = {table["use"] for table in of_server("http://127.0.0.1:1").values()}
    assert set(SYSTEMS.names()) == covered | SAFE


def strings_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for v in inside for text in strings_in(v)]


class Echo(BaseHTTPRequestHandler):
    """Fails, and tells all that it was sent."""

    protocol_version = "HTTP/1.1"
    received: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        asked = self.path + sent
        self.received.extend(text for _, text in parse_qsl(urlsplit(self.path).query))
        self.received.extend(strings_in(json.loads(sent or "null")))
        seen = {"path": self.path, "headers": dict(self.headers), "body": sent}
        before = next((n for word, n in PADDING.items() if word in asked), 0)
        told = "x" * before + " ".join(self.secrets()) + json.dumps(seen) + repr(seen)
        if "refused" in asked:
            self.answer(401, json.dumps({"error": told, "message": told}))
        elif "broken" in asked:
            self.answer(500, told)
        elif "silent" in asked:
            self.answer(200, json.dumps({"error": {"reason": told, "type": told}, "hits": told}))
        else:
            self.answer(200, "{" + told)

    def do_POST(self) -> None:
        self.do_GET()

    def do_HEAD(self) -> None:
        self.do_GET()

    def secrets(self) -> Iterator[str]:
        yield from (
            v for k, v in self.headers.items() if k.lower() in ("authorization", "x-api-key")
        )
        yield self.path

    def answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


COMMANDS = """
import logging, sys
logging.basicConfig(level=logging.DEBUG)
from searchmark.cli.main import main
for command in sys.argv[2:]:
    try:
        main([*command.split(), sys.argv[1]])
    except SystemExit as end:
        print(command, "ended with", end.code or 0, flush=True)
"""


def call(folder: Path, *commands: str) -> subprocess.CompletedProcess[bytes]:
    """Run commands on the project one after the other in a process, which logs all there is."""
    return subprocess.run(
        [sys.executable, "-c", COMMANDS, str(folder), *commands],
        capture_output=True,
        check=False,
        timeout=240,
        env={**os.environ, **ENVIRONMENT, "HAYSTACK_TELEMETRY_ENABLED": "False"},
    )


PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["RR"]
gate = {system = "subject"}
"""


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def write_project(
    folder: Path, systems: Mapping[str, Any], queries: Sequence[str] = QUERIES
) -> None:
    folder.mkdir(exist_ok=True)
    files = {
        "corpus.jsonl": '{"_id": "d1", "text": "refused broken odd silent"}\n',
        "queries.jsonl": "".join(
            json.dumps({"_id": f"q{i}", "text": q}) + "\n" for i, q in enumerate(queries)
        ),
        "qrels.tsv": "".join(f"q{i} 0 d1 1\n" for i in range(len(queries))),
        "good.trec": "".join(f"q{i} Q0 d1 1 1.0 good\n" for i in range(len(queries))),
        "search.sql": "SELECT id FROM docs WHERE text = %(query)s LIMIT %(k)s",
        "engine.py": FUNCTION,
        "program.py": PROGRAM,
        "lc.py": LANGCHAIN,
        "li.py": LLAMAINDEX,
        "hs.py": HAYSTACK,
        "searchmark.toml": PROJECT
        + "".join(
            f"[systems.{json.dumps(name)}]\n"
            + "".join(f"{k} = {toml(v)}\n" for k, v in table.items())
            for name, table in systems.items()
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The numbers of a good run over the same files, which the gate holds the others against."""
    folder = tmp_path_factory.mktemp("baseline")
    write_project(folder, {"subject": {"use": "run", "path": "good.trec"}})
    done = call(folder, "baseline accept")
    assert b"ended with 0" in done.stdout, done.stderr
    return (folder / "baseline.json").read_bytes()


def found_in(text: str) -> list[str]:
    """Return the writings of a secret that stand in text: whole ones, and ten signs in a row."""
    written = []
    for secret in (SECRET, PLAIN):
        written += [secret, quote(secret), quote(secret, safe=""), quote_plus(secret)]
        written += [json.dumps(secret)[1:-1], repr(secret)[1:-1], repr(secret.encode())[2:-1]]
        written += [secret[i : i + 10] for i in range(len(secret) - 9)]
        for before in ("", "u", "us", "user:", "Bearer "):
            raw = (before + secret).encode()
            written += [
                f(raw).decode()[12:24] for f in (base64.b64encode, base64.urlsafe_b64encode)
            ]
    lowered = text.lower()
    return [w for w in written if w in text or ("%" in w and w.lower() in lowered)]


def kept_in(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes().decode("utf-8", "replace")
            if path.suffix == ".parquet":
                yield path, str(pl.read_parquet(path).to_dicts())


@pytest.mark.parametrize("case", CASES)
def test_no_secret_gets_out(
    case: str,
    echo: str,
    baseline: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    tables = of_server(echo)
    if tables[case].get("dsn") == "${DATABASE_URL}":  # a real one: what fails comes after it
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_server").dsn)
    limits = {"retries": 0, "timeout_s": 10} if case != "hybrid of http" else {}
    systems = {"subject": {**tables[case], **limits}, **INSIDE}
    if case == "hybrid of http":
        systems["arm"] = {**tables["http"], "retries": 0}
    folder = tmp_path / "project"
    write_project(folder, systems)
    (folder / "baseline.json").write_bytes(baseline)
    done = call(folder, "run", "gate", "diagnose", "run --format json --debug")
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "ended with 0" not in out.split("diagnose")[0], out + err  # it did fail, each time
    assert found_in(out) == [], out
    assert found_in(err) == [], err
    assert case in QUIET or "${ENGINE_" in out + err, (
        "nothing was told that holds a secret: the case shows nothing"
    )
    for path, text in kept_in(folder / ".searchmark"):
        assert found_in(text) == [], path


@pytest.mark.parametrize("more", ["", " --once --requeue"])
def test_no_secret_gets_out_of_a_worker(
    more: str, echo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_server: Any
) -> None:
    from searchmark.retrieval.postgres.connection import Database, scratch_schema
    from searchmark.retrieval.postgres.migrating import migrate

    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)
    folder = tmp_path / "project"
    write_project(folder, {"subject": of_server(echo)["catalog-postgres endpoint"]})
    with scratch_schema(postgres_server.dsn) as schema:
        with Database(postgres_server.dsn, schema) as database:
            migrate(database)
        done = call(folder, f"work --schema {schema}{more}")
    told = (done.stdout + done.stderr).decode()
    assert "ended with 3" in told, told
    assert found_in(told) == [], told
    assert "${ENGINE_" in told, "nothing was told that holds a secret: the case shows nothing"


HARMFUL = (
    "odd \"quoted\" 'single' {k} {query} ${HOME} %s %(query)s",
    "odd line\nbreak\ttab\\back\\nslash",
    "odd'; DROP TABLE docs; -- $(touch x) `touch y`",
    "-odd --help &amp; a=b&c=d#e+f",
    "odd \u00e9 \U0001f600 \u202e",
)

ELSEWHERE = {
    *("catalog-postgres", "catalog-postgres endpoint", "dense endpoint"),
    *("postgres", "postgres password"),
}
"""A real server takes harmful queries in tests/contract; here documents fail before queries."""


@pytest.mark.parametrize("case", [c for c in CASES if c not in ELSEWHERE])
def test_a_query_arrives_as_it_is(case: str, echo: str, tmp_path: Path) -> None:
    tables = of_server(echo)
    Echo.received.clear()
    folder = tmp_path / "project"
    limits = {} if case == "hybrid of http" else {"retries": 0}
    systems = {"subject": {**tables[case], **limits}, **INSIDE, "arm": tables["http"]}
    write_project(folder, systems, HARMFUL)
    done = call(folder, "run --system subject")
    asked = folder / "asked.jsonl"
    arrived = list(Echo.received)
    if asked.exists():
        arrived += map(json.loads, asked.read_text().splitlines())
    if case == "chat":  # the prompt is one text, the query its last part
        arrived = [next((q for q in HARMFUL if q in text), text) for text in arrived]
    assert [q for q in HARMFUL if q not in arrived] == [], done.stderr.decode()
    assert sorted(p.name for p in folder.iterdir() if p.name in "xy") == []


def test_the_search_for_secrets_finds_them() -> None:
    header = base64.b64encode(f"user:{SECRET}".encode()).decode()
    shown = (SECRET, quote(SECRET).lower(), json.dumps(SECRET), SECRET[3:14], header, f"x{PLAIN}")
    assert all(found_in(f"<{text}>") for text in shown)
    assert found_in("${ENGINE_TOKEN} and ${ENGINE_PASSWORD}") == []
