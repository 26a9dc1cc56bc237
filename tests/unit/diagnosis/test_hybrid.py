"""With one relevant document at rank r, nDCG@5 is 1 / log2(r + 1)."""

from typing import Any

import pytest

from searchmark.diagnosis.evidence import Kind
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.hybrid import hybrid_below_best

from .making import evidence, query

FOUR = ["u1", "u2", "u3", "u4"]
KINDS: dict[str, Kind] = {
    "bm25": "lexical",
    "other": "lexical",
    "dense": "vector",
    "ours": "",
    "fused": "hybrid",
    "mixed": "hybrid",
}
ARMS = {"fused": ("bm25", "dense")}


def found(ranks: dict[str, int], **given: Any) -> list[Finding]:
    """Ask of systems that have the relevant document at a rank."""
    rankings = {s: (KINDS[s], [*FOUR[: rank - 1], "d1"]) for s, rank in ranks.items()}
    made = query({"d1": 3}, rankings, **{"arms": ARMS, **given})
    return list(hybrid_below_best(made, evidence(made)))


def by_value(values: dict[str, float], **given: Any) -> list[Finding]:
    return found(dict.fromkeys(values, 1), values=values, **given)


def test_the_vector_arm_hurts() -> None:
    # 1 / log2(3) = 0.6309, 1 / log2(5) = 0.4307: 0.2003 apart
    (finding,) = found({"bm25": 2, "dense": 5, "fused": 4})
    assert (finding.rule, finding.severity, finding.tag) == (
        "hybrid-below-best",
        "MEDIUM",
        "SEARCH_PIPELINE",
    )
    assert finding.systems == ("fused",)
    assert finding.documents == ("d1",)
    assert finding.evidence["drop"] == pytest.approx(0.2002532)
    assert finding.evidence["hybrid_drop"] == 0.15
    assert finding.evidence["best_systems"] == "bm25"
    assert finding.repaired == {"fused": pytest.approx(0.6309298)}
    # dense at rank 5: 1 / log2(6) = 0.387
    assert finding.what == (
        "fused reaches nDCG@5 0.431, 0.200 below bm25 alone (0.631); the vector arm hurts "
        "(dense 0.387)"
    )


def test_the_lexical_arm_hurts() -> None:
    (finding,) = found({"bm25": 5, "dense": 2, "fused": 4})
    assert (finding.severity, finding.evidence["best_systems"]) == ("LOW", "dense")
    assert "hurts" not in finding.what


def test_a_small_loss_is_none() -> None:
    assert found({"bm25": 3, "dense": 5, "fused": 4}) == []  # 0.5 - 0.4307 = 0.0693
    assert found({"bm25": 3, "dense": 5, "fused": 1}) == []  # better than both


@pytest.mark.parametrize(
    ("best", "fused", "n"),
    [
        (0.65, 0.5, 0),  # 0.15 apart, though a double makes it 0.15000000000000002
        (0.651, 0.5, 1),
        (0.649, 0.5, 0),
    ],
)
def test_at_the_threshold(best: float, fused: float, n: int) -> None:
    for arm in ("bm25", "dense"):
        values = {"bm25": 0.0, "dense": 0.0, arm: best, "fused": fused}
        assert len(by_value(values)) == n


def test_where_both_arms_are_as_good_neither_is_to_blame() -> None:
    (finding,) = by_value({"bm25": 0.9, "dense": 0.9, "fused": 0.5})
    assert (finding.severity, finding.evidence["best_systems"]) == ("LOW", "bm25, dense")


def test_a_hybrid_is_compared_with_its_arms_only() -> None:
    values = {"bm25": 0.5, "dense": 0.4, "other": 1.0, "fused": 0.5}
    assert by_value(values) == []
    # whose arms nobody knows is compared with all single systems, never with another hybrid
    (finding,) = by_value({**values, "mixed": 0.9}, arms={})
    assert (finding.systems, finding.evidence["best_systems"]) == (("fused",), "other")
    assert by_value({"mixed": 1.0, "fused": 0.0}, arms={}) == []


def test_what_need_not_be_a_part_is_not_called_one() -> None:
    (finding,) = by_value({"bm25": 0.9, "dense": 0.2, "fused": 0.5}, arms={})
    assert finding.what == "fused reaches nDCG@5 0.500, 0.400 below bm25 (0.900)"
    assert finding.fix.startswith("Compare fused with bm25, and run the parts of fused too")
    (known,) = by_value({"bm25": 0.9, "dense": 0.2, "fused": 0.5})
    assert "bm25 alone" in known.what
    assert "the vector arm hurts" in known.what
    assert known.fix.startswith("Let bm25 count more in the fusion")


def test_untagged_systems_are_single_ones() -> None:
    (finding,) = by_value({"ours": 0.9, "fused": 0.5}, arms={})
    assert finding.severity == "LOW"


def test_each_hybrid_has_its_own_finding() -> None:
    findings = by_value({"bm25": 0.9, "fused": 0.5, "mixed": 0.6}, arms={"fused": ("bm25",)})
    assert [f.systems for f in findings] == [("fused",), ("mixed",)]
    assert [f.repaired for f in findings] == [{"fused": 0.9}, {"mixed": 0.9}]


def test_documents_are_the_relevant_ones_that_fell_best_first() -> None:
    judged = {"d1": 1, "d2": 3, "d3": 2}
    rankings = {
        "bm25": ("lexical", ["d1", "d2", "d3"]),
        "fused": ("hybrid", ["d3", "u1", "d1"]),  # d1 from rank 1 to 3, d2 gone, d3 up
    }
    made = query(judged, rankings, arms={"fused": ("bm25",)})
    (finding,) = hybrid_below_best(made, evidence(made))
    assert finding.documents == ("d2", "d1")


def test_calls_that_failed_take_no_part() -> None:
    ranks = {"bm25": 1, "dense": 5, "fused": 5}
    assert len(found(ranks)) == 1
    assert found(ranks, status={"fused": "error"}) == []
    assert found(ranks, status={"bm25": "timeout"}) == []
    assert found(ranks, values={"fused": None}) == []


def test_no_answer_nothing_to_compare() -> None:
    rankings = {"bm25": ("lexical", ["x"]), "fused": ("hybrid", ["x"])}
    made = query({"x": 0}, rankings, values={"bm25": 1.0, "fused": 0.0})
    assert list(hybrid_below_best(made, evidence(made))) == []
