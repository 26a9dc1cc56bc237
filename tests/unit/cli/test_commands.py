"""The commands as a person calls them: what is printed, where, and what they exit with."""

import json
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import main

CORPUS = [
    {"_id": "d1", "title": "red apple", "text": "a sweet fruit"},
    {"_id": "d2", "title": "green pear", "text": "another fruit"},
    {"_id": "d3", "title": "grey stone", "text": "not for eating"},
]
QUERIES = [
    {"_id": "q1", "text": "apple", "category": "name"},
    {"_id": "q2", "text": "fruit", "category": "word"},
    {"_id": "q3", "text": "spaceship", "category": "none"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t3\nq2\td2\t2\nq2\td1\t1\n"
PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
complete = true
measures = ["nDCG@10", "RR"]

[systems.words]
use = "bm25"

[systems.mine]
use = "python"
callable = "mine_{unique}:search"

[gate]
system = "words"
"""
MINE = """
def search(text, k):
    if text == "spaceship" and not {works}:
        raise RuntimeError("engine on fire")
    return [("d2", 2.0), "d1"][:k]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in CORPUS))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUERIES))
    (tmp_path / "qrels.tsv").write_text(QRELS)
    unique = abs(hash(tmp_path))
    (tmp_path / "searchmark.toml").write_text(PROJECT.format(unique=unique))
    (tmp_path / f"mine_{unique}.py").write_text(MINE.format(works=True))
    return tmp_path


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_run_prints_results_to_stdout_and_messages_to_stderr(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", folder) == 0
    printed = capsys.readouterr()
    assert "words by category" in printed.out
    assert "Conventions: profile graded; nDCG(dcg=exp-log2" in printed.out
    assert printed.err.count("results in") == 2


def test_run_as_json_is_exact_and_has_every_query(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", folder, "--format", "json", "--per-query") == 0
    found = json.loads(capsys.readouterr().out)
    words = found["systems"]["words"]
    # q1: d1 alone, 1. q2: both have fruit once; d2's text is shorter, so d2, d1, which is ideal: 1.
    # q3: nothing relevant, nothing returned: 1.
    assert words["per_query"]["nDCG@10"] == {"q1": 1.0, "q2": 1.0, "q3": 1.0}
    assert words["measures"]["RR"] == {
        "mean": 2 / 3,
        # Wilson's interval of 2 in 3: (2/3 + z*z/6 -+ z sqrt(2/27 + z*z/36)) / (1 + z*z/3)
        "low": pytest.approx(0.207659, abs=1e-6),
        "high": pytest.approx(0.938508, abs=1e-6),
        "interval": "wilson",
        "interval_note": None,
        "ceiling": 2 / 3,
        "n_queries": 3,
        "n_missing": 0,
        "n_skipped": 0,
        "unjudged_share": 0.0,
    }
    assert set(found["digests"]) == {"corpus", "queries", "qrels"}


def test_run_as_csv_and_markdown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", folder, "--format", "csv") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("system,category,measure,mean,low,high,ceiling,n_queries,unjudged")
    row = next(line for line in printed.splitlines() if line.startswith("words,,RR,")).split(",")
    assert row[3] == row[6] == "0.6666666666666666"
    assert row[7:9] == ["3", "0.0"]
    assert row[9:12] == ["", "0", "3"]  # valid, none failed, three calls
    assert float(row[12]) > 0  # the p50; three calls have no p95 and no p99
    assert row[13:] == ["", "", "0"]  # and no answer was partial
    assert 0.2 < float(row[4]) < 0.21
    assert call("run", folder, "--format", "markdown") == 0
    assert "| words | **1.0000** " in capsys.readouterr().out


def test_a_system_that_raises_for_one_query_keeps_the_rest_and_exits_3(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = next(folder.glob("mine_*.py"))
    module.write_text(MINE.format(works=False))
    assert call("run", folder) == 3
    printed = capsys.readouterr()
    assert "system 'mine' failed on query 'q3': RuntimeError: engine on fire" in printed.err
    assert "mine failed on 1 of 3 queries; they count as missing" in printed.out
    assert "mine INVALID" in printed.out
    assert "mine is INVALID: 1 of 3 queries failed." in printed.out
    assert len(list((folder / ".searchmark" / "runs").glob("*/run.parquet"))) == 2
    assert len(list((folder / ".searchmark" / "journal").glob("*.jsonl"))) == 2


def test_answers_of_an_older_version_of_the_function_are_not_kept(folder: Path) -> None:
    module = next(folder.glob("mine_*.py"))
    module.write_text(MINE.format(works=False))
    assert call("run", folder, "--system", "mine") == 3
    before = {p.name for p in (folder / ".searchmark" / "journal").glob("*.jsonl")}
    module.write_text(MINE.format(works=True) + "\n# mended\n")
    sys.modules.pop(module.stem)
    assert call("run", folder, "--system", "mine") == 0
    after = {p.name for p in (folder / ".searchmark" / "journal").glob("*.jsonl")}
    assert after == before  # the journal of the failed version stays; the new one ended well


def test_the_gate_from_no_baseline_to_acceptance_to_refusal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("gate", folder) == 2
    assert "searchmark baseline accept" in capsys.readouterr().err
    assert call("baseline", "accept", folder) == 0
    assert call("gate", folder) == 0
    assert "Gate passed" in capsys.readouterr().out

    project = folder / "searchmark.toml"
    project.write_text(
        project.read_text().replace('use = "bm25"', 'use = "bm25"\nfields=["title"]')
    )
    assert call("gate", folder) == 1
    printed = capsys.readouterr().out
    assert "Gate failed: words breaks 2 limits." in printed
    assert "q2" in printed

    (folder / "qrels.tsv").write_text(QRELS.replace("q2\td2\t2", "q2\td2\t3"))
    assert call("gate", folder) == 4
    assert "the qrels changed" in capsys.readouterr().err
    assert call("baseline", "accept", folder) == 0
    assert call("gate", folder) == 0


def test_the_verdict_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call("baseline", "accept", folder)
    capsys.readouterr()
    assert call("gate", folder, "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] is True
    assert [m["measure"] for m in found["measures"]] == ["nDCG@10", "RR"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", "", "corpus.jsonl: the corpus is empty"),
        ("qrels.tsv", QRELS + "q1\td9\t1\n", "qrels.tsv:5: the judged document 'd9' of query 'q1'"),
        ("qrels.tsv", QRELS + "q1\td2\tx\n", "qrels.tsv:5: the grade 'x' is no integer"),
        ("qrels.tsv", QRELS + "q1\td1\t0\n", "qrels.tsv:5: the document 'd1' is judged twice"),
        ("queries.jsonl", '{"_id": "q1"}\n', "no column for the query text"),
        (
            "queries.jsonl",
            '{"_id": "x", "text": ""}\n',
            "queries.jsonl:1: the query 'x' has no text",
        ),
        ("searchmark.toml", "corpus = 1\n", "must be text, not a whole number"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_exit_2(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    (folder / name).write_text(content)
    assert call("run", folder) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_a_missing_file_names_the_key_and_the_nearest_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "queries.jsonl").rename(folder / "querys.jsonl")
    assert call("run", folder) == 2
    assert "queries: there is no file 'queries.jsonl'; did you mean 'querys.jsonl'" in (
        capsys.readouterr().err
    )


def test_a_model_that_is_not_there_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "searchmark.toml").read_text()
    (folder / "searchmark.toml").write_text(
        text + '\n[systems.dense]\nuse = "dense"\nmodel = "no-such-model"\n'
    )
    assert call("run", folder, "--system", "dense") == 2
    printed = capsys.readouterr().err
    assert "no-such-model" in printed
    assert "Traceback" not in printed


def test_results_outside_the_corpus_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    next(folder.glob("mine_*.py")).write_text("def search(text, k):\n    return ['zzz']\n")
    assert call("run", folder, "--system", "mine") == 0
    assert "mine: results that are not in the corpus: 3, 'zzz' first" in capsys.readouterr().out


def test_an_allowed_change_of_the_corpus_is_mentioned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = folder / "searchmark.toml"
    project.write_text(project.read_text() + 'allow_changed = ["corpus"]\n')
    assert call("baseline", "accept", folder) == 0
    with (folder / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "d4", "title": "blue plum", "text": ""}\n')
    capsys.readouterr()
    assert call("gate", folder) == 0
    assert "allowed by allow_changed: the corpus changed" in capsys.readouterr().out


def test_the_demo_overwrites_nobody_s_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("my notes")
    assert call("demo", tmp_path) == 2
    assert "holds README.md already" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "my notes"


def test_unknown_names_get_the_nearest_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("rnu", folder) == 2
    assert "did you mean 'run'?" in capsys.readouterr().err
    assert call("run", folder, "--system", "wrods") == 2
    assert "did you mean 'words'?" in capsys.readouterr().err


def test_a_fault_of_our_own_exits_5_without_a_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("searchmark.project.read_project", fail)
    assert call("run", folder) == 5
    printed = capsys.readouterr().err
    assert "a fault of our own: ZeroDivisionError: oops" in printed
    assert "Traceback" not in printed
    assert call("--debug", "run", folder) == 5
    assert "Traceback" in capsys.readouterr().err


def test_init_writes_a_project_that_runs_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "searchmark.toml").unlink()
    assert call("init", folder) == 0
    assert "fields to search: title, text" in capsys.readouterr().err
    assert (folder / "searchmark.toml").read_text().startswith("# A Searchmark project")
    assert call("run", folder) == 0
    assert call("init", folder) == 2
    assert "--force" in capsys.readouterr().err


def test_init_in_an_empty_folder_says_what_it_looks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("init", tmp_path) == 2
    printed = capsys.readouterr().err
    assert "corpus" in printed
    assert "queries" in printed


def test_doctor_tells_what_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("doctor", "--format", "json") == 0
    rows = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["polars"]["state"] == "ok"
    assert "onnxruntime [dense]" in rows


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schema") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "searchmark.toml"


def test_the_demo_runs_passes_its_gate_and_leaves_changes_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("demo", tmp_path / "demo") == 0
    printed = capsys.readouterr().out
    for expected in (
        "keyword",
        "dense",
        "hybrid by category",
        "ceiling",
        "Conventions",
        "Gate passed",
    ):
        assert expected in printed
    project = tmp_path / "demo" / "searchmark.toml"
    project.write_text(project.read_text().replace('["keyword", "dense"]', '["keyword"]'))
    assert call("demo", tmp_path / "demo") == 1
    assert "Gate failed: hybrid" in capsys.readouterr().out
