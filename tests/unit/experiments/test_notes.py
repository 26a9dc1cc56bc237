"""What the means of a table hide: sentences worked out by hand, and categories without a value."""

import json
from pathlib import Path

import pytest

from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = {measures}
complete = true
[systems.words]
use = "bm25"
[systems.others]
use = "bm25"
k1 = 0.5
"""
# words do not look at filters: query 1 asks for English and gets a German document beside it
FILES = {
    "c.jsonl": (
        '{"_id": "a", "title": "red", "lang": "en"}\n{"_id": "b", "title": "red", "lang": "de"}\n'
    ),
    "q.jsonl": (
        '{"_id": "1", "text": "red", "category": "filtered", "filters": {"lang": "en"}}\n'
        '{"_id": "2", "text": "red", "category": "plain"}\n'
        '{"_id": "3", "text": "violet", "category": "nothing"}\n'
    ),
    "r.qrels": "1 0 a 1\n2 0 a 1\n",
}


def notes_of(folder: Path, measures: str) -> tuple[str, ...]:
    files = {**FILES, "searchmark.toml": PROJECT.format(measures=measures)}
    for name, text in files.items():
        (folder / name).write_text(text)
    return run_experiment(read_project(folder)).evaluation.notes


@pytest.mark.filterwarnings("error")
def test_a_category_without_a_value_is_passed_over(tmp_path: Path) -> None:
    found = notes_of(tmp_path, '["FilterOK@10"]')
    assert "Category filtered: FilterOK@10 is 0.500 in every system." in found
    assert not any("plain" in note or "nan" in note for note in found)


def test_one_measure_counts_and_two_count(tmp_path: Path) -> None:
    one = [n for n in notes_of(tmp_path, '["nDCG@10"]') if "without an answer, whatever" in n]
    assert one[0].startswith("nDCG@10 counts 1 for the one query without an answer, whatever is")
    two = [n for n in notes_of(tmp_path, '["nDCG@10", "R@20"]') if "without an answer, what" in n]
    assert two[0].startswith("nDCG@10 and R@20 count 1 for the one query without an answer,")


def test_no_number_of_an_invalid_system_is_told(tmp_path: Path) -> None:
    module = f"sm_notes_{abs(hash(tmp_path))}"
    (tmp_path / f"{module}.py").write_text(
        "def search(text, k):\n    if text == 'violet':\n        raise OSError('down')\n"
        "    return ['a', 'b']\n"
    )
    table = f'[systems.mine]\nuse = "python"\ncallable = "{module}:search"\n'
    for name, text in {**FILES, "searchmark.toml": PROJECT + table}.items():
        (tmp_path / name).write_text(text.replace("{measures}", '["nDCG@10"]'))
    evaluation = run_experiment(read_project(tmp_path)).evaluation
    about = [note for note in evaluation.notes if "mine" in note]
    assert about == [
        "mine is INVALID: 1 of 3 queries failed. Its scores are no measurement.",
        "mine failed on 1 of 3 queries; they count as missing.",
    ]
    assert any(note.startswith("NoAnswer, the share") for note in evaluation.notes)
    # what these queries can show is told by the two that count: the same system, but for k1
    assert {s.pair for s in evaluation.sensitivity} <= {None, ("words", "others")}


def test_odd_ids_are_told_on_one_short_line(tmp_path: Path) -> None:
    ids = ["low\x1b[2J", "best\n" + "x" * 5000]
    # both systems find the document of grade 1 first: the better one is longer
    texts = [{"_id": ids[0], "text": "red"}, {"_id": ids[1], "text": "red and much else"}]
    files = {
        "searchmark.toml": PROJECT.format(measures='["nDCG@10"]').replace("r.qrels", "r.jsonl"),
        "c.jsonl": "".join(json.dumps(text) + "\n" for text in texts),
        "q.jsonl": json.dumps({"_id": "q\n1", "text": "red\x1b]0;"}) + "\n",
        "r.jsonl": "".join(
            json.dumps({"query_id": "q\n1", "doc_id": doc_id, "grade": grade}) + "\n"
            for doc_id, grade in zip(ids, (1, 2), strict=True)
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    notes = run_experiment(read_project(tmp_path)).evaluation.notes
    # five signs with the blank, 74 and the last one are 80
    assert [note for note in notes if "above the best one" in note] == [
        "In 1 of 1 queries every system puts the same lower-graded document above the best one; "
        r"for 'red\x1b]0;' ('q 1') it is 'low\x1b[2J' (grade 1) above "
        f"'best {'x' * 74}…' (grade 2)."
    ]
