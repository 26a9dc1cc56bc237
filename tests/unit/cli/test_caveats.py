"""No output of a run that failed, or is missing or partial, leaves a reader without a word."""

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from searchmark.cli.main import main

DOCS = [f"d{i}" for i in range(10)]

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR"]
[systems.words]
use = "bm25"
fields = ["title"]
[systems.arm]
use = "python"
callable = "caveat_{unique}:search"
max_error_share = {errors}
[systems.joined]
use = "hybrid"
of = ["words", "arm"]
max_partial_share = {partial}
[systems.held]
use = "run"
path = "held.trec"
[gate]
system = "{gate}"
"""

MODULE = """
from pathlib import Path

def search(text, k):
    if text in Path(__file__).with_name("down").read_text().split():
        raise OSError("engine down")
    return [text]
"""

STATES = {
    "failed": ("arm", 0.5, 1.0),
    "partial": ("joined", 1.0, 0.5),
    "missing": ("held", 0.0, 0.0),
    "invalid, failed": ("arm", 0.1, 1.0),
    "invalid, partial": ("joined", 1.0, 0.1),
    "invalid, missing": ("held", 0.0, 0.0),
}
"""What is the matter -> the system that it is told of, and the limits."""

CALLS = {
    "run": ["run", "."],
    "compare": ["compare", ".", "--system", "words", "--system"],
    "gate": ["gate", "."],
    "diagnose": ["diagnose", "."],
    "diagnose a query": ["diagnose", ".", "--query", "qd0"],
    "baseline accept": ["baseline", "accept", "."],
}

NONE_HELD = "its file holds none of the 10 queries, such as 'qd0'; compare its query ids or texts"

WORDS = {
    "failed": {
        "run": (
            *("arm failed on 2 of 10 queries", "arm: 2 of 10 queries failed"),
            '"2 of 10 queries failed, more than max_error_share = 0.1 allows"',
        ),
        **dict.fromkeys(
            ("compare", "gate"), ("arm: 2 of 10 queries failed", "failed on query 'qd0'")
        ),
        "diagnose": ("2 calls failed (arm)",),
        "diagnose a query": ("1 call failed (arm)",),
        "baseline accept": ("mind: arm: 2 of 10 queries failed", "failed on query 'qd0'"),
    },
    "partial": {
        "run": (
            "joined: 2 of 10 answers are partial",
            '"2 of 10 answers are partial, more than max_partial_share = 0.1 allows"',
        ),
        **dict.fromkeys(
            ("compare", "gate"),
            ("joined: 2 of 10 answers are partial", "a partial answer to query 'qd0'"),
        ),
        "diagnose": ("2 answers are partial (joined)",),
        "diagnose a query": ("1 answer is partial (joined)",),
        "baseline accept": ("mind: joined: 2 of 10 answers are partial", "partial answer to query"),
    },
    "missing": {
        **dict.fromkeys(
            ("run", "compare", "gate", "baseline accept"),
            ("held: its file does not hold 2 of 10 queries, such as 'qd0'", NONE_HELD),
        ),
        "diagnose": ("2 queries are missing from run files (held)", NONE_HELD),
        "diagnose a query": ("1 query is missing from run files (held)", NONE_HELD),
    },
}
"""One of these stands in what a command prints, on whichever of the two streams."""

REFUSED = ("compare", "gate", "baseline accept")
"""Commands that give no numbers of a run that is no measurement, and say why."""

REFUSAL = "searchmark: error: system '"

FORMATS = {
    "baseline accept": [""],
    "gate": ["terminal", "markdown", "json", "csv", "junit"],
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    docs = [json.dumps({"_id": d, "title": d}) + "\n" for d in DOCS]
    Path("corpus.jsonl").write_text("".join(docs))
    queries = [json.dumps({"_id": f"q{d}", "text": d}) + "\n" for d in DOCS]
    Path("queries.jsonl").write_text("".join(queries))
    Path("qrels.txt").write_text("".join(f"q{d} 0 {d} 1\n" for d in DOCS))
    break_down()
    Path(f"caveat_{unique()}.py").write_text(MODULE)


def break_down(*, failing: str = "", held: Iterable[str] = DOCS) -> None:
    """Have calls for the named documents fail, and the run file hold queries for those `held`."""
    Path("down").write_text(failing)
    Path("held.trec").write_text("".join(f"q{d} Q0 {d} 1 1 held\n" for d in held))


def unique() -> int:
    return abs(hash(os.getcwd()))  # noqa: PTH109 - a module's name that no other test has


def settle(state: str) -> None:
    gate, errors, partial = STATES[state]
    text = PROJECT.format(unique=unique(), gate=gate, errors=errors, partial=partial)
    Path("searchmark.toml").write_text(text)


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


CASES = [
    (state, name, form)
    for state in STATES
    for name in CALLS
    for form in FORMATS.get(name, ["terminal", "markdown", "json", "csv"])
]


@pytest.mark.parametrize(("state", "name", "form"), CASES, ids=[" - ".join(c) for c in CASES])
def test_what_is_missing_is_told(
    state: str, name: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(state)
    system = STATES[state][0]
    if name == "gate":
        assert call("baseline", "accept", ".") == 0
    if "missing" in state:
        break_down(held=DOCS[2:] if state == "missing" else ["elsewhere"])
    else:
        break_down(failing="d0 d1")
    arguments = [*CALLS[name], *([system] if name == "compare" else [])]
    capsys.readouterr()
    code = call(*arguments, *(["--format", form] if form else []))
    found = capsys.readouterr()
    is_invalid = state.startswith("invalid")
    assert (code == 3) == is_invalid
    shown = " ".join((found.out + found.err).split())
    words = WORDS[state.removeprefix("invalid, ")][name]
    assert any(word in shown for word in words), shown
    if is_invalid:
        is_refused = name in REFUSED or (name, form) == ("run", "csv")  # a column marks its rows
        assert REFUSAL in found.err if is_refused else "INVALID" in shown


BESIDE = "since and until; the file begins with 'qelsewhere', the query set with 'qd0'"


@pytest.mark.parametrize("name", ["run", "compare", "baseline accept"])
def test_a_query_of_the_file_stands_beside_one_of_the_set(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settle("invalid, missing")
    break_down(held=["elsewhere"])
    assert call(*CALLS[name], *(["held"] if name == "compare" else [])) == 3
    found = capsys.readouterr()
    assert BESIDE in found.err
    assert BESIDE in " ".join(found.out.split()) or name != "run"


ARMS = """
def left(text, k):
    if text in ("d0", "d1"):
        raise OSError("engine down")
    return [text]

