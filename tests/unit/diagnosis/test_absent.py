"""Discounts of ranks 1 and 2: 1, 0.6309; gains: grade 1 earns 1, grade 2 earns 3."""

import math
from dataclasses import replace

import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.absent import judged_not_in_corpus

from .making import evidence, query


def found(judged: dict[str, int], absent: tuple[str, ...], ranked: list[str]) -> list[Finding]:
    made = replace(query(judged, {"bm25": ("lexical", ranked)}), absent=absent)
    return list(judged_not_in_corpus(made, evidence(made)))


def test_a_relevant_document_is_absent() -> None:
    """Present is 3 of the ideal 3 + 0.6309; without the absent one the ideal is 3."""
    (finding,) = found({"a": 2, "gone": 1}, ("gone",), ["a"])
    assert (finding.rule, finding.severity, finding.tag) == (
        "judged-not-in-corpus",
        "LOW",
        "JUDGMENTS",
    )
    assert (finding.systems, finding.documents) == ((), ("gone",))
    assert finding.evidence == {"n_absent": 1, "n_relevant_absent": 1, "n_relevant": 2}
    assert finding.what == "1 of 2 relevant documents is not in the corpus (gone)"
    assert finding.repaired == {"bm25": pytest.approx(1.0)}


def test_the_value_without_its_judgment() -> None:
    """Gains 1 at rank 1; ideal 3 + 0.6309 + 0.5, without the grade 2 it is 1 + 0.6309."""
    (finding,) = found({"gone": 2, "a": 1, "b": 1}, ("gone",), ["a"])
    assert finding.repaired == {"bm25": pytest.approx(1 / (1 + 1 / math.log2(3)))}


def test_all_relevant_documents_are_absent() -> None:
    (finding,) = found({"g1": 2, "g2": 1, "a": 0}, ("g1", "g2"), ["a"])
    assert finding.severity == "MEDIUM"
    assert finding.what == (
        "2 of 2 relevant documents are not in the corpus (g1, g2), so no system can answer it"
    )
    assert finding.repaired == {}


def test_nothing_is_absent_or_nothing_that_matters() -> None:
    assert found({"a": 1}, (), ["a"]) == []
    assert found({"a": 1, "gone": 0}, ("gone",), ["a"]) == []
    assert found({"a": 0, "gone": 0}, ("gone",), ["a"]) == []


def test_every_judged_document_is_absent() -> None:
    (finding,) = found({"g1": 0, "g2": 0}, ("g1", "g2"), ["a"])
    assert (finding.severity, finding.documents) == ("LOW", ("g1", "g2"))
    assert finding.what == "none of the judged documents is in the corpus: g1, g2"


def test_three_are_shown_and_all_are_named() -> None:
    judged = {**{f"g{i}": 1 for i in range(5)}, "a": 1}
    (finding,) = found(judged, tuple(f"g{i}" for i in range(5)), ["a"])
    assert "(g0, g1, g2 and 2 more)" in finding.what
    assert len(finding.documents) == 5
