"""A run that is killed with -9 resumes, and its run and scores are those of an undisturbed one."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = """
corpus = "{data}/corpus.jsonl"
queries = "{data}/queries.jsonl"
qrels = "{data}/qrels.tsv"
measures = ["nDCG@10", "RR"]
depth = 20

[systems.bm25]
use = "bm25"
candidates = "or"

[systems.dense]
use = "dense"
fields = ["title"]

[systems.fused]
use = "hybrid"
of = ["bm25", "dense"]
"""

COMMAND = [sys.executable, "-c", "from searchmark.cli.main import main; main()", "run"]


def make_project(folder: Path, data: Path) -> Path:
    folder.mkdir()
    (folder / "searchmark.toml").write_text(PROJECT.format(data=data.as_posix()))
    return folder


def kill_when(folder: Path, reached: Callable[[], bool]) -> None:
    """Start a run and kill it with SIGKILL once `reached`; it must not have ended by itself."""
    process = subprocess.Popen(
        [*COMMAND, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not reached():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def finish(folder: Path) -> dict[str, Path]:
    done = subprocess.run([*COMMAND, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return bundles(folder)


def bundles(folder: Path) -> dict[str, Path]:
    """Return system -> bundle."""
    found = {}
    for manifest in (folder / ".searchmark" / "runs").glob("*/manifest.json"):
        found[json.loads(manifest.read_text())["system"]] = manifest.parent
    return found


def n_answers(folder: Path) -> int:
    """Return how many answers all journals hold: those of a finished system stay till the end."""
    journals = (folder / ".searchmark" / "journal").glob("*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in journals)


def n_vectors(folder: Path) -> int:
    path = folder / ".searchmark" / "embeddings.sqlite"
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            tables = [r[0] for r in db.execute("select name from sqlite_master where type='table'")]
            return max(
                (db.execute(f"select count(*) from {name}").fetchone()[0] for name in tables),
                default=0,
            )
    except sqlite3.OperationalError:
        return 0


def test_killed_runs_resume_to_the_same_bytes(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "web-guides"
    undisturbed = finish(make_project(tmp_path / "undisturbed", data))
    folder = make_project(tmp_path / "killed", data)

    kill_when(folder, lambda: n_answers(folder) >= 100)  # in the middle of the keyword system
    answered = n_answers(folder)
    assert 100 <= answered < 748
    kill_when(folder, lambda: n_vectors(folder) >= 64)  # while the corpus is embedded
    assert n_answers(folder) == 748
    kill_when(folder, lambda: n_answers(folder) >= 748 + 100)  # in the middle of the dense system

    resumed = finish(folder)
    assert sorted(resumed) == ["bm25", "dense", "fused"]
    for system, bundle in resumed.items():
        assert bundle.name == undisturbed[system].name
        for name in ("run.parquet", "scores.parquet"):
            same = (bundle / name).read_bytes() == (undisturbed[system] / name).read_bytes()
            assert same, f"{system}: {name} differs"
    assert n_answers(folder) == 0
