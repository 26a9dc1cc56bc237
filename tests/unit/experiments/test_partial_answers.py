"""Answers in which a part of the system did not take part: counted, and invalid beyond a limit."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from searchmark.errors import SystemFailedError
from searchmark.experiments.diagnosing import run_evidence
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.gating import accept_baseline, run_gate
from searchmark.experiments.journal import Call
from searchmark.experiments.session import Session
from searchmark.experiments.store import Store
from searchmark.experiments.stored import stored_scores
from searchmark.experiments.validity import failure_sentence, why_invalid
from searchmark.project import Project, read_project
from searchmark.systems.policy import CallPolicy, policy_problems

from .outages import N, call

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
[systems.words]
use = "bm25"
fields = ["title"]
[systems.arm]
use = "python"
callable = "{module}:search"
max_error_share = 1.0
[systems.joined]
use = "hybrid"
of = ["words", "arm"]
{limits}
[gate]
system = "joined"
"""

MODULE = """
from pathlib import Path

DOWN = Path(__file__).with_name("down")
ASKED = Path(__file__).with_name("asked")

def search(text, k):
    with ASKED.open("a") as stream:
        stream.write(text + " ")
    if text in DOWN.read_text().split():
        raise OSError("engine down")
    return [text]
"""

HALF = "d0 d2 d4 d6 d8"


def project(folder: Path, limits: str = "") -> Project:
    module = f"sm_partial_{abs(hash(folder))}"
    (folder / f"{module}.py").write_text(MODULE)
    (folder / "searchmark.toml").write_text(PROJECT.format(module=module, limits=limits))
    return read_project(folder)


def partial(n: int, *, of: int = N, failed: int = 0) -> list[Call]:
    return [
        Call(f"q{i}", "error", 1.0, error="x")
        if i < failed
        else Call(f"q{i}", "ok", 1.0, partial=i < failed + n)
        for i in range(of)
    ]


def test_the_limit_is_that_of_failures_unless_it_has_its_own() -> None:
    assert why_invalid(partial(1), CallPolicy()) == "1 of 10 answers are partial"
    assert why_invalid(partial(2), CallPolicy(max_error_share=0.2)) is None
    assert why_invalid(partial(3), CallPolicy(max_error_share=0.2)) == (
        "3 of 10 answers are partial, more than max_error_share = 0.2 allows"
    )
    assert why_invalid(partial(1), CallPolicy(max_error_share=0.2, max_partial_share=0.0)) == (
        "1 of 10 answers are partial"
    )
    assert why_invalid(partial(10), CallPolicy(max_partial_share=1.0)) is None
    assert why_invalid(partial(4), CallPolicy(max_partial_share=0.3)) == (
        "4 of 10 answers are partial, more than max_partial_share = 0.3 allows"
    )
    # 0.29 * 100 = 28.999999999999996
    assert why_invalid(partial(29, of=100), CallPolicy(max_partial_share=0.29)) is None


def test_failures_and_partial_answers_are_both_told() -> None:
    calls = partial(2, failed=1)
    assert why_invalid(calls, CallPolicy()) == (
        "1 of 10 queries failed and 2 of 10 answers are partial"
    )
    assert failure_sentence("api", calls, CallPolicy()) == (
        "system 'api' failed on query 'q0': x; 2 more answers are partial; the answers so far are "
        "kept, and the same command asks only the failed queries and those answered in part again"
    )


def test_the_sentence_says_how_such_a_system_is_measured() -> None:
    # 4 of 7 is 0.571...: 0.58 is the first share in hundredths that allows it
    calls = partial(4, of=7)
    assert failure_sentence("api", calls, CallPolicy(max_partial_share=0.5)) == (
        "system 'api' gave only a partial answer to query 'q0', 4 in all of 7 (max_partial_share = "
        "0.5): a part of it failed or did not take part; the whole answers are kept, and the same "
        "command asks only the others again; where this is how it serves users, say so with "
        "max_partial_share = 0.58 in its table"
    )
    assert why_invalid(calls, CallPolicy(max_partial_share=0.57)) is not None
    assert why_invalid(calls, CallPolicy(max_partial_share=0.58)) is None


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(share: float) -> None:
    (problem,) = policy_problems(CallPolicy(max_partial_share=share))
    assert problem.key == "max_partial_share"
    assert problem.message == f"{share:g} is not from 0 to 1"
    wrong = policy_problems(CallPolicy(max_error_share=share))
    assert [p.key for p in wrong] == ["max_error_share"]


