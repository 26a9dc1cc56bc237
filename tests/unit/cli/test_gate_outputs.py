"""The gate in a build: files, formats, GitHub, and what is left where there is no verdict."""

import csv
import io
import json
import os
import stat
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from searchmark.cli.artifacts import clear
from searchmark.cli.main import main

QUERIES = ("apple", "pear", "stone")
PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
complete = true
measures = ["RR"]

[systems.mine]
use = "python"
callable = "engine_{unique}:search"

[gate]
system = "mine"
"""
GOOD = "def search(text, k):\n    return [text]\n"
BAD = "def search(text, k):\n    return [] if text == 'pear' else [text]\n"
BROKEN = "def search(text, k):\n    raise RuntimeError('engine on fire')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": q}) + "\n" for q in QUERIES))
    lines = [json.dumps({"_id": f"q-{q}", "text": q}) + "\n" for q in QUERIES]
    (folder / "queries.jsonl").write_text("".join(lines))
    rows = "".join(f"q-{q}\t{q}\t1\n" for q in QUERIES)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    (folder / "searchmark.toml").write_text(PROJECT.format(unique=abs(hash(tmp_path))))
    put(folder, GOOD)
    assert call("baseline", "accept", folder) == 0
    return folder


def put(folder: Path, code: str) -> None:
    """Put the code of the system into place, under a name of its own so that it is read anew."""
    project = folder / "searchmark.toml"
    for old in folder.glob("engine_*.py"):
        old.unlink()
    name = f"engine_{abs(hash((folder, code)))}"
    lines = project.read_text().splitlines()
    told = [f'callable = "{name}:search"' if x.startswith("callable") else x for x in lines]
    project.write_text("\n".join(told) + "\n")
    (folder / f"{name}.py").write_text(code)


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def spoil(folder: Path, ending: int) -> None:
    """Make the gate end with an exit code."""
    if ending == 1:
        put(folder, BAD)
    elif ending == 2:
        (folder / "baseline.json").unlink()
    elif ending == 3:
        put(folder, BROKEN)
    elif ending == 4:
        with (folder / "qrels.tsv").open("a") as qrels:
            qrels.write("q-apple\tstone\t0\n")


def first_child(case: ET.Element) -> str:
    return next((c.tag for c in case if c.tag != "system-out"), "ok")


OUTCOMES = {0: "ok", 1: "failure", 2: "error", 3: "error", 4: "error"}
HEADLINES = {
    0: "Gate passed: mine holds every limit.",
    1: "Gate failed: mine breaks 1 limit.",
    2: "No verdict on mine: the input or the project file is wrong.",
    3: "No verdict on mine: the system or a service failed.",
    4: "No verdict on mine: not comparable with the baseline.",
}


@pytest.mark.parametrize("ending", OUTCOMES)
def test_files_are_written_however_it_ends(
    folder: Path, tmp_path: Path, ending: int, repository: Path
) -> None:
    spoil(folder, ending)
    out = tmp_path / "out" / "deep"
    files = [out / "gate.xml", out / "gate.md", out / "gate.json"]
    options = [*zip(("--junit", "--markdown", "--json"), files, strict=True)]
    assert call("gate", folder, *(word for pair in options for word in pair)) == ending
    assert sorted(out.iterdir()) == sorted(files)  # nothing half-written is left
    (case,) = ET.parse(files[0]).iter("testcase")
    assert first_child(case) == OUTCOMES[ending]
    marker, headline = files[1].read_text().splitlines()[:2]
    assert (marker, headline) == ("<!-- searchmark-gate -->", f"### {HEADLINES[ending]}")
    document = json.loads(files[2].read_text())
    assert document["exit_code"] == ending
    assert document["passed"] == {0: True, 1: False}.get(ending)
    assert document["comparable"] == {0: True, 1: True, 4: False}.get(ending)
    schema = json.loads((repository / "docs/reference/gate.schema.json").read_text())
    jsonschema.validate(document, schema)


@pytest.mark.parametrize("ending", [1, 3, 4])
def test_each_machine_format_prints_one_document_and_the_sentence_goes_to_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str], ending: int
) -> None:
    spoil(folder, ending)
    capsys.readouterr()
    for form in ("json", "junit", "csv", "markdown"):
        assert call("gate", folder, "--format", form) == ending
        printed = capsys.readouterr()
        assert ("searchmark: error: " in printed.err) is (ending != 1)
        if form == "json":
            assert json.loads(printed.out)["exit_code"] == ending
        elif form == "junit":
            assert len([*ET.fromstring(printed.out.encode()).iter("testcase")]) == 1
        elif form == "csv":
            (row,) = csv.DictReader(io.StringIO(printed.out))
            assert row["because"]
        else:
            assert printed.out.startswith("<!-- searchmark-gate -->\n### ")


def test_the_reasons_of_exit_4_are_single_differences(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder, 4)
    project = folder / "searchmark.toml"
    project.write_text(project.read_text().replace('["RR"]', '["RR", "P@1"]'))
    capsys.readouterr()
    assert call("gate", folder, "--format", "json") == 4
    qrels, measure = json.loads(capsys.readouterr().out)["reasons"]
    assert qrels.startswith("the qrels changed (SHA-256 ")
    assert measure == "the measure P@1 is new"


def test_nothing_is_printed_on_a_terminal_where_the_error_says_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder, 4)
    capsys.readouterr()
    assert call("gate", folder) == 4
    assert capsys.readouterr().out == ""


def test_what_an_earlier_call_wrote_does_not_outlive_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "gate.xml"
    assert call("gate", folder, "--junit", report) == 0
    assert report.exists()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("searchmark.experiments.gating.run_gate", fail)
    assert call("gate", folder, "--junit", report) == 5
    assert not report.exists()


@pytest.mark.parametrize(
    "name", ["baseline.json", "qrels.tsv", "queries.jsonl", "corpus.jsonl", "searchmark.toml"]
)
def test_no_file_of_the_project_is_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = (folder / name).read_bytes()
    assert call("gate", folder, "--json", folder / "." / name) == 2
    assert f"--json names a file that is in use: {folder / name} is read by the gate" in (
        capsys.readouterr().err
    )
    assert (folder / name).read_bytes() == before


def test_files_that_cannot_be_are_told_before_anything_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder, BROKEN)  # would end with 3
    twice = tmp_path / "x"
    assert call("gate", folder, "--json", twice, "--junit", twice) == 2
    assert f"{twice} is written by --json; name another one" in capsys.readouterr().err
    assert call("gate", folder, "--json", tmp_path) == 2
    told = "--json: nothing can be written to it (Is a directory); name another one"
    assert f"{tmp_path}: {told}" in capsys.readouterr().err
    assert call("gate", folder, "--markdown", folder / "qrels.tsv" / "gate.md") == 2
    told = "--markdown: nothing can be written to it (Not a directory); name another one"
    assert f"{folder / 'qrels.tsv' / 'gate.md'}: {told}" in capsys.readouterr().err


def test_github_is_told_on_stdout_and_in_the_summary(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("what another command wrote\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    put(folder, BAD)
    capsys.readouterr()
    report = tmp_path / "gate.md"
    assert call("gate", folder, "--digits", 2, "--markdown", report) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    first, *shown = printed.out.splitlines()
    command, _, token = first[2:].partition("::")
    assert command == "stop-commands"
    assert len(token) == 32
    end = shown.index(f"::{token}::")
    assert any("Gate failed: mine" in line for line in shown[:end])
    # RR of 'pear' falls from 1 to 0: 1/3 of the mean of three queries
    assert shown[end + 1] == (
        "::error title=Searchmark gate failed (mine)::RR fell by 0.3333 (1.0000 -> 0.6667), more "
        "than the 0.02 allowed"
    )
    assert summary.read_text() == "what another command wrote\n" + report.read_text()
    assert "| RR | 1.00 | 0.67 | -0.33 |" in report.read_text()


def test_each_call_has_a_token_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    tokens = set()
    for _ in range(2):
        assert call("gate", folder, "--github") == 0
        tokens.add(capsys.readouterr().out.splitlines()[0])
    assert len(tokens) == 2


@pytest.mark.parametrize("ending", [1, 4])
def test_annotations_leave_machine_output_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], ending: int
) -> None:
    spoil(folder, ending)
    capsys.readouterr()
    assert call("gate", folder, "--format", "json", "--github") == ending
    printed = capsys.readouterr()
    assert json.loads(printed.out)["exit_code"] == ending
    assert printed.err.startswith("::error title=Searchmark")


def test_github_can_be_refused(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    put(folder, BAD)
    assert call("gate", folder, "--no-github") == 1
    assert "::" not in capsys.readouterr().out
    assert not (tmp_path / "summary.md").exists()


def test_a_summary_that_cannot_be_written_is_a_warning(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder))  # a folder
    assert call("gate", folder, "--github") == 0
    assert "warning: " in (told := capsys.readouterr().err)
    assert "the job summary was not written (Is a directory)" in told


def test_a_report_is_for_everybody_to_read(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "gate.json"
    assert call("gate", folder, "--json", report) == 0
    assert stat.S_IMODE(report.stat().st_mode) & 0o044 == 0o044


def test_a_project_that_cannot_be_read_leaves_files_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "gate.json"
    report.write_text("mine")
    (folder / "searchmark.toml").unlink()
    capsys.readouterr()
    assert call("gate", folder, "--json", report, "--format", "json") == 2
    assert json.loads(capsys.readouterr().out)["system"] is None
    assert report.read_text() == "mine"


def test_what_is_no_file_is_never_removed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    clear({"--json": pipe}, [])
    assert pipe.is_fifo()
