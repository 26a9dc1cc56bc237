"""A system that cannot be opened, asked or closed: the others are run and kept, and it is named."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from searchmark.cli.main import main
from searchmark.errors import InputError, SearchmarkError
from searchmark.experiments.experiment import run_experiment, try_experiment
from searchmark.experiments.store import Store
from searchmark.project import read_project
from searchmark.project.place import place_of

TOP = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
"""
FIRST = '[systems.first]\nuse = "bm25"\nfields = ["title"]\n'
LAST = '[systems.last]\nuse = "bm25"\nfields = ["title"]\ncandidates = "or"\n'
WRONG = '[systems.wrong]\nuse = "bm25"\nfields = ["titel"]\n'
DOWN = '[systems.down]\nuse = "python"\ncallable = "{module}:search"\n'
STUCK = '[systems.stuck]\nuse = "python"\ncallable = "{module}:Stuck"\n'

MODULE = """
class Stuck:
    def __call__(self, text, k):
        return ["a"]

    def close(self):
        raise RuntimeError("the pool is stuck")

def search(text, k):
    from searchmark.errors import InputError
    raise InputError("the index has no field 'x'")
"""


@pytest.fixture
def module(request: pytest.FixtureRequest) -> str:
    """A name of its own for each test: modules that were imported stay."""
    return f"unusable_{abs(hash(request.node.nodeid))}"


