"""A run that is killed with -9 resumes, and its run and scores are those of an undisturbed one."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

N_QUERIES = 748

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

MAIN = "from searchmark.cli.main import main; main()"

KILLING = """
import os, signal
from {module} import {owner}

kept = {owner}.{method}
left = {n}

def killing(*arguments):
    global left
    done = kept(*arguments)
    left -= {worth}
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

{owner}.{method} = killing
"""
"""Ends the process with SIGKILL just after so much was kept: watched from outside, a quick
machine is past that moment before anybody looks."""

AFTER_ANSWERS = {
    "module": "searchmark.experiments.journal",
    "owner": "Journal",
    "method": "append",
    "worth": "1",
}
AFTER_VECTORS = {
    "module": "searchmark.retrieval.vectors",
    "owner": "VectorCache",
    "method": "put",
    "worth": "len(arguments[2])",
}


def make_project(folder: Path, data: Path) -> Path:
    folder.mkdir()
    (folder / "searchmark.toml").write_text(PROJECT.format(data=data.as_posix()))
    return folder


def killed_after(folder: Path, n: int, what: dict[str, str]) -> None:
    """Start a run that is killed once `n` more of something are kept."""
    script = KILLING.format(n=n, **what) + MAIN
    done = subprocess.run(
        [sys.executable, "-c", script, "run", str(folder)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def finish(folder: Path) -> dict[str, Path]:
    command = [sys.executable, "-c", MAIN, "run", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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
    """Return how many vectors are kept."""
    with closing(sqlite3.connect(folder / ".searchmark" / "embeddings.sqlite")) as db:
        names = [r[0] for r in db.execute("select name from sqlite_master where type = 'table'")]
        return max(db.execute(f"select count(*) from {name}").fetchone()[0] for name in names)


def test_killed_runs_resume_to_the_same_bytes(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "web-guides"
    undisturbed = finish(make_project(tmp_path / "undisturbed", data))
    folder = make_project(tmp_path / "killed", data)

    killed_after(folder, 100, AFTER_ANSWERS)  # in the middle of the keyword system
    assert n_answers(folder) == 100
    killed_after(folder, 64, AFTER_VECTORS)  # while the corpus is embedded
    assert n_answers(folder) == N_QUERIES
    assert n_vectors(folder) >= 64
    killed_after(folder, 100, AFTER_ANSWERS)  # in the middle of the dense system
    assert n_answers(folder) == N_QUERIES + 100

    resumed = finish(folder)
    assert sorted(resumed) == ["bm25", "dense", "fused"]
    for system, bundle in resumed.items():
        assert bundle.name == undisturbed[system].name
        for name in ("run.parquet", "scores.parquet"):
            same = (bundle / name).read_bytes() == (undisturbed[system] / name).read_bytes()
            assert same, f"{system}: {name} differs"
    assert n_answers(folder) == 0
