"""``searchmark compare`` as a person calls it: over a project, and over files."""

import json
import random
from pathlib import Path

import pytest

from searchmark.cli.main import main

N = 40


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write judgments of one document a query, and runs that find it at rank 1, 2 or by chance."""
    (tmp_path / "qrels").write_text("".join(f"q{i} 0 d 1\n" for i in range(N)))
    chance = random.Random(1)
    ranks = {
        "first": [1] * N,
        "second": [2] * N,
        "noise": [chance.choice([1, 2, 3]) for _ in range(N)],
    }
    ranks["other"] = ranks["noise"][1:] + ranks["noise"][:1]
    for name, found in ranks.items():
        lines = []
        for i, rank in enumerate(found):
            docs = [*["x", "y"][: rank - 1], "d"]
            lines += [f"q{i} Q0 {d} {r} {9 - r} {name}\n" for r, d in enumerate(docs, 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return tmp_path


def compared(files: Path, *more: object, capsys: pytest.CaptureFixture[str]) -> dict:
    runs = [files / f"{name}.run" for name in ("second", "first", "noise", "other")]
    assert call("compare", files / "qrels", *runs, "--format", "json", *more) == 0
    return json.loads(capsys.readouterr().out)


def test_every_pair_of_files_is_compared(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(files, "-m", "RR", capsys=capsys)
    pairs = {(c["a"], c["b"]): c for c in found["comparisons"]}
    assert len(pairs) == 6
    sure = pairs["second", "first"]
    # RR 0.5 in every query against 1 in every query
    assert (sure["mean_a"], sure["mean_b"], sure["delta"]) == (0.5, 1.0, 0.5)
    assert (sure["wins"], sure["ties"], sure["losses"]) == (N, 0, 0)
    assert sure["words"] == "better"
    noise = pairs["noise", "other"]
    assert noise["delta"] == pytest.approx(0, abs=1e-12)  # the same ranks on other queries
    assert noise["words"] == "cannot tell"
    assert noise["low"] < 0 < noise["high"]
    assert noise["detectable"] > 0.05


def test_all_others_with_a_reference(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(files, "-m", "RR", "-m", "P@1", "--reference", "second", capsys=capsys)
    assert {c["a"] for c in found["comparisons"]} == {"second"}
    assert len(found["comparisons"]) == 6  # three runs, two measures
    assert "6 comparisons" in found["sentence"]
    some = compared(files, "-m", "RR", "--system", "first", "--reference", "second", capsys=capsys)
    assert [(c["a"], c["b"]) for c in some["comparisons"]] == [("second", "first")]


def test_the_same_seed_and_another_order_give_the_same_numbers(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = compared(files, "-m", "RR", capsys=capsys)
    for name in ("qrels", "noise.run", "other.run"):
        # queries in the order from the last to the first; lines of one query stay in theirs
        lines = (files / name).read_text().splitlines(keepends=True)
        (files / name).write_text("".join(sorted(lines, key=lambda x: x.split()[0], reverse=True)))
    assert compared(files, "-m", "RR", capsys=capsys)["comparisons"] == first["comparisons"]
    other = compared(files, "-m", "RR", "--seed", "1", capsys=capsys)["comparisons"]
    assert [c["delta"] for c in other] == [c["delta"] for c in first["comparisons"]]


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomization"])
@pytest.mark.parametrize("correct", ["holm", "bh", "none"])
def test_every_test_and_correction_can_be_asked_for(
    files: Path, test: str, correct: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(files, "-m", "RR", "--test", test, "--correct", correct, capsys=capsys)
    assert found["correction"] == correct
    for c in found["comparisons"]:
        assert c["test"] == test
        assert c["p"] == c["p_by_test"][test]
        assert c["p"] is None or c["p_adjusted"] >= c["p"]


def test_it_is_read_without_a_course(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [files / "second.run", files / "first.run"]
    assert call("compare", files / "qrels", *runs, "-m", "RR") == 0
    printed = capsys.readouterr().out
    assert "first vs second" in printed
    assert "- first is better than second on RR (+0.5000)." in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qrels", "first.run"], "there is nothing to compare with first"),
        (["qrels", "first.run", "second.run", "--reference", "frist"], "no run is called 'frist'"),
        (["qrels", "first.run", "second.run", "-m", "nope"], "nope"),
        (["qrels", "first.run", "gone.run"], "no such file"),
        (["qrels", "first.run", "second.run", "--seed", "-1"], "-1 is not in the range x>=0"),
    ],
)
def test_what_cannot_be_compared_is_said(
    files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [a if a.startswith("-") or not (files / a).suffix else files / a for a in arguments]
    given[0] = files / "qrels"
    assert call("compare", *given) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--system", "noted"], ["--reference", "noted"]])
def test_one_system_is_refused_before_it_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    asked = tmp_path / "asked"
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "title": "d"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "d"}\n')
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    module = f"noted_{abs(hash(tmp_path))}"
    (tmp_path / f"{module}.py").write_text(
        f"def search(text, k):\n    open({str(asked)!r}, 'w').close()\n    return ['d']\n"
    )
    table = f'[systems.noted]\nuse = "python"\ncallable = "{module}:search"\n'
    inputs = 'corpus = "corpus.jsonl"\nqueries = "queries.jsonl"\nqrels = "qrels.txt"\n'
    (tmp_path / "searchmark.toml").write_text(f"{inputs}{table}")
    assert call("compare", tmp_path, *more) == 2
    assert "there is nothing to compare with noted" in capsys.readouterr().err
    assert not asked.exists()
    assert call("run", tmp_path) == 0
    assert asked.exists()  # so that the file's absence says something
