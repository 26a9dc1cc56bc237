from pathlib import Path

import pytest

from searchmark.measures.reference import markdown
from searchmark.measures.table import MEASURES


def test_the_page_in_docs_is_what_the_code_says(repository: Path):
    page = (repository / "docs" / "measures.md").read_text(encoding="utf-8")
    assert page == markdown(), "run: python -m searchmark.measures.reference > docs/measures.md"


@pytest.mark.parametrize("name", MEASURES.names())
def test_every_measure_states_its_parameters_and_edge_cases(name):
    section = markdown().split(f"\n## {name}\n")[1].split("\n## ")[0]
    spec = MEASURES.load(name)
    assert spec.summary[1:] in section
    for param in spec.all_params():
        assert f"| `{param}` |" in section
    for edge in spec.edges:
        assert edge in section
    assert "- ties: " in section


def test_formulas_come_from_the_docstrings():
    assert "`DCG@k = sum of gain(r) / log2(r + 1)` over ranks r up to k" in markdown()


def test_profiles_show_what_they_change():
    assert "| `dcg` | `exp-log2`, `log2` in `trec` | gain and discount" in markdown()
    assert "| `p` | `0.8`, `0.9` in `trec` |" in markdown()
