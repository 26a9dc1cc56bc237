"""The example of Python functions as systems runs as it is."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project


@pytest.fixture
def example(repository: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(
        repository / "examples" / "python-callable",
        tmp_path / "example",
        ignore=shutil.ignore_patterns(".searchmark", "__pycache__"),
    )
    yield tmp_path / "example"
    sys.modules.pop("my_search", None)


def test_both_searches_answer(example: Path) -> None:
    found = run_experiment(read_project(example / "searchmark.toml"), sensitivity=False)
    found.check()
    words, titles = ({c.query_id: c.doc_ids for c in outcome.calls} for outcome in found.outcomes)
    # eggs, and, butter: all three in omelette and pancakes, by id; two in the pie
    assert words["q2"][:3] == ["omelette", "pancakes", "pie"]
    # 'chickpeas' and 'something' stand in no title, "Chickpea curry" being in the singular
    assert titles == {"q1": ["bread"], "q2": [], "q3": [], "q4": ["pie"], "q5": []}
