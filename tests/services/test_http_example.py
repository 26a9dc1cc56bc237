"""The example of HTTP runs as it is, against its own server."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project


@pytest.fixture
def example(repository: Path, tmp_path: Path) -> Iterator[Path]:
    """Copy the project and start its server, on a free port that is written into the copy."""
    folder = tmp_path / "example"
    ignored = shutil.ignore_patterns(".searchmark", "__pycache__")
    shutil.copytree(repository / "examples" / "http-api", folder, ignore=ignored)
    command = [sys.executable, str(folder / "server.py"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        project = folder / "searchmark.toml"
        text = project.read_text(encoding="utf-8")
        assert text.count("http://127.0.0.1:8123") == 2
        project.write_text(text.replace("http://127.0.0.1:8123", address), encoding="utf-8")
        yield project
    finally:
        process.kill()
        process.communicate()


def test_both_systems_find_the_same(example: Path) -> None:
    found = run_experiment(read_project(example), sensitivity=False)
    found.check()
    discovery, paged = ({c.query_id: c.doc_ids for c in o.calls} for o in found.outcomes)
    assert discovery == paged
    # all of wind, at, sea; then two words of the three ("at" in trains: one)
    assert discovery["q1"][0] == "wind"
    # when, ferries, leave, harbour against single words
    assert discovery["q2"][0] == "ferries"
    assert discovery["q3"] == ["ferries", "trains"]
    assert discovery["q4"] == []
    statuses = [[c.status for c in outcome.calls] for outcome in found.outcomes]
    assert statuses == [["ok", "ok", "ok", "empty"]] * 2