def test_a_hybrid_whose_arm_fails_half_the_time_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = project(folder)
    accept_baseline(opened)
    before = opened.baseline.read_bytes()
    (folder / "down").write_text(HALF)
    for refusing in (
        lambda: run_gate(opened),
        lambda: accept_baseline(opened),
        lambda: Session(opened).gate(),
        lambda: Session(opened).mean("RR", "joined"),
    ):
        with pytest.raises(SystemFailedError, match=r"partial answer to query 'qd0', 5 in all"):
            refusing()
    assert opened.baseline.read_bytes() == before
    capsys.readouterr()
    assert call("run", folder) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "joined INVALID" in shown
    assert "joined is INVALID: 5 of 10 answers are partial." in shown
    # both its means, what they rest on, and its latencies
    assert shown.count("joined INVALID") == 3
    assert call("run", folder, "--format", "json") == 3
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert systems["joined"]["invalid"] == "5 of 10 answers are partial"
    assert systems["arm"]["invalid"] is None
    for command in (["gate"], ["compare"], ["diagnose"], ["baseline", "accept"]):
        assert call(*command, folder) == 3, command
    capsys.readouterr()
    assert call("gate", folder, "--format", "json") == 3
    assert json.loads(capsys.readouterr().out)["passed"] is None


def test_only_what_was_partial_is_asked_again(folder: Path) -> None:
    opened = project(folder)
    (folder / "down").write_text(HALF)
    assert run_experiment(opened, ["joined"]).outcomes[0].invalid
    (folder / "down").write_text("")
    (folder / "asked").write_text("")
    outcome = run_experiment(opened, ["joined"]).outcomes[0]
    assert outcome.invalid is None
    assert (folder / "asked").read_text().split() == HALF.split()


def test_below_the_limit_every_report_tells_how_many(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, "max_partial_share = 0.5")
    (folder / "down").write_text(HALF)
    told = "joined: 5 of 10 answers are partial"
    caveat = f"{told}, within its max_partial_share = 0.5"
    for form in ("terminal", "markdown", "json"):
        assert call("run", folder, "--format", form) == 0
        shown = capsys.readouterr().out
        assert told in " ".join(shown.replace("\\", "").split()), form
        assert "INVALID" not in shown
    assert call("baseline", "accept", folder) == 0
    assert caveat in " ".join(capsys.readouterr().err.split())
    for form in ("terminal", "markdown", "json", "junit"):
        for command in ("gate", "compare"):
            if (command, form) == ("compare", "junit"):
                continue
            assert call(command, folder, "--format", form) == 0
            shown = capsys.readouterr().out.replace("\\", "")
            assert caveat in " ".join(shown.split()), (command, form)
            if form == "junit":
                ET.fromstring(shown)
    assert call("gate", folder, "--github") == 0
    shown = capsys.readouterr().out
    assert f"::warning title=Searchmark gate rests on part (joined)::{caveat}" in shown
    assert call("diagnose", folder) == 0


def test_a_system_that_is_always_partial_can_be_measured_knowingly(folder: Path) -> None:
    opened = project(folder, "max_partial_share = 1")
    (folder / "down").write_text(" ".join(f"d{i}" for i in range(N)))
    experiment = run_experiment(opened, ["joined"])
    assert experiment.outcomes[0].invalid is None
    assert experiment.caveats == (
        "joined: 10 of 10 answers are partial, within its max_partial_share = 1: a part of the "
        "system did not take part in them, and its scores are of what was left.",
    )
    assert accept_baseline(opened).caveats == experiment.caveats


def test_kept_answers_count_by_the_limit_of_today(folder: Path) -> None:
    (folder / "down").write_text(HALF)
    loose = project(folder, "max_partial_share = 0.5")
    run_experiment(loose, ["joined"])
    assert run_evidence(loose, ["joined"]).made
    strict = project(folder)
    (folder / "down").write_text("")
    found = run_evidence(strict, ["joined"])
    assert not found.made  # asked again, as no answer may be partial now
    assert not found.invalid


def test_bundles_that_knew_no_limit_of_partial_answers_tell_by_their_calls(folder: Path) -> None:
    opened = project(folder, "max_partial_share = 1")
    store = Store(folder / ".searchmark")
    for down, is_used in (("", True), ("d1", False)):
        (folder / "down").write_text(down)
        experiment = run_experiment(opened, ["joined"])
        manifest = experiment.outcomes[0].folder / "manifest.json"
        facts = json.loads(manifest.read_text())
        assert "joined" in stored_scores(store, experiment.inputs, ["joined"])
        del facts["limits"]["max_partial_share"]
        manifest.write_text(json.dumps(facts))
        assert ("joined" in stored_scores(store, experiment.inputs, ["joined"])) is is_used