def make(folder: Path, module: str, *systems: str) -> Path:
    (folder / "c.jsonl").write_text('{"_id": "a", "title": "red"}\n{"_id": "b", "title": "blue"}\n')
    (folder / "q.jsonl").write_text('{"_id": "1", "text": "red"}\n{"_id": "2", "text": "blue"}\n')
    (folder / "r.qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (folder / f"{module}.py").write_text(MODULE)
    path = folder / "searchmark.toml"
    path.write_text(TOP + "".join(systems).replace("{module}", module))
    return path


def ran(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


def kept(folder: Path) -> set[str]:
    manifests = (folder / ".searchmark" / "runs").glob("*/manifest.json")
    return {json.loads(path.read_text())["system"] for path in manifests}


def test_a_wrong_configuration_keeps_no_other_system_from_being_run(
    tmp_path: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, module, FIRST, WRONG, LAST)
    code, out, err = ran(["run", str(path), "--format", "json"], capsys)
    assert code == 2
    (told,) = (line for line in err.splitlines() if "error:" in line)
    assert f"{tmp_path / 'c.jsonl'}: the corpus has no field 'titel'" in told
    assert f"(system 'wrong', {path}:9)" in told  # its table begins in line 9
    evaluation = json.loads(out)
    assert list(evaluation["systems"]) == ["first", "last"]
    (note,) = [n for n in evaluation["notes"] if "wrong" in n]
    assert note.startswith("wrong is not in this table, as it could not be used: the corpus has no")
    assert kept(tmp_path) == {"first", "last"}


def test_the_others_are_not_asked_again_when_it_is_mended(tmp_path: Path, module: str) -> None:
    path = make(tmp_path, module, FIRST, WRONG)
    try_experiment(read_project(path))
    (journal,) = (tmp_path / ".searchmark" / "journal").iterdir()
    assert journal.read_bytes().count(b"\n") == 2
    make(tmp_path, module, FIRST, WRONG.replace("titel", "title"))
    run_experiment(read_project(path))
    assert not list((tmp_path / ".searchmark" / "journal").iterdir())
    assert kept(tmp_path) == {"first", "wrong"}


def test_what_is_found_wrong_when_it_is_asked_is_no_harm_to_others(
    tmp_path: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, module, FIRST, DOWN, LAST)
    code, _, err = ran(["run", str(path)], capsys)
    assert code == 2
    assert f"{path}:9: system 'down': the index has no field 'x'" in err
    assert kept(tmp_path) == {"first", "last"}


def test_one_that_cannot_be_closed_counts_and_is_told(
    tmp_path: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, module, STUCK, FIRST)
    code, out, err = ran(["run", str(path), "--format", "json"], capsys)
    assert code == 3
    assert "system 'stuck' could not be closed" in err
    assert "the pool is stuck" in err
    evaluation = json.loads(out)
    # a is right for query 1, and the first of nothing right for query 2: (1 + 0) / 2
    assert evaluation["systems"]["stuck"]["measures"]["RR"]["mean"] == 0.5
    assert not [n for n in evaluation["notes"] if "could not be" in n]
    assert kept(tmp_path) == {"stuck", "first"}
    assert not list((tmp_path / ".searchmark" / "journal").iterdir())


def test_a_fusion_without_its_arm_is_told_once(tmp_path: Path, module: str) -> None:
    fused = '[systems.fused]\nuse = "hybrid"\nof = ["first", "wrong"]\n'
    path = make(tmp_path, module, WRONG, fused, FIRST)
    experiment = try_experiment(read_project(path))
    assert [f.system for f in experiment.failed] == ["wrong", "fused"]
    with pytest.raises(InputError) as raised:
        experiment.check()
    assert str(raised.value).count("titel") == 1
    assert str(raised.value).endswith("; 'fused' cannot be used without it")
    experiment.check(["first"])  # nothing is wrong with this one


def test_whoever_needs_all_systems_gets_the_error_after_the_others_were_kept(
    tmp_path: Path, module: str
) -> None:
    path = make(tmp_path, module, WRONG, STUCK, LAST)
    with pytest.raises(InputError, match=r"'titel'.*; also .*'stuck' could not be closed"):
        run_experiment(read_project(path))
    assert kept(tmp_path) == {"stuck", "last"}


@pytest.mark.parametrize("systems", [[WRONG], [WRONG, DOWN]])
def test_without_any_system_left_there_is_only_the_error(
    tmp_path: Path, module: str, systems: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ran(["run", str(make(tmp_path, module, *systems))], capsys)
    assert (code, out) == (2, "")
    assert "system 'wrong'" in err
    assert ("system 'down'" in err) == (len(systems) == 2)


def test_the_shown_system_is_one_that_was_run(
    tmp_path: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, module, FIRST, WRONG)
    code, out, _ = ran(["run", str(path), "--detail", "wrong"], capsys)
    assert code == 2
    assert "first" in out


def test_both_an_invalid_run_and_one_that_could_not_be_used_are_told(
    tmp_path: Path, module: str
) -> None:
    failing = DOWN.replace("down", "flaky").replace(":search", ":fail")
    path = make(tmp_path, module, WRONG, failing)
    module_file = tmp_path / f"{module}.py"
    module_file.write_text(MODULE + "\ndef fail(text, k):\n    raise OSError('gone')\n")
    with pytest.raises(SearchmarkError, match=r"no measurement either: 'flaky' \(2 of 2 queries"):
        try_experiment(read_project(path)).check()


def test_a_journal_that_cannot_be_written_stops_its_own_system_alone(
    tmp_path: Path, module: str
) -> None:
    path = make(tmp_path, module, FIRST, LAST)
    digest = run_experiment(read_project(path)).outcomes[0].digest
    Store(tmp_path / ".searchmark").journal(digest).mkdir()
    experiment = try_experiment(read_project(path))
    assert [o.system for o in experiment.outcomes] == ["last"]
    with pytest.raises(InputError, match=r"cannot keep its answers here .*system 'first'"):
        experiment.check()


def test_a_damaged_journal_is_told_in_the_notes(tmp_path: Path, module: str) -> None:
    path = make(tmp_path, module, FIRST, DOWN)
    before = try_experiment(read_project(path)).outcomes[0]  # its journal stays
    journal = Store(tmp_path / ".searchmark").journal(before.digest)
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first[:10] + b"?" + first[11:] + second)
    again = try_experiment(read_project(path))
    assert again.evaluation.notes[1] == (
        f"first: line 1 of {journal} is damaged and was left out; the query that it answered was "
        "asked again."
    )
    same = [(c.query_id, c.doc_ids, c.scores) for c in before.calls]
    assert [(c.query_id, c.doc_ids, c.scores) for c in again.outcomes[0].calls] == same


def test_the_places_of_systems_in_a_project_file(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        'corpus = "c"\n\n[systems.a]\nuse = "x"\n[systems]\nb.use = "x"\nc = {use = "x"}\n'
        '[systems."d.e"]\nuse = "x"\n'
    )
    assert [place_of(path, n).line for n in ("a", "b", "c", "d.e", "none")] == [3, 6, 7, 8, None]
    assert place_of(tmp_path / "gone.toml", "a").shown == str(tmp_path / "gone.toml")


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("calls", lambda t: t.head(1)),
        ("calls", lambda t: t.reverse()),
        ("calls", lambda t: t.with_columns(pl.lit("empty").alias("status"))),
        ("calls", lambda t: t.with_columns(pl.lit(-1.0).alias("latency_ms"))),
        ("calls", lambda t: t.drop("attempts").with_columns(pl.lit(0).alias("attempts"))),
        ("run", lambda t: t.head(1)),
        ("run", lambda t: t.with_columns(pl.lit(float("nan")).alias("score"))),
        ("run", lambda t: t.with_columns(pl.lit("").alias("doc_id"))),
    ],
)
def test_a_bundle_that_is_damaged_is_asked_again(
    tmp_path: Path, module: str, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    path = make(tmp_path, module, FIRST)
    folder = run_experiment(read_project(path)).outcomes[0].folder
    assert run_experiment(read_project(path), reuse=True).outcomes[0].made is not None
    file = folder / f"{table}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    assert run_experiment(read_project(path), reuse=True).outcomes[0].made is None


def test_a_kill_between_the_tables_of_a_bundle_leaves_none_that_is_half_of_another(
    tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path, module, FIRST)
    folder = run_experiment(read_project(path)).outcomes[0].folder

    def killed(path: Path, write: object) -> None:
        if path.name == "calls.parquet":
            raise KeyboardInterrupt

    monkeypatch.setattr("searchmark.experiments.store.write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(read_project(path))
    monkeypatch.undo()
    assert (folder / "scores.parquet").exists()
    assert run_experiment(read_project(path), reuse=True).outcomes[0].made is None


FULL = """
import resource, sys
from searchmark.cli.main import main

resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))  # no table is as small
main(["run", sys.argv[1]])
"""


def test_without_room_for_the_results_the_answers_are_kept(tmp_path: Path, module: str) -> None:
    path = make(tmp_path, module, FIRST, LAST)
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert re.search(r"error: .*/runs/\w+: results cannot be kept \(.*; make room", done.stderr)
    (journal,) = (tmp_path / ".searchmark" / "journal").iterdir()
    assert journal.read_bytes().count(b"\n") == 2
    assert not kept(tmp_path)
    run_experiment(read_project(path))
    assert kept(tmp_path) == {"first", "last"}


def test_a_gate_names_the_system_that_cannot_be_opened(
    tmp_path: Path, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path, module, WRONG, '[gate]\nsystem = "wrong"\n')
    code, _, err = ran(["baseline", "accept", str(path)], capsys)
    assert code == 2
    assert f"(system 'wrong', {path}:6)" in err
