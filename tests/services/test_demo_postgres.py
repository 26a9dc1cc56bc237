"""`make demo-postgres` that is ended by a signal: its run ends with it, and drops its schemas."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from conftest import PostgresServer

pytest.importorskip("psycopg_pool")

PROJECT = """
corpus = "WHERE/catalog.jsonl"
queries = "WHERE/queries.jsonl"
qrels = "WHERE/qrels.tsv"

[systems.keyword]
use = "catalog-postgres"
dsn = "${DATABASE_URL}"
mode = "bm25"
fields = { name = 3, tags = 3, description = 1, url = 0.5 }
texts = { name = "name", description = "description", tags = "tags" }
rate_per_s = 2
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_clears_away_what_it_started(
    sent: signal.Signals, repository: Path, tmp_path: Path, postgres_server: "PostgresServer"
) -> None:
    data = (repository / "src" / "searchmark" / "demo").as_posix()
    (tmp_path / "searchmark.toml").write_text(PROJECT.replace("WHERE", data))
    script = repository / "examples" / "demo-postgres" / "run.py"
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DATABASE_URL": postgres_server.dsn},
        start_new_session=True,
    )
    try:
        while not any((tmp_path / ".searchmark" / "journal").glob("*")):  # it asks
            assert process.poll() is None
            sleep(0.05)
        (run,) = psutil.Process(process.pid).children()
        assert len(scratches(postgres_server)) == 1
        if sent == signal.SIGINT:
            os.killpg(process.pid, sent)  # a terminal sends it to both
        else:
            process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + sent
    assert "the same command goes on from there" in said and "Traceback" not in said
    assert not run.is_running()
    assert scratches(postgres_server) == []


def scratches(server: "PostgresServer") -> list[tuple[str]]:
    with server.connect() as connection:
        return connection.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'searchmark_scratch_')"
        ).fetchall()
