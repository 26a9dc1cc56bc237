"""The example of the command kind runs, with rankings as worked out by hand."""

import shutil
from pathlib import Path

from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project

WORDS = {
    # three words of "Flat bread ... without yeast", two of "White bread with yeast", then one
    "q1": ["bread-flat", "bread-white", "bread-rye", "soup-onion"],
    # two words; then one, in the order of the file
    "q2": ["soup-tomato", "soup-lentil", "soup-onion", "salad-tomato"],
    "q3": ["cake-carrot", "salad-carrot"],
    # both words: soup-onion, omelette; then "with" alone, the first ten in all
    "q4": [
        "soup-onion", "pan-omelette", "bread-white", "bread-rye", "soup-tomato", "soup-lentil",
        "cake-lemon", "cake-carrot", "salad-tomato", "salad-carrot",
    ],
    "q5": ["cake-lemon", "salad-carrot", "pan-cake"],
    "q6": [],
}  # fmt: skip
GREP = {
    "q1": [],
    "q2": ["soup-tomato"],
    "q3": ["cake-carrot", "salad-carrot"],
    "q4": [],
    "q5": [],
    "q6": [],
}


def test_the_example_runs(repository: Path, tmp_path: Path) -> None:
    project = tmp_path / "command"
    shutil.copytree(
        repository / "examples" / "command", project, ignore=shutil.ignore_patterns(".searchmark")
    )
    experiment = run_experiment(read_project(project), sensitivity=False)
    found = {o.system: {c.query_id: c.doc_ids for c in o.calls} for o in experiment.outcomes}
    assert found == {"words": WORDS, "grep": GREP}
    statuses = {c.query_id: c.status for c in experiment.outcomes[0].calls}
    assert statuses == dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), "ok") | {"q6": "empty"}
