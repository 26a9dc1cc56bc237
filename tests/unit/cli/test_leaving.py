"""A process ends soon after its results, whatever code under test left running in it."""

import subprocess
import sys
from pathlib import Path

import pytest

START = "import searchmark.cli.leaving as l; l.GRACE_S = 0.2; from searchmark.cli.main import main"

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["RR"]

[systems.mine]
use = "python"
callable = "mine:search"
"""

LEFT = {
    "thread": "threading.Thread(target=time.sleep, args=(60,)).start()",
    "pool": "ThreadPoolExecutor(1).submit(time.sleep, 60)",
    "process": "multiprocessing.Process(target=time.sleep, args=(60,)).start()",
    "at the end": "atexit.register(time.sleep, 60)",
}


def run(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    (folder / "mine.py").write_text(
        "import atexit, multiprocessing, threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        f"def search(text, k):\n    {body}\n    return ['d1']\n"
    )
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "a"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "red"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    (folder / "searchmark.toml").write_text(PROJECT)
    return subprocess.run(
        [sys.executable, "-c", f"{START}; main()", "run", "--format", "csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=50,  # 60 are slept
    )


@pytest.mark.parametrize("what", LEFT)
def test_what_is_left_running_is_ended(tmp_path: Path, what: str) -> None:
    done = run(tmp_path, LEFT[what])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("system,")
    assert done.stderr.endswith("code under test went on behind its calls, and was ended\n")


def test_nothing_is_written_behind_the_results(tmp_path: Path) -> None:
    done = run(tmp_path, "atexit.register(print, 'last words')")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("system,")
    assert done.stderr.endswith("last words\n")
    assert "last words" not in done.stdout
