"""d1 is graded 3 (gain 7): alone and at rank r, nDCG@5 is 1 / log2(r + 1); x is irrelevant."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from searchmark.diagnosis.evidence import Kind
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.top import SHARED_FIX, TUNING, irrelevant_at_top

from .making import evidence, query

KINDS: dict[str, Kind] = {"bm25": "lexical", "dense": "vector", "fused": "hybrid", "ours": ""}


def found(
    ranked: Mapping[str, Sequence[str]],
    judged: Mapping[str, int] | None = None,
    *,
    limits: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[Finding]:
    rankings = {s: (KINDS[s], doc_ids) for s, doc_ids in ranked.items()}
    made = query(judged or {"d1": 3, "x": 0}, rankings, **given)
    return list(irrelevant_at_top(made, evidence(made, **(limits or {}))))


def test_one_system_has_it_and_another_avoids_it() -> None:
    (finding,) = found({"bm25": ["d1"], "dense": ["x", "d1"]})  # 1.0 and 0.631
    assert (finding.rule, finding.severity, finding.tag) == (
        "irrelevant-at-top",
        "MEDIUM",
        "QUERY_TUNING",
    )
    assert (finding.systems, finding.documents) == (("dense",), ("x",))
    assert finding.evidence == {
        "grade": 0,
        "rank": 1,
        "top_ranks": 2,
        "value": pytest.approx(0.6309298),
        "top_value": 0.8,
        "n_sharing": 1,
        "n_avoiding": 1,
        "shared_by": "dense",
    }
    assert finding.repaired == {"dense": 1.0}  # d1 moves up to rank 1
    assert finding.fix == TUNING["vector"]
    assert (
        finding.what
        == "x, grade 0, stands at rank 1 of dense (nDCG@5: dense 0.631); bm25 avoids it"
    )


def test_all_systems_share_it() -> None:
    (finding,) = found({"bm25": ["x", "d1"], "dense": ["u", "x", "d1"]})  # 0.631 and 0.5
    assert (finding.severity, finding.tag) == ("LOW", "MODEL_SELECTION")
    assert finding.systems == ("bm25", "dense")
    assert finding.evidence["shared_by"] == "bm25, dense"
    # dense: d1 moves from rank 3 to 2
    assert finding.repaired == {"bm25": 1.0, "dense": pytest.approx(0.6309298)}
    assert finding.fix == SHARED_FIX
    assert finding.what == (
        "x, grade 0, stands at rank 1 of bm25, rank 2 of dense (nDCG@5: bm25 0.631 and dense "
        "0.500); every system shares it"
    )


def test_a_system_may_share_it_without_suffering() -> None:
    # bm25 has it at rank 2 behind d1: value 1.0, no fault, but it does not avoid it either
    (finding,) = found({"bm25": ["d1", "x"], "dense": ["x", "d1"]})
    assert (finding.severity, finding.systems) == ("LOW", ("dense",))
    assert finding.evidence["shared_by"] == "bm25, dense"
    assert finding.repaired.keys() == {"dense"}


@pytest.mark.parametrize(("ranked", "n"), [(["x", "u"], 1), (["u", "x"], 1), (["u", "v", "x"], 0)])
def test_only_the_first_ranks_count(ranked: list[str], n: int) -> None:
    assert len(found({"bm25": ["d1"], "dense": ranked})) == n
    assert len(found({"bm25": ["d1"], "dense": ["u", "v", "x"]}, limits={"top_ranks": 3})) == 1


def test_another_system_avoids_it_where_it_stands_below_the_first_ranks() -> None:
    (finding,) = found({"bm25": ["d1", "u", "x"], "dense": ["x", "d1"]})
    assert (finding.severity, finding.evidence["n_avoiding"]) == ("MEDIUM", 1)


@pytest.mark.parametrize(("value", "n"), [(0.79, 1), (0.8, 0), (0.81, 0)])
def test_a_good_value_is_none(value: float, n: int) -> None:
    assert len(found({"bm25": ["d1"], "dense": ["x", "d1"]}, values={"dense": value})) == n


def test_smallest_example_on_each_side_of_the_value() -> None:
    # ideal 7 + 7 / log2(3) = 7 + 4.4165 = 11.4165
    judged = {"d1": 3, "d2": 3, "x": 0}
    # 7 + 7 / log2(4) = 10.5; 10.5 / 11.4165 = 0.920
    assert found({"bm25": ["d1", "x", "d2"]}, judged) == []
    # 4.4165 + 3.5 = 7.9165; / 11.4165 = 0.693
    assert len(found({"bm25": ["x", "d1", "d2"]}, judged)) == 1


def test_only_what_somebody_judged_irrelevant_counts() -> None:
    ranked = {"bm25": ["d1"], "dense": ["u", "d1"]}
    assert found(ranked) == []  # u is unjudged
    assert [f.documents for f in found(ranked, complete=True)] == [("u",)]  # now a true 0
    assert found({"bm25": ["d1"], "dense": ["y", "u"]}, {"d1": 3, "y": 1}) == []
    (finding,) = found({"bm25": ["d1"], "dense": ["y", "u"]}, {"d1": 3, "y": -1})
    assert finding.evidence["grade"] == -1


def test_k_is_the_end_of_what_is_looked_at() -> None:
    ranked = {"bm25": ["d1"], "dense": ["u", "x", "d1"]}
    assert found(ranked, k=1) == []
    assert len(found(ranked, k=2)) == 1


def test_a_system_alone_has_nobody_to_share_with() -> None:
    (finding,) = found({"bm25": ["x", "d1"]})
    assert (finding.severity, finding.tag) == ("MEDIUM", "QUERY_TUNING")
    assert finding.what == "x, grade 0, stands at rank 1 of bm25 (nDCG@5: bm25 0.631)"


def test_empty_and_failed_answers_neither_share_nor_avoid() -> None:
    both = {"bm25": ["x", "d1"], "dense": ["x", "d1"], "ours": []}
    for status in ("empty", "error"):
        (finding,) = found(both, status={"ours": status})
        assert (finding.severity, finding.evidence["n_avoiding"]) == ("LOW", 0)
    (finding,) = found({"bm25": ["x", "d1"], "ours": []})
    assert (finding.severity, finding.tag) == ("MEDIUM", "QUERY_TUNING")


def test_one_finding_a_document() -> None:
    judged = {"d1": 3, "x": 0, "y": 0}
    findings = found({"bm25": ["y", "x", "d1"], "dense": ["x", "y", "d1"]}, judged)
    assert [f.documents for f in findings] == [("x",), ("y",)]  # both at rank 1 somewhere
    # 1 / log2(4) = 0.5 now, d1 at rank 2 without one of them
    assert findings[0].repaired == {s: pytest.approx(0.6309298) for s in ("bm25", "dense")}


def test_without_it_what_is_below_the_cutoff_moves_up() -> None:
    (finding,) = found({"bm25": ["x", "u", "d1"]}, k=2)  # 0.0, then d1 at rank 2
    assert finding.repaired == {"bm25": pytest.approx(0.6309298)}


def test_the_fix_goes_by_the_kind_of_system() -> None:
    for system, kind in KINDS.items():
        ranked = {"bm25": ["d1"], "dense": ["d1"], system: ["x", "d1"]}
        (finding,) = found(ranked)
        assert finding.fix == TUNING[kind]
    (finding,) = found({"bm25": ["x"], "dense": ["x"], "ours": ["d1"]})
    assert finding.fix == TUNING[""]


def test_a_title_is_told_with_the_id() -> None:
    made = query({"d1": 3, "x": 0}, {"bm25": ("lexical", ["x", "d1"])})
    corpus = [{"doc_id": "d1", "title": "Forecast"}, {"doc_id": "x", "title": "Storm Atlas"}]
    (finding,) = irrelevant_at_top(made, evidence(made, corpus=corpus))
    assert finding.what.startswith("Storm Atlas (x), grade 0, stands at rank 1 of bm25")


def test_no_answer_no_finding() -> None:
    assert found({"bm25": ["x"]}, {"x": 0}, values={"bm25": 0.0}) == []
