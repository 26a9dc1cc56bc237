"""``use = "catalog-postgres"``: a scratch schema for each system, and nothing left of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from searchmark.data import read_corpus
from searchmark.errors import InputError, OutsideError, SystemFailedError
from searchmark.project import read_project
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.connection import (
    Database,
    connect,
    scratch_name,
    scratch_schema,
)
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.systems import catalog_postgres
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Query

from .conftest import WordEncoder, fill

CORPUS = [
    {
        "_id": "rain",
        "serviceName": "Rainy",
        "description": "rain",
        "tags": ["wet"],
        "resource": "r",
    },
    {
        "_id": "snow",
        "serviceName": "Snowy",
        "description": "snow",
        "tags": ["cold"],
        "resource": "s",
    },
]

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["RR"]

[systems.catalog]
use = "catalog-postgres"
dsn = "${{DATABASE_URL}}"
{keys}
"""


@pytest.fixture(autouse=True)
def environment(
    postgres_server: Any, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.dsn)
    monkeypatch.setattr("searchmark.retrieval.encoders.load_encoder", lambda *a, **k: encoder)


@pytest.fixture
def nothing_left(postgres_server: Any) -> Iterator[None]:
    yield
    assert scratches(postgres_server.dsn) == []


def scratches(dsn: str) -> list[str]:
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'searchmark_scratch%'"
        ).fetchall()
    return [name for (name,) in rows]


def project(folder: Path, keys: str = "") -> Path:
    lines = "\n".join(map(json.dumps, CORPUS))
    (folder / "corpus.jsonl").write_text(lines, encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "rain"}', encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\train\t1\n")
    (folder / "searchmark.toml").write_text(PROJECT.format(keys=keys), encoding="utf-8")
    return folder


def opened(folder: Path) -> Pool:
    read = read_project(folder)
    corpus = read_corpus(read.corpus)
    return Pool(read.systems, corpus, folder=folder, cache=folder / "cache")


def test_every_system_has_a_schema_while_it_is_open(
    tmp_path: Path, postgres_server: Any, nothing_left: None
) -> None:
    before = len(scratches(postgres_server.dsn))
    with opened(project(tmp_path)) as pool:
        system = pool.open("catalog")
        answer = system.search(Query("q1", "rain"), 5)
        assert [hit.doc_id for hit in answer.hits] == ["rain", "snow"]
        assert not answer.partial
        assert answer.total == 2
        assert system.tags == {"hybrid"}
        assert system.identity.keys() == {"model", "postgres"}
        assert len(scratches(postgres_server.dsn)) == before + 1


def test_words_need_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    def none(*given: Any, **named: Any) -> Any:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("searchmark.retrieval.encoders.load_encoder", none)
    with opened(project(tmp_path, 'mode = "bm25"')) as pool:
        answer = pool.open("catalog").search(Query("q1", "rain"), 5)
        assert [hit.doc_id for hit in answer.hits] == ["rain"]


def test_vectors_come_from_the_cache_the_second_time(
    tmp_path: Path, encoder: WordEncoder, nothing_left: None
) -> None:
    project(tmp_path)
    with opened(tmp_path) as pool:
        pool.open("catalog")
    encoder.fails = True
    with opened(tmp_path) as pool:
        pool.open("catalog")  # nothing is computed


def test_a_failure_while_it_is_opened_leaves_nothing(
    tmp_path: Path, encoder: WordEncoder, nothing_left: None
) -> None:
    encoder.fails = True
    told = "system 'catalog'.*: 2 documents could not be embedded: .*the model is down"
    with opened(project(tmp_path)) as pool, pytest.raises(OutsideError, match=told):
        pool.open("catalog")


