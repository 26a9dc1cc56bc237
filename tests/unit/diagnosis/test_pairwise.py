"""With one relevant document at rank r, nDCG@10 is 1 / log2(r + 1)."""

from typing import Any

import pytest

from searchmark.diagnosis.evidence import Kind
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.pairwise import pairwise_gap

from .making import evidence, query

NINE = [f"u{i}" for i in range(9)]


def found(systems: dict[str, tuple[Kind, int]], **given: Any) -> list[Finding]:
    """Ask of systems that have the relevant document at a rank."""
    rankings = {s: (kind, [*NINE[: r - 1], "d1"]) for s, (kind, r) in systems.items()}
    made = query({"d1": 3}, rankings, k=10, **given)
    return list(pairwise_gap(made, evidence(made)))


def by_value(systems: dict[str, tuple[Kind, float]]) -> list[Finding]:
    kinds = {s: (kind, 1) for s, (kind, _) in systems.items()}
    return found(kinds, values={s: value for s, (_, value) in systems.items()})


def test_vector_fails_where_lexical_succeeds() -> None:
    # 1 / log2(11) = 0.289 < 0.3; 1 / log2(3) = 0.631 > 0.5
    (finding,) = found({"bm25": ("lexical", 2), "dense": ("vector", 10)})
    assert (finding.rule, finding.severity, finding.tag) == (
        "pairwise-gap",
        "MEDIUM",
        "MODEL_SELECTION",
    )
    assert finding.systems == ("dense",)
    assert finding.evidence == {
        "worst": pytest.approx(0.2890648),
        "best": pytest.approx(0.6309298),
        "best_systems": "bm25",
        "fail": 0.3,
        "succeed": 0.5,
    }
    assert finding.repaired == {"dense": pytest.approx(0.6309298)}
    assert finding.what == (
        "the vector system fails (nDCG@10 dense 0.289) where the lexical bm25 reaches 0.631"
    )


def test_lexical_fails_where_vector_succeeds() -> None:
    (finding,) = found({"bm25": ("lexical", 10), "dense": ("vector", 2)})
    assert (finding.severity, finding.tag) == ("MEDIUM", "INDEX_MAPPING")
    assert (finding.systems, finding.evidence["best_systems"]) == (("bm25",), "dense")


@pytest.mark.parametrize("kinds", [("lexical", "vector"), ("vector", "lexical")])
@pytest.mark.parametrize(
    ("good", "bad", "n"),
    [
        (2, 10, 1),  # 0.631 and 0.289
        (2, 9, 0),  # 0.631, but 0.301 is no failure
        (3, 10, 0),  # 0.289, but 0.5 is not above 0.5
    ],
)
def test_both_thresholds(kinds: tuple[Kind, Kind], good: int, bad: int, n: int) -> None:
    assert len(found({"good": (kinds[0], good), "bad": (kinds[1], bad)})) == n


def test_exactly_at_the_thresholds() -> None:
    assert by_value({"bm25": ("lexical", 0.9), "dense": ("vector", 0.3)}) == []
    assert by_value({"bm25": ("lexical", 0.5), "dense": ("vector", 0.1)}) == []
    assert len(by_value({"bm25": ("lexical", 0.51), "dense": ("vector", 0.29)})) == 1


def test_one_finding_lists_all_that_fail_and_the_best() -> None:
    (finding,) = by_value(
        {
            "small": ("vector", 0.1),
            "words": ("lexical", 0.6),
            "large": ("vector", 0.2),
            "names": ("lexical", 0.9),
            "tuned": ("vector", 0.4),
        }
    )
    assert finding.systems == ("small", "large")
    assert (finding.evidence["worst"], finding.evidence["best_systems"]) == (0.1, "names")
    assert finding.repaired == {"small": 0.9, "large": 0.9}
    assert finding.what == (
        "the vector systems fail (nDCG@10 small 0.100 and large 0.200) where the lexical names "
        "reaches 0.900"
    )


def test_several_that_are_best_are_all_named() -> None:
    (finding,) = by_value({"a": ("lexical", 0.8), "b": ("lexical", 0.8), "c": ("vector", 0.0)})
    assert finding.evidence["best_systems"] == "a, b"


def test_both_directions_at_once() -> None:
    findings = by_value(
        {
            "words": ("lexical", 0.9),
            "strict": ("lexical", 0.0),
            "dense": ("vector", 0.8),
            "weak": ("vector", 0.1),
        }
    )
    assert [(f.tag, f.systems) for f in findings] == [
        ("MODEL_SELECTION", ("weak",)),
        ("INDEX_MAPPING", ("strict",)),
    ]


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        (0.9, 0.5, 1),  # 0.4 apart
        (0.8, 0.5, 0),  # 0.3 apart, though a double makes it 0.30000000000000004
        (0.8, 0.49, 1),  # 0.31
        (0.6, 0.35, 0),  # 0.25
    ],
)
def test_untagged_systems_that_differ(first: float, second: float, n: int) -> None:
    for systems in ({"a": ("", first), "b": ("", second)}, {"b": ("", second), "a": ("", first)}):
        findings = by_value(systems)
        assert len(findings) == n
        for finding in findings:
            assert (finding.severity, finding.tag) == ("MEDIUM", "QUERY_TUNING")
            assert (finding.systems, finding.repaired) == (("b",), {"b": first})
            assert finding.evidence["gap"] == 0.3
            assert finding.evidence["difference"] == pytest.approx(first - second)


def test_untagged_systems_need_neither_failure_nor_success() -> None:
    # ranks 1 and 2: 1.0 and 0.631, 0.369 apart
    (finding,) = found({"a": ("", 1), "b": ("", 2)})
    assert finding.what == (
        "b is more than 0.3 nDCG@10 below the best system (b 0.631), a reaches 1.000"
    )
    assert found({"a": ("", 2), "b": ("", 4)}) == []  # 0.631 - 0.431 = 0.200


def test_who_takes_no_part() -> None:
    assert by_value({"fused": ("hybrid", 0.9), "dense": ("vector", 0.0)}) == []
    assert by_value({"bm25": ("lexical", 0.9), "fused": ("hybrid", 0.0)}) == []
    assert by_value({"bm25": ("lexical", 0.9), "strict": ("lexical", 0.0)}) == []
    assert by_value({"bm25": ("lexical", 0.9), "ours": ("", 0.0)}) == []


@pytest.mark.parametrize("status", ["error", "timeout", "missing"])
def test_a_call_that_failed_says_nothing(status: str) -> None:
    systems: dict[str, tuple[Kind, int]] = {"bm25": ("lexical", 1), "dense": ("vector", 1)}
    assert found(systems, values={"dense": 0.0}, status={"dense": status}) == []
    assert len(found(systems, values={"dense": 0.0}, status={"dense": "empty"})) == 1
    assert found(systems, values={"dense": None}) == []


def test_no_answer_nothing_to_compare() -> None:
    rankings = {"a": ("", ["x"]), "b": ("", ["x"])}
    made = query({"x": 0}, rankings, values={"a": 1.0, "b": 0.0})
    assert list(pairwise_gap(made, evidence(made))) == []
