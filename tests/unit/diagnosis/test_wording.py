"""Sentences as a person says them."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl

import searchmark.diagnosis
from searchmark.data import Corpus
from searchmark.data.filters import Filter
from searchmark.diagnosis.documents import Documents
from searchmark.diagnosis.rules.absent import judged_not_in_corpus
from searchmark.diagnosis.rules.all_fail import every_system_fails
from searchmark.diagnosis.rules.filters import filter_violated
from searchmark.diagnosis.wording import cut, told

from .making import Rankings, evidence, query
from .scenes import revised

LONG = "word " * 40
SHORTENED = ("word " * 11).strip() + " ..."
"""11 words and 10 blanks are 54 characters, and one more word with its blank and the dots 63."""


def test_no_fix_says_try_as_the_report_says_it() -> None:
    folder = Path(searchmark.diagnosis.__file__).parent
    sources = {p: p.read_text(encoding="utf-8") for p in folder.rglob("*.py")}
    assert len(sources) > 20
    assert [p.name for p, text in sources.items() if re.search(r"""["']Try """, text)] == []


def test_cut() -> None:
    assert cut(LONG) == SHORTENED
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 56 + " ..."
    assert cut(" a\n b ") == "a b"


def test_told_with_as_many_digits_as_tell_it_from_the_limit() -> None:
    assert told(0.70004, 0.7, 4) == "0.70004"
    assert told(0.7 + 2e-9, 0.7, 4) == "0.700000002"
    assert told(0.7 + 1e-12, 0.7, 4) == "0.7000"
    assert told(0.123456, 0.7, 4) == "0.1235"


def test_long_titles_are_cut() -> None:
    documents = Documents(Corpus(pl.DataFrame({"doc_id": ["d1"], "title": [LONG]})))
    assert documents.label("d1") == f"{SHORTENED} (d1)"


def test_long_values_of_a_filter_are_cut() -> None:
    rankings: Rankings = {"bm25": ("lexical", ["d1"])}
    made = revised(query({"d2": 1}, rankings), "bm25", broken_filters=(1,))
    made = replace(made, filters=(Filter("note", "=", "x"),))
    rows = [{"doc_id": "d1", "note": LONG}, {"doc_id": "d2", "note": "x"}]
    (finding,) = filter_violated(made, evidence(made, corpus=rows))
    assert finding.what.endswith(f": d1 has note {SHORTENED}")


def test_one_relevant_document() -> None:
    rankings: Rankings = {"bm25": ("lexical", ["u"]), "dense": ("vector", ["u"])}
    one = query({"d1": 1}, rankings)
    (finding,) = every_system_fails(one, evidence(one))
    assert finding.what.endswith("; the only relevant document is not returned within 5")
    two = query({"d1": 1, "d2": 1}, rankings)
    (finding,) = every_system_fails(two, evidence(two))
    assert finding.what.endswith("; of 2 relevant documents none is returned within 5")
    one = replace(one, absent=("d1",))
    (lost,) = judged_not_in_corpus(one, evidence(one))
    assert lost.what == (
        "the only relevant document is not in the corpus (d1), so no system can answer it"
    )
    two = replace(two, absent=("d1",))
    (lost,) = judged_not_in_corpus(two, evidence(two))
    assert lost.what == "1 of 2 relevant documents is not in the corpus (d1)"
