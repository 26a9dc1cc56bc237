"""``searchmark diagnose`` as a person calls it."""

import json
from math import log2
from pathlib import Path

import jsonschema
import pytest

from searchmark.cli.main import main

CORPUS = """{"_id": "red", "title": "Red shoes", "text": "shoes in red"}
{"_id": "blue", "title": "Blue shoes", "text": "shoes in blue"}
{"_id": "hat", "title": "Hats", "text": "keeps rain from the head"}
{"_id": "tea", "title": "Tea", "text": "a warm drink"}
"""
QUERIES = """{"_id": "q1", "text": "red shoes", "category": "names"}
{"_id": "q2", "text": "what keeps my hair dry", "category": "needs"}
{"_id": "q3", "text": "something against being cold", "category": "needs"}
"""
QRELS = "q1 0 red 3\nq1 0 blue 1\nq2 0 hat 3\nq3 0 tea 2\n"
VECTOR = (
    "q1 Q0 red 1 .9 v\nq1 Q0 blue 2 .8 v\nq2 Q0 hat 1 .9 v\nq2 Q0 tea 2 .2 v\nq3 Q0 blue 1 .5 v\n"
)
PROJECT = """corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["nDCG@10"]
complete = true

# asks for every word
[systems.words]
use = "bm25"
fields = ["title", "text"]
candidates = "and"
fallback = false

[systems.meaning]
use = "run"
path = "vector.run"
tags = ["vector"]
"""


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in (
        ("corpus.jsonl", CORPUS),
        ("queries.jsonl", QUERIES),
        ("qrels.txt", QRELS),
        ("vector.run", VECTOR),
        ("searchmark.toml", PROJECT),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_findings_verdict_and_next_are_a_contract(
    project: Path, capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    assert call("diagnose", project, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((repository / "docs/reference/diagnosis.schema.json").read_text())
    jsonschema.validate(found, schema)
    by_rule = {(f["rule"], f["query_id"]): f for f in found["findings"]}
    gap = by_rule["pairwise-gap", "q2"]  # words: nothing; meaning: the hat at rank 1
    assert (gap["severity"], gap["tag"], gap["systems"]) == ("MEDIUM", "INDEX_MAPPING", ["words"])
    assert gap["repaired"] == {"words": 1.0}
    fails = by_rule["every-system-fails", "q3"]
    assert (fails["severity"], fails["tag"]) == ("HIGH", "MODEL_SELECTION")
    assert ("pairwise-gap", "q3") not in by_rule
    # words finds only the first of two on q1: 7 / (7 + 1/log2(3)), 0, 0; meaning 1, 1, 0
    words = 7 / (7 + 1 / log2(3)) / 3
    assert found["mean"] == pytest.approx((words + 2 / 3) / 2)
    assert found["verdict"]["passed"] is False
    assert [q["query_id"] for q in found["queries"]] == ["q3", "q2", "q1"]
    assert found["next"]["action"]["query_ids"] == ["q3"]


def test_fail_on_a_severity(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("diagnose", project, "--fail-on", "HIGH") == 1
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(
        text + '\n[diagnosis]\noff = ["every-system-fails", "failed-or-partial"]\n'
    )
    capsys.readouterr()
    assert call("diagnose", project, "--fail-on", "HIGH") == 0
    assert "MEDIUM" in capsys.readouterr().out
    assert call("diagnose", project, "--fail-on", "medium") == 1


def test_a_person_reads_what_is_wrong_and_what_to_try(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("diagnose", project) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Not good enough to ship yet: ")
    for part in (
        "\u2588",  # bars
        "nDCG@10 by capability of query",
        "nDCG@10 by category of query",
        "INDEX_MAPPING: what is indexed, and how it matches",
        'MEDIUM q2 "what keeps my hair dry": ',
        "- Try",
        "Do this next: ",
        "(advised)",
        "all 3",
    ):
        assert part in shown, part
    assert max(map(len, shown.splitlines())) <= 100


def test_one_query_whole_with_its_arithmetic(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("diagnose", project, "--query", "q1", "--digits", "3") == 0
    shown = " ".join(capsys.readouterr().out.split())
    # grades 3 and 1 earn 7 and 1; 1/log2(3) = 0.631
    assert (
        "DCG@10 = 7.000 + 0.631 = 7.631; ideal = 7.000 + 0.631 = 7.631; "
        "nDCG@10 = 7.631 / 7.631 = 1.000"
    ) in shown
    assert "Judgments: 2, relevant 2: red Red shoes (3), blue Blue shoes (1)" in shown
    assert "words misses 1 of 2: blue Blue shoes (grade 1, not returned)" in shown


@pytest.mark.parametrize("form", ["json", "csv", "markdown"])
def test_queries_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    arguments = ("--query", "q2", "--query", "q3", "--format", form)
    assert call("diagnose", project, *arguments) == 0
    shown = capsys.readouterr().out
    if form == "json":
        first, second = json.loads(shown)["queries"]
        assert first["systems"]["words"]["status"] == "empty"
        assert first["systems"]["meaning"]["documents"][0]["part"] == 7.0
        assert second["ideal_dcg"] == 3.0
    elif form == "csv":
        assert "q2,words,0.0,empty,,,,,,,,False" in shown.splitlines()
        assert "q2,meaning,1.0,ok,1,hat,0.9,3,7.0,7.0,,False" in shown.splitlines()
    else:
        assert "### Query q2: what keeps my hair dry" in shown


def test_markdown_and_csv_of_a_diagnosis(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("diagnose", project, "--format", "csv") == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("severity,tag,rule,query_id")
    assert rows[0].startswith("HIGH,MODEL_SELECTION,every-system-fails,q3")
    assert call("diagnose", project, "--format", "markdown") == 0
    assert "**What is wrong: " in capsys.readouterr().out


def test_the_next_project_file_keeps_what_was_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("diagnose", project, "--restart") == 0
    told = capsys.readouterr().err
    assert "-fallback = false" in told
    assert "+fallback = true" in told
    written = project / "searchmark.next.toml"
    assert "# asks for every word" in written.read_text()
    before = written.read_text()
    assert call("diagnose", project, "--restart") == 2  # never over a file without being asked
    assert written.read_text() == before
    assert call("diagnose", project, "--restart", "--overwrite") == 0
    assert call("diagnose", written) == 0  # it is a project


def test_a_failing_system_is_a_finding_and_an_exit_code(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "mine.py").write_text("def search(query, k):\n    raise RuntimeError('down')\n")
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(
        text + '\n[systems.mine]\nuse = "python"\ncallable = "mine:search"\n'
    )
    assert call("diagnose", project, "--format", "json") == 3
    shown = capsys.readouterr()
    findings = json.loads(shown.out)["findings"]
    failed = [f for f in findings if f["rule"] == "failed-or-partial" and f["severity"] == "HIGH"]
    assert {f["query_id"] for f in failed} == {"q1", "q2", "q3"}
    assert all(f["systems"] == ["mine"] and "down" in f["what"] for f in failed)
    assert "3 calls failed (mine)" in shown.err
    assert "mine is INVALID: 3 of 3 queries failed" in shown.err
    # an outage is no bad verdict, whatever else is found
    assert call("diagnose", project, "--fail-on", "HIGH") == 3
    assert call("diagnose", project, "--query", "q1") == 3
    assert "mine INVALID: error" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--query", "q9"], "there is no query 'q9'"),
        (["-k", "500"], "k = 500 looks deeper than depth = 100"),
        (["--system", "word"], "did you mean 'words'?"),
    ],
)
def test_bad_arguments_are_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert call("diagnose", project, *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert told in shown.err
    assert shown.err.count("\n") == 1


def test_kept_answers_are_looked_at_until_fresh_ones_are_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counting = (
        "n = 0\ndef search(query, k):\n    global n\n    n += 1\n    return ['red', f'call {n}']\n"
    )
    (project / "counted.py").write_text(counting)
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(
        text + '\n[systems.counted]\nuse = "python"\ncallable = "counted:search"\n'
    )

    def second_document(*more: str) -> str:
        assert call("diagnose", project, "--query", "q1", "--format", "json", *more) == 0
        (query,) = json.loads(capsys.readouterr().out)["queries"]
        return str(query["systems"]["counted"]["documents"][1]["doc_id"])

    assert second_document() == "call 1"
    assert second_document() == "call 1"
    assert second_document("--fresh") == "call 4"  # three queries were asked before
    assert second_document() == "call 4"
    (project / "queries.jsonl").write_text(QUERIES.replace("red shoes", "red boots"))
    assert second_document() == "call 7"  # other queries: nothing that is kept fits
    for table in (project / ".searchmark" / "runs").glob("*/run.parquet"):
        table.write_bytes(b"damaged")
    assert second_document() == "call 10"


def test_answers_that_failed_are_asked_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "flaky.py").write_text(
        "n = 0\ndef search(query, k):\n    global n\n    n += 1\n"
        "    if n == 1:\n        raise OSError('down')\n    return ['red']\n"
    )
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(
        text + '\n[systems.flaky]\nuse = "python"\ncallable = "flaky:search"\n'
    )
    assert call("diagnose", project) == 3
    capsys.readouterr()
    assert call("diagnose", project) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--query", "q1", "--fail-on", "HIGH"],
        ["--query", "q1", "--restart"],
        ["--query", "q1", "--all"],
        ["--overwrite"],
    ],
)
def test_options_that_would_be_ignored_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert call("diagnose", project, *arguments) == 2
    assert "go with" in capsys.readouterr().err.replace("goes", "go")


def test_the_ceiling_is_that_of_the_conventions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(text.replace("nDCG@10", "nDCG(empty=zero)@10"))
    (project / "qrels.txt").write_text("q1 0 red 3\nq2 0 hat 3\n")  # q3 has no answer: it counts 0
    assert call("diagnose", project, "--format", "json") == 0
    levels = json.loads(capsys.readouterr().out)["systems"]["meaning"]["levels"]
    assert levels[0]["measure"].startswith("nDCG")
    assert levels[0]["ceiling"] == pytest.approx(2 / 3)
    assert (levels[0]["word"], levels[0]["n_queries"]) == ("best possible", 3)
    assert [level["n_queries"] for level in levels[1:]] == [2, 2]
    assert call("diagnose", project) == 0
    assert "1 of them without an answer (P and RR: the other 2)" in capsys.readouterr().out


def test_what_is_on_already_is_not_advised(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("diagnose", project) == 0
    assert "any word match" in capsys.readouterr().out
    text = (project / "searchmark.toml").read_text()
    (project / "searchmark.toml").write_text(text.replace("fallback = false", "fallback = true"))
    assert call("diagnose", project) == 0
    assert "any word match" not in capsys.readouterr().out
