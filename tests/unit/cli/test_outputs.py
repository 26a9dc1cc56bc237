"""Every path that a command writes, where nothing can be written: a sentence, and exit code 2."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark.cli.main import main
from searchmark.experiments.restart import Suggestion, write_suggestion
from searchmark.project import read_project

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR"]
[systems.keyword]
use = "bm25"
fields = { name = 1 }
[gate]
system = "keyword"
"""


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def links_in_a_circle(path: Path) -> None:
    other = path.with_name(f"{path.name}-2")
    other.symlink_to(path.name)
    path.symlink_to(other.name)


def folder(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_text("mine")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_nowhere(path: Path) -> None:
    """Lead into a folder that nobody can make anything in, not even an administrator."""
    path.symlink_to("/proc/searchmark/file")


STATES = [link_to_itself, links_in_a_circle, folder, pipe, link_to_nowhere]

WRITTEN = {
    "gate --json": (["gate", ".", "--json", "out"], "out"),
    "gate --junit": (["gate", ".", "--junit", "out"], "out"),
    "gate --markdown": (["gate", ".", "--markdown", "out"], "out"),
    "gate, below": (["gate", ".", "--json", "out/gate.json"], "out"),
    "baseline accept": (["baseline", "accept", "."], "baseline.json"),
    "baseline key": (["baseline", "accept", "kept.toml"], "accepted.json"),
    "init --force": (["init", ".", "--force"], "searchmark.toml"),
    "rolling --history": (["rolling", "http://127.0.0.1:1", "--history", "out"], "out"),
    "rolling's lock": (["rolling", "http://127.0.0.1:1", "--history", "out"], ".out.lock"),
    "demo": (["demo", "out"], "out/catalog.jsonl"),
    "guide, project": (
        ["guide", "out", "--no-input", "--no-dense", "--documents", "corpus.jsonl"],
        "out/searchmark.toml",
    ),
    "guide, qrels": (
        ["guide", "out", "--no-input", "--no-dense", "--documents", "corpus.jsonl"],
        "out/qrels.tsv",
    ),
    "guide, answers": (
        ["guide", "out", "--no-input", "--no-dense", "--documents", "corpus.jsonl"],
        "out/.searchmark",
    ),
    "run, what it keeps": (["run", "."], ".searchmark"),
}
"""What is called, and the path that it writes."""

FITS = {("gate, below", folder), ("guide, answers", folder), ("run, what it keeps", folder)}
"""A folder is what is wanted there."""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"d1": "amber", "d2": "cobalt"}
    lines = [json.dumps({"id": i, "name": name}) + "\n" for i, name in names.items()]
    Path("corpus.jsonl").write_text("".join(lines))
    Path("queries.jsonl").write_text('{"id": "q1", "text": "amber"}\n')
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    Path("searchmark.toml").write_text(PROJECT)
    Path("kept.toml").write_text(f'{PROJECT}baseline = "accepted.json"\n')


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


CASES = [(name, state) for name in WRITTEN for state in STATES if (name, state) not in FITS]


@pytest.mark.parametrize(("name", "state"), CASES, ids=[f"{n}: {s.__name__}" for n, s in CASES])
def test_a_path_that_cannot_be_written_is_told_in_a_sentence(
    name: str, state: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, written = WRITTEN[name]
    if name.startswith("gate"):
        assert call("baseline", "accept", ".") == 0
    if name.startswith("guide"):
        arguments = [*arguments, "--queries", "queries.jsonl"]
    path = Path(written)
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    state(path)
    before = {p: p.lstat().st_mode for p in Path().rglob("*") if p == path or path in p.parents}
    capsys.readouterr()
    assert call(*arguments) == 2
    errors = re.findall(r"^searchmark: error: .*$", told := capsys.readouterr().err, re.M)
    assert len(errors) == 1 and told.endswith(errors[0] + "\n")
    assert "Traceback" not in told
    after = {p: p.lstat().st_mode for p in before}
    assert after == before  # what stood there still stands there


def test_what_stands_in_the_way_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    folder(Path("baseline.json"))
    assert call("baseline", "accept", ".") == 2
    where = Path("baseline.json").absolute()
    shown = {f"searchmark: error: {p}: Is a directory;" for p in (where, "baseline.json")}
    assert capsys.readouterr().err.partition(" check")[0] in shown  # and no name of our own beside


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_the_next_project_file_is_one_of_them(state: Callable[[Path], None]) -> None:
    opened = read_project(Path())
    state(Path("searchmark.next.toml"))
    with pytest.raises(OSError, match=r"next\.toml|/proc/searchmark"):
        write_suggestion(Suggestion(PROJECT, "", (), {}, ()), opened, overwrite=True)


@pytest.mark.parametrize("path", ["/dev/null/x", "/proc/x", "a" * 300, "a/" * 1500 + "x"])
@pytest.mark.parametrize("command", ["gate", "rolling", "demo", "guide"])
def test_paths_that_cannot_be(
    command: str, path: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = {
        "gate": ["gate", ".", "--json", path],
        "rolling": ["rolling", "http://127.0.0.1:1", "--history", path],
        "demo": ["demo", path],
        "guide": ["guide", path, "--no-input", "--documents", str(tmp_path / "corpus.jsonl")],
    }
    assert call(*arguments[command]) == 2
    assert capsys.readouterr().err.count("searchmark: error: ") == 1


def test_a_history_is_looked_at_before_anybody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    # nobody listens at port 1, which would be exit code 3
    assert call("rolling", "http://127.0.0.1:1", "--retries", "0", "--history", "/proc/x") == 2
    assert "/proc/.x.lock: No such file or directory" in capsys.readouterr().err


def test_a_job_summary_that_nobody_reads_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("baseline", "accept", ".") == 0
    pipe(Path("summary"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary")
    assert call("gate", ".", "--github") == 0
    assert "the job summary was not written (nobody reads this pipe)" in capsys.readouterr().err
