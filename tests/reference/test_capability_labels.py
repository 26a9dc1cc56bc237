"""Capabilities as a reader labels them: 260 queries on products, services and articles.

The labels were decided by reading, before the code saw the queries: 188 at first, and 72 more after
what those showed had been mended. Queries that the code gets wrong stay in, for they are what
`docs/capabilities.md` says of it. `pytest tests/reference/test_capability_labels.py -s` prints the
matrix that stands there.
"""

import csv
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from searchmark.data.corpus import read_corpus
from searchmark.diagnosis.capabilities import CAPABILITIES, capability_of
from searchmark.diagnosis.lexicon import Lexicon
from searchmark.stats.confusion import Confusion, confusion

HERE = Path(__file__).parent
ACCURACY = 0.90
RECALL = {
    "exact": 0.90,
    "structured": 1.0,
    "combined": 1.0,
    "autocomplete": 0.80,
    "fuzzy": 0.75,
    "semantic": 0.95,
}


class Labelled(NamedTuple):
    text: str
    label: str
    told: str


@pytest.fixture(scope="module")
def labelled() -> list[Labelled]:
    lexicon = Lexicon.of(read_corpus(HERE / "capability_corpus.jsonl"))
    with (HERE / "capability_queries.tsv").open(encoding="utf-8", newline="") as stream:
        rows = [*csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [
        Labelled(r["text"], r["capability"], capability_of(r["text"], lexicon).name) for r in rows
    ]


@pytest.fixture(scope="module")
def found(labelled: list[Labelled]) -> Confusion:
    code = CAPABILITIES.index
    return confusion([code(q.label) for q in labelled], [code(q.told) for q in labelled])


def table(found: Confusion) -> str:
    """Return the matrix as a table in Markdown: a row for each label, a column for what is told."""
    assert found.grades == tuple(range(len(CAPABILITIES)))
    lines = ["| labelled | " + " | ".join(CAPABILITIES) + " | recall |", "|---" * 8 + "|"]
    for i, (name, counts) in enumerate(zip(CAPABILITIES, found.counts, strict=True)):
        cells = " | ".join(str(n) for n in counts)
        lines.append(f"| {name} | {cells} | {counts[i] / sum(counts):.2f} |")
    return "\n".join(lines)


def test_the_set_is_large_and_names_every_query_once(labelled: list[Labelled]) -> None:
    assert len({q.text for q in labelled}) == len(labelled) == 260
    assert set(Counter(q.label for q in labelled)) == set(CAPABILITIES)


def test_most_queries_are_told_as_a_person_does(labelled: list[Labelled]) -> None:
    right = sum(q.label == q.told for q in labelled)
    assert right / len(labelled) >= ACCURACY


def test_each_capability_is_found(found: Confusion) -> None:
    recall = {
        n: c[i] / sum(c) for i, (n, c) in enumerate(zip(CAPABILITIES, found.counts, strict=True))
    }
    assert {n for n, value in recall.items() if value < RECALL[n]} == set()


def test_the_matrix_in_the_documentation_is_this_one(
    labelled: list[Labelled], found: Confusion, repository: Path
) -> None:
    right = sum(q.label == q.told for q in labelled)
    wrong = [f"`{q.text}`: {q.label}, told {q.told}" for q in labelled if q.label != q.told]
    sys.stdout.write(
        f"\n{right} of {len(labelled)}\n\n{table(found)}\n\n" + "\n".join(f"- {w}" for w in wrong)
    )
    text = (repository / "docs" / "capabilities.md").read_text(encoding="utf-8")
    assert table(found) in text
    assert f"{right} of {len(labelled)}" in text
    assert [w for w in wrong if f"- {w}" not in text] == []
    assert text.count("\n- `") == len(wrong)
