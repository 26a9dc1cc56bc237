"""Answers belong to the values of the variables that a system's table names."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from searchmark.data import read_corpus, read_queries
from searchmark.errors import InputError
from searchmark.experiments.diagnosing import run_evidence
from searchmark.experiments.environment import fingerprint
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.guiding.asking import ask_systems
from searchmark.project import Project, read_project

ENGINE = """
import json, os, sys
from pathlib import Path

here = Path(__file__).parent
query = sys.argv[1]
with (here / "asked").open("a") as stream:
    stream.write(os.environ["HOST"] + " " + query + "\\n")
if query == "blue" and (here / "down").exists():
    sys.exit("the engine is down")
print(json.dumps(["a"] if os.environ["HOST"] == "staging" else ["b"]))
"""

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR"]
complete = true
[systems.engine]
use = "command"
argv = [PYTHON, "engine.py", "{query}"]
ids = "[]"
env = {HOST = "${SM_HOST}", KEY = "${SM_KEY}"}
stop_after = 1
"""

FUSED = '[systems.fused]\nuse = "hybrid"\nof = ["engine"]\n'
RENEWED = 'renewed = ["SM_KEY"]\n'


@pytest.fixture(autouse=True)
def values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_HOST", "staging")
    monkeypatch.setenv("SM_KEY", "first-key-of-two")


def make(folder: Path, more: str = "") -> Project:
    (folder / "c.jsonl").write_text('{"_id": "a", "title": "red"}\n{"_id": "b", "title": "blue"}\n')
    (folder / "q.jsonl").write_text('{"_id": "1", "text": "red"}\n{"_id": "2", "text": "blue"}\n')
    (folder / "r.qrels").write_text("1 0 a 1\n2 0 a 1\n")
    (folder / "engine.py").write_text(ENGINE)
    text = PROJECT.replace("PYTHON", json.dumps(sys.executable)) + more
    (folder / "searchmark.toml").write_text(text)
    return read_project(folder)


def asked(project: Project) -> Counter[str]:
    """Return who was asked what since the last look, and how often."""
    path = project.folder / "asked"
    found = Counter(path.read_text().splitlines() if path.exists() else ())
    path.unlink(missing_ok=True)
    return found


def ranked(project: Project, *, reuse: bool = False) -> list[list[str]]:
    (outcome,) = run_experiment(project, ["engine"], reuse=reuse).outcomes
    return [call.doc_ids for call in outcome.calls]


def test_a_run_does_not_go_on_with_the_answers_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make(tmp_path)
    (tmp_path / "down").touch()
    assert ranked(project) == [["a"], []]  # the second query failed
    (tmp_path / "down").unlink()
    asked(project)
    monkeypatch.setenv("SM_HOST", "live")
    assert ranked(project) == [["b"], ["b"]]
    assert asked(project) == Counter({"live red": 1, "live blue": 1})
    monkeypatch.setenv("SM_HOST", "staging")
    assert ranked(project) == [["a"], ["a"]]  # what was answered there goes on
    assert asked(project) == Counter({"staging blue": 1})


def test_diagnosis_looks_at_no_answers_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make(tmp_path)
    run_experiment(project)
    asked(project)
    assert run_evidence(project).queries[0].rankings[0].documents[0].doc_id == "a"
    assert not asked(project)
    monkeypatch.setenv("SM_HOST", "live")
    assert run_evidence(project).queries[0].rankings[0].documents[0].doc_id == "b"
    assert asked(project) == Counter({"live red": 1, "live blue": 1})


