"""When scores count: errors up to a limit do, more make a run invalid wherever it is used."""

import json
from pathlib import Path

import pytest

from searchmark.errors import SystemFailedError
from searchmark.experiments.diagnosing import run_evidence
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.gating import accept_baseline, run_gate
from searchmark.experiments.journal import Call
from searchmark.experiments.session import Session
from searchmark.experiments.store import Store
from searchmark.experiments.stored import stored_answers, stored_scores
from searchmark.experiments.validity import caveats_of, failure_sentence, not_asked, why_invalid
from searchmark.project import Project, read_project
from searchmark.systems.calling import in_row
from searchmark.systems.policy import CallPolicy

from .outages import call

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
[systems.mine]
use = "python"
callable = "{module}:search"
{limits}
[systems.words]
use = "bm25"
fields = ["title"]
[gate]
system = "mine"
"""

MODULE = """
from pathlib import Path

DOWN = Path(__file__).with_name("down")

def search(text, k):
    if text in DOWN.read_text().split():
        raise OSError("engine down")
    return [text]
"""


def project(folder: Path, limits: str = "") -> Project:
    module = f"sm_validity_{abs(hash(folder))}"
    (folder / f"{module}.py").write_text(MODULE)
    (folder / "searchmark.toml").write_text(PROJECT.format(module=module, limits=limits))
    return read_project(folder)


def test_at_the_limit_a_run_counts_and_above_it_does_not() -> None:
    calls = [Call(f"q{i}", "error" if i < 3 else "ok", 1.0, error="x") for i in range(10)]
    assert why_invalid(calls, CallPolicy(max_error_share=0.3)) is None
    assert why_invalid(calls, CallPolicy(max_error_share=0.29)) == (
        "3 of 10 queries failed, more than max_error_share = 0.29 allows"
    )
    assert why_invalid(calls, CallPolicy()) == "3 of 10 queries failed"
    assert why_invalid(calls[3:], CallPolicy()) is None


def test_the_limit_is_held_where_doubles_are_a_little_below_it() -> None:
    # 0.29 * 100 = 28.999999999999996
    calls = [Call(str(i), "error" if i < 29 else "ok", 1.0) for i in range(100)]
    assert why_invalid(calls, CallPolicy(max_error_share=0.29)) is None


def test_a_run_that_was_given_up_never_counts() -> None:
    policy = CallPolicy(max_error_share=1.0)
    left = Call("q2", "unasked", 0.0, attempts=0, error=not_asked(in_row(4), "503"))
    calls = [Call("q1", "ok", 1.0), left]
    assert why_invalid(calls, policy) == "the run was given up, and 1 of 2 queries were not asked"
    assert failure_sentence("api", calls, policy) == (
        "system 'api' was given up after 4 failed queries in a row; 1 of 2 queries are answered "
        "and kept, and the same command goes on with the rest; the last error: 503"
    )


def test_a_file_with_none_of_the_queries_measures_nothing_whatever_the_limits() -> None:
    policy = CallPolicy(max_error_share=1.0, max_partial_share=1.0)
    missing, empty = Call("q1", "missing", 0.0), Call("q2", "empty", 0.0)
    why = why_invalid([missing, Call("q2", "missing", 0.0)], policy) or ""
    assert why.startswith("its file holds none of the 2 queries, such as 'q1'; compare")
    alone = why_invalid([missing], policy) or ""
    assert alone.startswith("its file does not hold the only query, 'q1'; compare")
    told = failure_sentence("old", [missing], policy)
    assert told == f"system 'old' measures nothing: {alone}"
    assert why_invalid([missing, empty], policy) is None  # "found nothing" is an answer
    assert list(caveats_of("old", [missing, empty], policy)) == [
        "old: its file does not hold 1 of 2 queries ('q1'): missing ones count 0, or are left out "
        "where a measure has missing=skip."
    ]


def test_an_invalid_run_is_refused_by_whatever_would_use_its_numbers(folder: Path) -> None:
    opened = project(folder)
    accept_baseline(opened)
    (folder / "down").write_text("d3")
    for refusing in (
        lambda: run_gate(opened),
        lambda: accept_baseline(opened),
        lambda: Session(opened).gate(),
        lambda: Session(opened).mean("RR", "mine"),
    ):
        with pytest.raises(
            SystemFailedError, match=r"^system 'mine' failed on query 'qd3': OSError"
        ):
            refusing()
    Session(opened).mean("RR", "words")  # the other system's count


def test_it_is_marked_in_every_format_and_the_gate_exits_with_3(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    assert call("baseline", "accept", folder) == 0
    (folder / "down").write_text("d3 d4")
    capsys.readouterr()
    reason = "2 of 10 queries failed"
    for form, marks in {
        "terminal": ["mine INVALID", f"mine is INVALID: {reason}.", "are no measurement"],
        "markdown": ["| mine INVALID |", f"mine is INVALID: {reason}."],
        "csv": [f",{reason},2,8,"],  # two failed, eight calls have a latency
    }.items():
        assert call("run", folder, "--format", form) == 3
        shown = capsys.readouterr()
        assert all(mark in shown.out for mark in marks), (form, shown.out)
        assert "words INVALID" not in shown.out
    assert call("run", folder, "--format", "json") == 3
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert systems["mine"]["invalid"] == reason
    assert systems["mine"]["calls"]["n_failed"] == 2
    assert systems["words"]["invalid"] is None
    assert call("gate", folder, "--format", "json") == 3
    assert json.loads(capsys.readouterr().out)["passed"] is None
    assert call("compare", folder) == 3
    assert call("diagnose", folder) == 3
    shown = capsys.readouterr().out
    assert "mine INVALID" in shown
    assert f"mine, which serves users, is INVALID: {reason}" in " ".join(shown.split())


def test_within_the_limit_everything_works_and_says_how_many_failed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, "max_error_share = 0.2")
    (folder / "down").write_text("d3 d4")
    caveat = "mine: 2 of 10 queries failed, within its max_error_share = 0.2; they count as missing"
    assert call("run", folder) == 0
    shown = capsys.readouterr().out
    assert "mine failed on 2 of 10 queries; they count as missing." in shown
    assert "INVALID" not in shown
    for command in (["baseline", "accept"], ["gate"], ["compare"]):
        assert call(*command, folder) == 0
        shown = capsys.readouterr()
        assert caveat in " ".join((shown.out + shown.err).split()), command
    assert call("diagnose", folder) == 0
    assert "2 calls failed (mine)" in capsys.readouterr().err


def test_a_run_that_counts_is_finished_and_one_that_does_not_resumes(folder: Path) -> None:
    opened = project(folder, "max_error_share = 0.2")
    journals = folder / ".searchmark" / "journal"
    (folder / "down").write_text("d1 d2 d3")
    assert run_experiment(opened).outcomes[0].invalid is not None
    assert len(list(journals.glob("*"))) == 2
    (folder / "down").write_text("d1")
    experiment = run_experiment(opened)
    assert experiment.outcomes[0].invalid is None
    assert [c.query_id for c in experiment.outcomes[0].failures] == ["qd1"]
    assert list(journals.glob("*")) == []


def test_a_bad_day_takes_no_good_results_away(folder: Path) -> None:
    opened = project(folder)
    good = run_experiment(opened, ["mine"]).outcomes[0]
    before = (good.folder / "run.parquet").read_bytes()
    (folder / "down").write_text("d1 d2")
    bad = run_experiment(opened, ["mine"]).outcomes[0]
    assert bad.digest == good.digest
    assert bad.folder != good.folder
    assert json.loads((bad.folder / "manifest.json").read_text())["invalid"] == bad.invalid
    assert (good.folder / "run.parquet").read_bytes() == before
    # kept answers and scores are those of the good day
    assert stored_answers(bad.folder) is None
    store = Store(folder / ".searchmark")
    inputs = run_experiment(opened, ["words"]).inputs
    assert stored_scores(store, inputs, ["mine"])["mine"]["RR"]["qd1"] == 1.0
    assert run_evidence(opened, ["mine"]).invalid  # asked again: the bad day is looked into
    (folder / "down").write_text("")
    run_experiment(opened, ["mine"])
    assert not bad.folder.exists()


def test_kept_answers_count_by_the_limit_of_today(folder: Path) -> None:
    (folder / "down").write_text("d1")
    loose = project(folder, "max_error_share = 0.1")
    run_experiment(loose, ["mine"])
    assert run_evidence(loose, ["mine"]).made
    strict = project(folder)
    (folder / "down").write_text("")
    found = run_evidence(strict, ["mine"])
    assert not found.made  # asked again, as one failed query is too many now
    assert not found.invalid


def test_bundles_of_an_earlier_format_tell_by_their_calls(folder: Path) -> None:
    opened = project(folder, "max_error_share = 1.0")
    outcome = run_experiment(opened, ["mine"]).outcomes[0]
    manifest = outcome.folder / "manifest.json"
    old = {
        k: v for k, v in json.loads(manifest.read_text()).items() if k not in ("invalid", "limits")
    }
    store, inputs = Store(folder / ".searchmark"), run_experiment(opened, ["words"]).inputs
    manifest.write_text(json.dumps(old))
    assert "mine" in stored_scores(store, inputs, ["mine"])
    (folder / "down").write_text("d1")
    outcome = run_experiment(opened, ["mine"]).outcomes[0]
    manifest.write_text(json.dumps(old))
    assert stored_scores(store, inputs, ["mine"]) == {}
