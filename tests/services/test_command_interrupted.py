"""A run that is ended from outside leaves no program behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark.systems.command.warden import MARK

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"

[systems.cli]
use = "command"
argv = ["sh", "-c", "echo $$ >> began; setsid sleep {{seconds}} & sleep 120; echo", "sh", "{query}"]
ids = "[]"
timeout_s = 100
concurrency = {concurrency}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "red"}\n')
    lines = [f'{{"_id": "q{i}", "text": "red"}}\n' for i in range(4)]
    (tmp_path / "queries.jsonl").write_text("".join(lines))
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td1\t1\n")
    return tmp_path


def left(value: str) -> list[str]:
    """Return the commands of processes whose environment holds `value`."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if value.encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing(
    project: Path, ending: signal.Signals, concurrency: int
) -> None:
    text = PROJECT.replace("{concurrency}", str(concurrency)).replace("{{seconds}}", "120")
    (project / "searchmark.toml").write_text(text)
    ours = f"SEARCHMARK_TEST={project}"
    environment = {k: v for k, v in os.environ.items() if k != MARK}
    process = subprocess.Popen(
        [sys.executable, "-c", "from searchmark.cli.main import main; main()", "run"],
        cwd=project,
        env={**environment, "SEARCHMARK_TEST": str(project)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        began = project / "began"
        assert wait_until(lambda: began.exists() and began.read_text().count("\n") == concurrency)
        assert wait_until(lambda: sum("sleep" in c for c in left(ours)) >= 2 * concurrency)
        process.send_signal(ending)
        assert wait_until(lambda: process.poll() is not None), "the run goes on"
        assert wait_until(lambda: left(ours) == []), left(ours)
        assert began.read_text().count("\n") == concurrency  # and no further query was asked
    finally:
        process.kill()
        process.communicate()
