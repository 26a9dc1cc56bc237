"""Gains: grade 1 earns 1, grade 3 earns 7; discounts of ranks 1 to 3: 1, 0.6309, 0.5."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.stuffed import stuffed_above_genuine

from .making import evidence, query
from .scenes import revised

GENUINE = "weather forecast alpha bravo delta gamma kappa omega"  # 8 words
STUFFED = "weather weather weather forecast alpha bravo delta sigma theta zeta"


def corpus(posing: str, genuine: str = GENUINE) -> list[dict[str, str]]:
    return [
        {"doc_id": "genuine", "title": "", "text": genuine},
        {"doc_id": "posing", "title": "", "text": posing},
    ]


def found(
    posing: str,
    ranked: Mapping[str, Sequence[str]] | None = None,
    judged: Mapping[str, int] | None = None,
    *,
    genuine: str = GENUINE,
    limits: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[Finding]:
    rankings: Any = {
        s: ("", docs) for s, docs in (ranked or {"bm25": ["posing", "genuine"]}).items()
    }
    made = query(judged or {"genuine": 3, "posing": 1}, rankings, **given)
    setup = evidence(made, corpus=corpus(posing, genuine), **(limits or {}))
    return list(stuffed_above_genuine(made, setup))


def test_a_stuffed_document_above_the_genuine_one() -> None:
    """5 words of 11 in common: 0.45, half of 0.6 is enough; 4 of 10 words are the query's."""
    (finding,) = found(STUFFED)
    assert (finding.rule, finding.severity, finding.tag) == (
        "stuffed-above-genuine",
        "MEDIUM",
        "QUERY_TUNING",
    )
    assert (finding.systems, finding.documents) == (("bm25",), ("posing", "genuine"))
    assert finding.evidence == {
        "grade": 1,
        "genuine_grade": 3,
        "likeness": pytest.approx(5 / 11),
        "limit": 0.6,
        "word": "weather",
        "n_times": 3,
        "n_times_genuine": 1,
    }
    assert finding.what == (
        "bm25 puts posing, grade 1, above genuine, grade 3; its text has the word 'weather' 3 "
        "times, where the genuine one has it in no field more than once"
    )
    assert finding.repaired == {"bm25": 1.0}


def test_below_it_or_alone_it_does_no_harm() -> None:
    assert found(STUFFED, {"bm25": ["genuine", "posing"]}) == []
    assert found(STUFFED, {"bm25": ["posing"]}) == []
    assert found(STUFFED, {"bm25": ["posing", "x", "genuine"]}, k=2) == []


@pytest.mark.parametrize(("grade", "n"), [(0, 1), (2, 1), (3, 0)])
def test_the_grade(grade: int, n: int) -> None:
    assert len(found(STUFFED, judged={"genuine": 3, "posing": grade})) == n


def test_nobody_judged_it() -> None:
    assert found(STUFFED, judged={"genuine": 3}) == []
    assert len(found(STUFFED, judged={"genuine": 3}, complete=True)) == 1


@pytest.mark.parametrize(
    ("posing", "n"),
    [
        ("weather weather forecast alpha bravo delta", 0),  # twice is no stuffing: 5 of 8 = 0.63
        ("weather weather weather forecast alpha bravo delta sigma theta zeta", 1),
        # 4 of 14 words are the query's: 29%
        ("weather weather weather forecast alpha bravo delta gamma a1 a2 a3 a4 a5 a6", 0),
        # 4 of 13: 31%
        ("weather weather weather forecast alpha bravo delta gamma a1 a2 a3 a4 a5", 1),
        # it lacks a word of the query that the genuine one has
        ("weather weather weather alpha bravo delta sigma theta zeta", 0),
        # 2 words of 9 in common: 0.22, less than half of 0.6
        ("weather weather weather forecast zeta", 0),
    ],
)
def test_what_is_stuffed(posing: str, n: int) -> None:
    likeness_is_not_enough = {"stuffed": 0.65}
    assert len(found(posing, limits=likeness_is_not_enough)) == n


@pytest.mark.parametrize(("genuine", "n"), [("weather", 1), ("weather weather", 0)])
def test_twice_as_often_as_the_genuine_one(genuine: str, n: int) -> None:
    """3 times are less than twice 2 times."""
    text = GENUINE.replace("weather", genuine)
    assert len(found(STUFFED, genuine=text)) == n


@pytest.mark.parametrize(("limit", "n"), [(0.6, 1), (0.625, 1), (0.63, 0)])
def test_a_near_duplicate_with_a_lower_grade(limit: float, n: int) -> None:
    """5 of 8 words in common: 0.625."""
    result = found("weather forecast alpha bravo delta", limits={"stuffed": limit})
    assert len(result) == n
    if n:
        assert result[0].what.endswith("; 62% of their terms are the same")
        assert "word" not in result[0].evidence


def test_systems_share_it() -> None:
    ranked = {"bm25": ["posing", "genuine"], "dense": ["genuine", "posing"]}
    assert found(STUFFED, ranked)[0].what.startswith("bm25 puts posing")
    both = {s: ["posing", "genuine"] for s in ("bm25", "dense")}
    (shared,) = found(STUFFED, both)
    assert shared.what.startswith("every system puts posing")
    assert shared.systems == ("bm25", "dense")
    (two,) = found(STUFFED, {**both, "s": []})
    assert two.what.startswith("bm25 and dense put posing")


def test_the_value_with_both_in_their_places() -> None:
    """Another document stays first: (7 x 0.6309 + 1 x 0.5) / (7 + 0.6309) = 0.644."""
    (finding,) = found(STUFFED, {"bm25": ["x", "posing", "genuine"]})
    assert finding.repaired == {"bm25": pytest.approx(0.6443, abs=5e-5)}


def test_what_breaks_a_filter_is_another_fault() -> None:
    made = query({"genuine": 3, "posing": 1}, {"bm25": ("lexical", ["posing", "genuine"])})
    made = revised(made, "bm25", broken_filters=(1,))
    assert list(stuffed_above_genuine(made, evidence(made, corpus=corpus(STUFFED)))) == []


def test_a_query_without_an_answer_or_a_document_that_is_absent() -> None:
    assert found(STUFFED, judged={"genuine": 0, "posing": -1}) == []
    assert found(STUFFED, {"bm25": ["gone", "genuine"]}, {"genuine": 3, "gone": 1}) == []
