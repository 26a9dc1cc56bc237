from typing import Any

import pytest

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.no_answer import no_answer_answered

from .making import evidence, query
from .scenes import revised, scored

ARMS = {"fused": ("bm25", "dense")}


def asked(
    query_id: str,
    judged: dict[str, int],
    *,
    dense: dict[str, float] | None = None,
    bm25: list[str] | None = None,
    fused: list[str] | None = None,
    **given: Any,
) -> QueryEvidence:
    made = query(
        judged,
        {
            "bm25": ("lexical", bm25 or []),
            "dense": ("vector", list(dense or {})),
            "fused": ("hybrid", fused or []),
        },
        query_id=query_id,
        arms=ARMS,
        **given,
    )
    return scored(made, "dense", list((dense or {}).values()))


LOW = asked("low", {"a": 1}, dense={"a": 0.5})
HIGH = asked("high", {"a": 1}, dense={"a": 0.9})


def found(made: QueryEvidence, *others: QueryEvidence) -> list[Finding]:
    return list(no_answer_answered(made, setup(made, *others)))


def setup(*queries: QueryEvidence) -> Evidence:
    return evidence(*queries)


def none(score: float = 0.3, **given: Any) -> QueryEvidence:
    return asked("none", {"x": 0}, dense={"x": score, "y": 0.1}, **given)


def test_an_answer_to_what_has_none() -> None:
    """Tops of the others are 0.5 and 0.9: a cut-off between 0.3 and 0.5 costs nothing."""
    (finding,) = found(none(), LOW, HIGH)
    assert (finding.rule, finding.severity, finding.tag) == (
        "no-answer-answered",
        "LOW",
        "SEARCH_PIPELINE",
    )
    assert (finding.query_id, finding.systems, finding.documents) == ("none", ("dense",), ("x",))
    assert finding.repaired == {}
    assert finding.evidence == {
        "n_systems": 1,
        "scored_system": "dense",
        "top_score": 0.3,
        "share_of_answered_below": 0.0,
        "median_top_score": 0.7,
        "cutoff": 0.4,
        "cutoff_silences": 1,
        "n_no_answer": 1,
        "cutoff_loses_relevant": 0,
        "n_relevant": 2,
        "cutoff_empties_queries": 0,
        "cutoff_changes_mean": 0.0,
        "cutoff_to_silence": 0.4,
    }
    assert finding.what == (
        "nothing answers it, yet it is answered by dense (2 results); the top score of dense is "
        "0.300, above that of 0 of 2 queries with an answer"
    )
    assert finding.fix == (
        "Drop results of dense that score below 0.4: that silences 1 of 1 query without an answer "
        "and loses none of 2 relevant results within 5"
    )


def test_no_finding_where_there_is_an_answer_or_nobody_knows() -> None:
    assert found(asked("yes", {"x": 1}, dense={"x": 0.3}), LOW) == []
    assert found(asked("unjudged", {}, dense={"x": 0.3}), LOW) == []
    assert len(found(asked("complete", {}, dense={"x": 0.3}, complete=True), LOW)) == 1


def test_no_finding_where_nothing_is_returned_or_the_call_failed() -> None:
    assert found(asked("none", {"x": 0}), LOW) == []
    assert found(revised(none(), "dense", status="error"), LOW) == []


@pytest.mark.parametrize(("score", "severity"), [(0.7, "LOW"), (0.71, "MEDIUM")])
def test_a_sure_wrong_answer(score: float, severity: str) -> None:
    """The median top score of the queries with an answer is (0.5 + 0.9) / 2 = 0.7."""
    (finding,) = found(none(score), LOW, HIGH)
    assert finding.severity == severity


def test_no_score_can_tell() -> None:
    (finding,) = found(asked("none", {"x": 0}, bm25=["x"]), LOW)
    assert (finding.severity, finding.systems) == ("MEDIUM", ("bm25",))
    assert finding.evidence == {"n_systems": 1}
    assert finding.fix == "Let bm25 ask for all or most of the words of a query"
    (alone,) = found(none())  # no query with an answer to compare with
    assert alone.severity == "MEDIUM"


def test_a_fusion_is_cut_off_in_its_part() -> None:
    (finding,) = found(none(fused=["x", "y"]), LOW, HIGH)
    assert finding.systems == ("dense", "fused")
    assert finding.severity == "LOW"  # the score of its part tells
    assert finding.fix.startswith(
        "Drop results of dense that score below 0.4, inside fused too: that silences"
    )


def test_a_fusion_answers_through_its_keyword_part() -> None:
    (finding,) = found(asked("none", {"x": 0}, bm25=["x"], fused=["x"]), LOW)
    assert finding.systems == ("bm25", "fused")
    assert finding.fix == "Let bm25 ask for all or most of the words of a query"


def test_a_fusion_of_parts_that_are_not_shown() -> None:
    (finding,) = found(asked("none", {"x": 0}, fused=["x"]), LOW)
    assert finding.fix == (
        "Silence bm25 and dense inside fused: its own score comes of ranks alone"
    )


def test_a_fusion_whose_parts_were_not_run() -> None:
    made = query({"x": 0}, {"fused": ("hybrid", ["x"]), "bm25": ("lexical", ["x"])})
    (finding,) = no_answer_answered(made, evidence(made))
    assert finding.fix == (
        "Run the parts of fused too, to find a cut-off: they were not run here; let bm25 ask for "
        "all or most of the words of a query"
    )


def test_a_cost_where_no_relevant_result_is_known() -> None:
    (finding,) = found(none())
    assert finding.fix == (
        "Drop results of dense that score below 0.31: that silences 1 of 1 query without an answer "
        "and loses no relevant result, as none is known within 5"
    )


def test_a_cut_off_that_is_not_worth_its_cost() -> None:
    """Cutting above 0.3 silences one query and empties one of nDCG 1; the mean is over three."""
    weak = asked("weak", {"a": 1}, dense={"a": 0.2})
    (finding,) = found(none(), HIGH, weak)
    assert "cutoff" not in finding.evidence
    assert finding.fix == (
        "Put a reranker behind dense and cut off its score: no cut-off of dense is worth its cost "
        "(the lowest, 0.6, silences 1 of 1 query without an answer and loses 1 of 2 relevant "
        "results within 5 (all that 1 query had; mean nDCG@5 -0.333))"
    )


def test_a_cut_off_that_does_not_silence_this_one() -> None:
    """0.95 stands above all: silencing it empties both other queries, 2 for 1."""
    sure = asked("sure", {"x": 0}, dense={"x": 0.95})
    (finding,) = found(sure, none(), LOW, HIGH)
    assert finding.evidence["cutoff"] == 0.4
    assert finding.evidence["cutoff_to_silence"] == 0.96
    assert finding.what.endswith(
        "; a cut-off at 0.96 would silence it, but loses 2 of 2 relevant results within 5 "
        "(all that 2 queries had; mean nDCG@5 -0.500)"
    )