def right(text, k):
    if text == "d2":
        raise OSError("engine down")
    return left(text, k)
"""

JOINED = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR"]
[systems.left]
use = "python"
callable = "arms_{unique}:left"
max_error_share = 1
[systems.right]
use = "python"
callable = "arms_{unique}:right"
max_error_share = 1
[systems.joined]
use = "hybrid"
of = ["left", "right"]
max_error_share = 1
max_partial_share = 1
"""


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_tell_what_failed_from_what_was_partial(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(f"arms_{unique()}.py").write_text(ARMS)
    Path("searchmark.toml").write_text(JOINED.format(unique=unique()))
    capsys.readouterr()
    assert call("run", ".", "--format", "csv") == 0
    rows = table(capsys.readouterr().out)
    # d0 and d1 fail in both arms, and so where they are joined; d2 in the right one, so that
    # its joined answer is partial
    assert {r["system"]: (r["n_failed"], r["n_partial"]) for r in rows} == {
        "left": ("2", "0"),
        "right": ("3", "0"),
        "joined": ("2", "1"),
    }
    asked = [word for d in ("d0", "d2", "d3") for word in ("--query", f"q{d}")]
    assert call("diagnose", ".", "--system", "joined", *asked, "--format", "csv") == 0
    found = table(capsys.readouterr().out)
    assert [(r["query_id"], r["status"], r["doc_id"], r["partial"]) for r in found] == [
        ("qd0", "error", "", ""),
        ("qd2", "ok", "d2", "True"),
        ("qd3", "ok", "d3", "False"),
    ]