@pytest.mark.parametrize(("more", "n_again"), [("", 2), (RENEWED, 0)])
def test_a_new_key_is_another_system_unless_it_is_renewed(
    tmp_path: Path, more: str, n_again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make(tmp_path, more)
    ranked(project)
    asked(project)
    monkeypatch.setenv("SM_KEY", "second-key-of-two")
    ranked(project, reuse=True)
    assert sum(asked(project).values()) == n_again


@pytest.mark.parametrize(("more", "n_again"), [(FUSED, 2), (RENEWED + FUSED, 0)])
def test_a_fusion_depends_on_the_variables_of_its_arms(
    tmp_path: Path, more: str, n_again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make(tmp_path, more)
    before = run_experiment(project, ["fused"]).outcomes[0].digest
    asked(project)
    monkeypatch.setenv("SM_KEY", "second-key-of-two")
    after = run_experiment(project, ["fused"], reuse=True).outcomes[0].digest
    assert sum(asked(project).values()) == n_again
    assert (before == after) == (n_again == 0)


def test_the_guide_keeps_answers_by_the_values_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make(tmp_path)
    inputs = read_corpus(project.corpus), read_queries(project.queries)
    assert ask_systems(project, *inputs).n_new == 2
    assert ask_systems(project, *inputs).n_new == 0
    monkeypatch.setenv("SM_HOST", "live")
    found = ask_systems(project, *inputs)
    assert found.n_new == 2
    assert [c.doc_ids for c in found.calls["engine"]] == [["b"], ["b"]]


def test_the_guide_tells_of_damaged_answers(tmp_path: Path) -> None:
    project = make(tmp_path)
    inputs = read_corpus(project.corpus), read_queries(project.queries)
    ask_systems(project, *inputs)
    (journal,) = (tmp_path / ".searchmark" / "guide").glob("*.jsonl")
    first, second = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"?" + first + second)
    found = ask_systems(project, *inputs)
    assert found.n_new == 1
    assert found.notes == (
        f"engine: line 1 of {journal} is damaged and was left out; the query that it answered was "
        "asked again.",
    )


def test_no_file_holds_a_value_or_a_plain_digest_of_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    digests = []
    for folder in (one, two):
        folder.mkdir()
        outcome = run_experiment(make(folder)).outcomes[0]
        manifest = json.loads((outcome.folder / "manifest.json").read_text())
        assert manifest["environment"]["names"] == ["SM_HOST", "SM_KEY"]
        digests.append(manifest["environment"]["fingerprint"])
        for path in (folder / ".searchmark").rglob("*"):
            assert not path.is_file() or b"first-key-of-two" not in path.read_bytes()
    assert digests[0] != digests[1]  # each project has a key of its own


def test_a_system_without_variables_has_the_same_digest_everywhere(tmp_path: Path) -> None:
    assert fingerprint({}, tmp_path / "none") == {}
    assert not (tmp_path / "none").exists()


def test_a_fingerprint_tells_values_and_names_apart(tmp_path: Path) -> None:
    given = [{"A": "1"}, {"A": "2"}, {"B": "1"}, {"A": "1", "B": ""}, {"A": "\udcff"}, {"A": "12"}]
    found = [fingerprint(g, tmp_path)["environment"]["fingerprint"] for g in given]
    assert len(set(found)) == len(given)
    again = [fingerprint(g, tmp_path)["environment"]["fingerprint"] for g in given]
    assert again == found
    both = {"B": "2", "A": "1"}
    assert fingerprint(both, tmp_path) == fingerprint(dict(reversed(both.items())), tmp_path)


def test_a_key_that_was_damaged_is_drawn_anew(tmp_path: Path) -> None:
    before = fingerprint({"A": "1"}, tmp_path)
    (tmp_path / "salt").write_bytes(b"short")
    after = fingerprint({"A": "1"}, tmp_path)
    assert after != before
    assert fingerprint({"A": "1"}, tmp_path) == after


def test_a_place_that_can_hold_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "salt").mkdir()
    with pytest.raises(InputError, match="salt: a key cannot be kept here"):
        fingerprint({"A": "1"}, tmp_path)


def test_a_variable_that_is_renewed_is_one_that_is_used(tmp_path: Path) -> None:
    project = make(tmp_path, 'renewed = ["SM_KEI"]\n')
    with pytest.raises(InputError, match=r"systems\.engine\.renewed names .* SM_KEI.*'SM_KEY'"):
        run_experiment(project)