def test_a_document_that_cannot_be_embedded_is_named_on_one_short_line(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    encoder.fails = True
    folder = project(tmp_path)
    odd = {**CORPUS[0], "_id": "a\nb\x1b[2J" + "x" * 1900}
    (folder / "corpus.jsonl").write_text(json.dumps(odd), encoding="utf-8")
    with opened(folder) as pool, pytest.raises(OutsideError) as caught:
        pool.open("catalog")
    # ten signs, 69 and the last one are 80
    assert str(caught.value).endswith(r"(as 'a b\x1b[2J" + "x" * 69 + "…')")


def test_a_failure_while_it_is_open_leaves_nothing(tmp_path: Path, nothing_left: None) -> None:
    with pytest.raises(ZeroDivisionError), opened(project(tmp_path)) as pool:
        pool.open("catalog")
        raise ZeroDivisionError


def test_a_search_that_was_given_up_does_not_hold_the_schema(
    postgres_server: Any, nothing_left: None
) -> None:
    with scratch_schema(postgres_server.dsn) as schema:
        database = Database(postgres_server.dsn, schema).__enter__()
        migrate(database)
        lent = database.connection()
        connection = lent.__enter__()
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM document")  # holds a lock until it ends
    assert scratches(postgres_server.dsn) == []
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    lent.__exit__(None, None, None)
    database.__exit__(None, None, None)


def test_what_a_killed_run_left_is_dropped_by_the_next_and_nothing_else(
    postgres_server: Any, nothing_left: None
) -> None:
    left = scratch_name()
    with connect(postgres_server.dsn) as connection:
        connection.execute(f'CREATE SCHEMA "{left}"'.encode())
        connection.execute(f'CREATE TABLE "{left}".document (x int)'.encode())
    dsn = postgres_server.dsn
    with scratch_schema(dsn) as first, scratch_schema(dsn) as second:
        assert sorted(scratches(dsn)) == sorted([first, second])


def test_names_of_scratch_schemas_say_whose_they_are() -> None:
    name = scratch_name()
    assert name.startswith("searchmark_scratch_")
    assert f"_{os.getpid()}_" in name
    assert len(name) <= 63
    assert name != scratch_name()


SLOW = """
import sys, time
from searchmark.retrieval import encoders
sys.path.insert(0, {tests!r})
from catalog.conftest import WordEncoder

class Slow(WordEncoder):
    def encode(self, texts, *, progress=None):
        print("encoding", flush=True)
        time.sleep(60)

encoders.load_encoder = lambda *given, **named: Slow()
from searchmark.cli.main import main
sys.argv = ["searchmark", "run", sys.argv[1]]
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_or_leaves_it_to_the_next(
    sent: signal.Signals, tmp_path: Path, postgres_server: Any
) -> None:
    tests = str(Path(__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW.format(tests=tests), str(project(tmp_path))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "encoding\n", process.communicate()[1]
    assert len(scratches(postgres_server.dsn)) == 1
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    if sent != signal.SIGKILL:
        assert scratches(postgres_server.dsn) == []
        assert process.returncode == 128 + sent
        return
    assert len(scratches(postgres_server.dsn)) == 1  # nobody was left to drop it
    end = time.monotonic() + 30  # the server notices the lost connections by itself
    while scratches(postgres_server.dsn) and time.monotonic() < end:
        with scratch_schema(postgres_server.dsn):
            pass
    assert scratches(postgres_server.dsn) == []


def test_a_failed_dense_arm_is_an_error_of_dense_and_makes_fused_partial(
    tmp_path: Path, encoder: WordEncoder, nothing_left: None
) -> None:
    for mode in ("dense", "fused"):
        encoder.fails = False
        with opened(project(tmp_path, f'mode = "{mode}"\nretries = 0')) as pool:
            system = pool.open("catalog")
            encoder.fails = True
            if mode == "dense":
                with pytest.raises(SystemFailedError, match="the model is down"):
                    system.search(Query("q1", "rain"), 5)
            else:
                answer = system.search(Query("q1", "rain"), 5)
                assert ([h.doc_id for h in answer.hits], answer.partial) == (["rain"], True)


def test_a_catalog_that_is_there_is_only_read(
    tmp_path: Path, postgres_server: Any, encoder: WordEncoder, nothing_left: None
) -> None:
    document = {"doc_id": "hail", "serviceName": "Haily", "description": "rain"}
    with scratch_schema(postgres_server.dsn) as schema:
        with Database(postgres_server.dsn, schema) as database:
            migrate(database)
            fill(database, [document], Layout(), encoder)
            with opened(project(tmp_path, f'schema = "{schema}"')) as pool:
                answer = pool.open("catalog").search(Query("q1", "rain"), 5)
                assert [hit.doc_id for hit in answer.hits] == ["hail"]
            with database.connection() as connection:
                rows = connection.execute("SELECT doc_id FROM document").fetchall()
        assert rows == [("hail",)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('schema = "nosuch"', "the schema 'nosuch' holds no catalog"),
        ('fields = ["nosuch"]', "the corpus has no field 'nosuch'"),
        ('texts = { name = "nosuch" }', "the corpus has no field 'nosuch'"),
        ('substring = ["nosuch"]', "the corpus has no field 'nosuch'"),
        ('ties = ["nosuch"]', "the corpus has no field 'nosuch'"),
    ],
)
def test_what_cannot_be_opened_is_told(
    keys: str, message: str, tmp_path: Path, nothing_left: None
) -> None:
    with opened(project(tmp_path, keys)) as pool, pytest.raises(InputError, match=message):
        pool.open("catalog")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("fields = []", "systems.catalog.fields: names no field"),
        ("fields = { serviceName = 0 }", "fields.serviceName: the weight 0 is not above 0"),
        ("texts = {}", "systems.catalog.texts: names no field"),
        ('schema = ""', "systems.catalog.schema: is no name of 1 to 63 bytes"),
        ("relax = true", 'relax: has no use with mode = "fused"'),
        ('mode = "words"', "mode"),
        ("constraints = [{ pattern = '(', field = 'x' }]", "constraints"),
    ],
)
def test_what_makes_no_catalog_is_told_with_its_key(
    keys: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        read_project(project(tmp_path, keys))
    assert message in str(caught.value)


def test_a_password_written_out_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path)
    text = (folder / "searchmark.toml").read_text()
    secret = text.replace("${DATABASE_URL}", "postgresql://u:hunter2secret@localhost/db")
    (folder / "searchmark.toml").write_text(secret)
    with pytest.raises(InputError, match="dsn: holds a password written out"):
        read_project(folder)


def test_a_server_that_is_not_there_is_told_without_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = "host=127.0.0.1 port=1 user=u password=hunter2secret"
    monkeypatch.setenv("DATABASE_URL", dsn)
    with opened(project(tmp_path)) as pool, pytest.raises(OutsideError) as caught:
        pool.open("catalog")
    assert "hunter2secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_psycopg_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "searchmark.retrieval.postgres.catalog", None)
    with (
        opened(project(tmp_path)) as pool,
        pytest.raises(InputError, match=r"needs psycopg; pip install 'searchmark\[postgres\]'"),
    ):
        pool.open("catalog")


def test_opening_the_module_loads_no_psycopg() -> None:
    program = "import sys, searchmark.systems.catalog_postgres; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
    assert catalog_postgres.CATALOG_POSTGRES.config is catalog_postgres.Config
    assert psycopg.__version__
