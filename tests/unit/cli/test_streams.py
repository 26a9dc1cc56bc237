"""Streams that are closed, full or gone, and errors that hold line ends: the exit code still tells.

Each command is called through a shell, which closes its streams.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
complete = true
[systems.mine]
use = "python"
callable = "mine_streams:search"
[gate]
system = "mine"
max_drop = 0.1
"""
GOOD = "def search(text, k): return ['d1']\n"
BAD = "def search(text, k): return ['d2', 'd1']\n"
NO_WRITING = "</dev/null"
"""Opened for reading: what is written fails, as it does on a full disk."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.jsonl").write_text('{"_id": "d1", "text": "a"}\n{"_id": "d2", "text": "b"}\n')
    (tmp_path / "q.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    (tmp_path / "r.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    (tmp_path / "mine_streams.py").write_text(GOOD)
    return tmp_path


def call(folder: Path, line: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line of ours in `folder`, with what a shell does to its streams."""
    code = "import sys; from searchmark.cli.main import main; main(sys.argv[1:])"
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {line}', sys.executable, code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_verdict_needs_no_stream(folder: Path) -> None:
    assert call(folder, "baseline accept 2>&-").returncode == 0
    for module, code in ((GOOD, 0), (BAD, 1)):
        (folder / "mine_streams.py").write_text(module)
        for streams in (">&-", "2>&-", "<&- >&- 2>&-", f"2{NO_WRITING}"):
            done = call(folder, f"gate {streams}")
            assert (done.returncode, done.stderr) == (code, ""), streams


def test_results_that_cannot_be_written_are_a_failure_outside(folder: Path) -> None:
    done = call(folder, f"run 1{NO_WRITING}")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("searchmark: error: the machine refused: ")


def test_an_error_that_cannot_be_written_keeps_its_code(folder: Path) -> None:
    for streams in (f"2{NO_WRITING}", "2>&-"):
        assert call(folder, f"eval nope nope {streams}").returncode == 2


def test_what_a_system_does_to_the_process_changes_no_verdict(folder: Path) -> None:
    bad = "import os, sys\nprint('noise')\nos.write(1, b'noise')\n" + BAD.replace(
        "return", "sys.stdout.close(); sys.stderr.close(); os.close(1); return"
    )
    assert call(folder, "baseline accept").returncode == 0
    (folder / "mine_streams.py").write_text(bad)
    done = call(folder, "gate --format json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["passed"] is False
    for end in ("os._exit(0)", "exit(0)", "os.execlp('true', 'true')"):
        (folder / "mine_streams.py").write_text(f"import os\ndef search(text, k): {end}\n")
        assert call(folder, "gate").returncode == 3
        (folder / "mine_streams.py").write_text(f"import os\n{end}\n")
        assert call(folder, "gate").returncode == 2


def test_values_with_line_ends_are_told_on_one_line(folder: Path) -> None:
    done = call(folder, "eval 'a\nb' r.qrels")
    assert (done.returncode, done.stderr) == (
        2,
        "searchmark: error: a b: no such file; check the path\n",
    )
    (folder / "mine_streams.py").write_text("def search(text, k): raise ValueError('a\\nb')\n")
    lines = call(folder, "run").stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["mine", "searchmark"]
    assert "ValueError: a b; the answers so far" in lines[1]


def test_a_project_file_has_a_line_for_each_problem(folder: Path) -> None:
    text = PROJECT.replace('["RR"]', '["a\\nb", "R\\nR"]')
    (folder / "searchmark.toml").write_text(text)
    lines = call(folder, "run").stderr.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("searchmark.toml: 2 problems in the project file:")
    assert lines[1].startswith("  measures[0]: ")
    assert lines[2].startswith("  measures[1]: ")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("max_drop = 0.1", 'baseline = "\\u0000"', "gate.baseline"),
        (
            'use = "python"\ncallable = "mine_streams:search"',
            'use = "run"\npath = "\\u0000"',
            "path",
        ),
    ],
)
def test_a_path_that_cannot_be_is_a_problem_of_the_project(
    folder: Path, old: str, new: str, key: str
) -> None:
    (folder / "searchmark.toml").write_text(PROJECT.replace(old, new))
    for command in ("gate", "baseline accept"):
        done = call(folder, command)
        assert done.returncode == 2
        assert f"{key}: is no path" in done.stderr
