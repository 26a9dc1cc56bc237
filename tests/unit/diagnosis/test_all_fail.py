"""With one relevant document at rank r, nDCG@k is 1 / log2(r + 1)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from searchmark.diagnosis.capabilities import CAPABILITIES
from searchmark.diagnosis.diagnose import diagnose
from searchmark.diagnosis.evidence import QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.all_fail import FIXES, TAGS, every_system_fails
from searchmark.diagnosis.table import COMPARING, EVERY_SYSTEM_FAILS, RULES

from .making import evidence, query

NINE = [f"u{i}" for i in range(9)]


def at(rank: int) -> list[str]:
    """Return a ranking with the relevant document d1 at a rank."""
    return [*NINE[: rank - 1], "d1"]


def asked(lexical: Sequence[str], vector: Sequence[str], **given: Any) -> QueryEvidence:
    rankings = {"bm25": ("lexical", lexical), "dense": ("vector", vector)}
    return query({"d1": 3}, rankings, k=10, **given)


def found(*queries: QueryEvidence, **limits: Any) -> list[Finding]:
    return list(every_system_fails(queries[0], evidence(*queries, **limits)))


def test_all_below_the_threshold() -> None:
    # 1 / log2(11) = 1 / 3.4594 = 0.289, and nothing found at all
    (finding,) = found(asked(at(10), NINE))
    assert (finding.rule, finding.severity, finding.tag) == (
        "every-system-fails",
        "HIGH",
        "MODEL_SELECTION",
    )
    assert finding.systems == ("bm25", "dense")
    assert finding.query_id == "q1"
    assert finding.evidence["best"] == pytest.approx(0.2890648)
    assert finding.evidence["fail"] == 0.3
    assert finding.what == "every system fails: the best nDCG@10 is 0.289 (bm25)"


def test_one_just_above_the_threshold() -> None:
    assert found(asked(at(9), NINE)) == []  # 1 / log2(10) = 1 / 3.3219 = 0.301


def test_at_the_threshold_is_no_failure() -> None:
    # 1 / log2(4) = 0.5 at rank 3, 1 / log2(5) = 0.431 at rank 4
    assert found(asked(at(3), at(4)), fail=0.5) == []
    assert len(found(asked(at(4), at(4)), fail=0.5)) == 1
    assert found(asked([], [], values={"bm25": 0.3, "dense": 0.0})) == []
    # rounding may leave less of it
    assert found(asked([], [], values={"bm25": 0.29999999999999993, "dense": 0.0})) == []
    assert found(asked([], []), fail=0.0) == []


@pytest.mark.parametrize(
    ("capability", "tag"),
    [
        ("semantic", "MODEL_SELECTION"),
        ("structured", "INDEX_MAPPING"),
        ("combined", "INDEX_MAPPING"),
        ("exact", "INDEX_MAPPING"),
        ("autocomplete", "QUERY_TUNING"),
        ("fuzzy", "QUERY_TUNING"),
    ],
)
def test_the_tag_goes_by_what_is_asked(capability: str, tag: str) -> None:
    (finding,) = found(asked(NINE, NINE, capability=capability))
    assert (finding.tag, finding.evidence["capability"]) == (tag, capability)
    assert finding.fix == FIXES[capability]


def test_every_capability_has_a_tag_and_a_fix_of_its_own() -> None:
    assert TAGS.keys() == FIXES.keys() == set(CAPABILITIES)
    assert len(set(FIXES.values())) == len(FIXES)


def test_documents_that_nobody_returns_are_named_best_first() -> None:
    judged = {"d1": 1, "d2": 3, "d3": 0, "gone": 3}
    rankings = {"bm25": ("lexical", ["d3"]), "dense": ("vector", ["d3"])}
    corpus = [{"doc_id": d, "text": d} for d in ("d1", "d2", "d3")]
    made = query(judged, rankings)
    (finding,) = every_system_fails(made, evidence(made, corpus=corpus))
    assert finding.documents == ("d2", "d1")
    assert finding.what == (
        "every system fails: the best nDCG@5 is 0.000; of 3 relevant documents 2 are not returned "
        "within 5"
    )


def test_a_single_system() -> None:
    made = query({"d1": 3}, {"bm25": ("lexical", ["u"])})
    (finding,) = every_system_fails(made, evidence(made))
    assert finding.what.startswith("the only system fails: the best nDCG@5 is 0.000")


def test_a_failed_call_is_no_bad_ranking() -> None:
    """The system that failed is not blamed, and no rise is promised for it."""
    failed = {"dense": "timeout"}
    (finding,) = found(asked(NINE, [], status=failed))
    assert finding.systems == ("bm25",)
    assert finding.what.startswith("the system that answered wholly fails: the best nDCG@10 is 0")
    assert (finding.evidence["n_systems"], finding.evidence["n_failed_calls"]) == (1, 1)
    assert list(finding.repaired) == ["bm25"]
    assert found(asked(at(1), [], status=failed)) == []


def test_a_partial_answer_is_no_bad_ranking() -> None:
    made = asked(NINE, NINE)
    bm25, dense = made.rankings
    made = replace(made, rankings=(bm25, replace(dense, partial=True)))
    (finding,) = found(made)
    assert finding.systems == ("bm25",)
    # where it never answers wholly, what it answers is what there is to look at
    always = replace(dense, partial=True, system=dense.system._replace(is_partial=True))
    (finding,) = found(replace(made, rankings=(bm25, always)))
    assert finding.systems == ("bm25", "dense")


def test_an_outage_says_nothing_of_the_model() -> None:
    for dense in ("timeout", "missing"):
        status = {"bm25": "error", "dense": dense}
        made = asked([], [], status=status)
        assert found(made) == []
        assert {f.rule for f in diagnose(evidence(made))} == {"failed-or-partial"}
        assert {f.severity for f in diagnose(evidence(made))} <= {"HIGH", "MEDIUM"}


HELD = [{"doc_id": d, "text": d} for d in NINE]
"""A corpus without d1, the only relevant document."""


def test_what_the_corpus_does_not_hold_is_no_fault_of_a_system() -> None:
    made = query({"d1": 3, "u0": 0}, {"bm25": ("lexical", NINE), "dense": ("vector", NINE)}, k=10)
    made = replace(made, absent=("d1",))
    setup = evidence(made, corpus=HELD)
    assert list(every_system_fails(made, setup)) == []
    rules = {f.rule for f in diagnose(setup)} - {"holes-at-top", "same-results"}
    assert rules == {"judged-not-in-corpus"}
    there = evidence(made, corpus=[*HELD, {"doc_id": "d1", "text": "d1"}])
    assert len(list(every_system_fails(made, there))) == 1


def test_what_the_corpus_does_not_hold_says_nothing_of_the_usual_value() -> None:
    failed = asked(NINE, NINE)
    lost = query(
        {"gone": 3},
        {"bm25": ("lexical", NINE), "dense": ("vector", NINE)},
        k=10,
        query_id="q2",
        values={"bm25": 0.9, "dense": 0.9},
    )
    setup = evidence(failed, lost, corpus=[*HELD, {"doc_id": "d1", "text": "d1"}])
    assert setup.usual == {"bm25": 0.5, "dense": 0.5}  # what counts as success


def test_what_the_conventions_leave_out_is_not_asked() -> None:
    left_out = {"bm25": None}
    assert [f.systems for f in found(asked([], NINE, values=left_out))] == [("dense",)]
    assert found(asked([], [], values={"bm25": None, "dense": None})) == []


def test_no_answer_no_failure() -> None:
    made = query({"d1": 0}, {"bm25": ("lexical", ["d1"])}, values={"bm25": 0.0})
    assert found(made) == []


def test_repaired_is_the_mean_of_what_the_system_does_not_fail() -> None:
    values = [(0.0, 0.0), (1.0, 0.2), (0.5, 0.1), (0.3, 0.29)]
    queries = [
        asked([], [], query_id=f"q{i}", values={"bm25": b, "dense": d})
        for i, (b, d) in enumerate(values, 1)
    ]
    rankings = {"bm25": ("lexical", ["u"]), "dense": ("vector", ["u"])}
    no_answer = query({"d1": 0}, rankings, k=10, query_id="q5")  # 1.0, but says nothing
    (finding,) = found(*queries, no_answer)
    # bm25: (1.0 + 0.5 + 0.3) / 3 = 0.6; dense fails all: what counts as success
    assert finding.repaired == {"bm25": pytest.approx(0.6), "dense": 0.5}


def test_the_comparing_rules_are_skipped() -> None:
    # d1 is missed by all, and the irrelevant d2 leads: rules of their own where a system does well
    judged = {"d1": 3, "d2": 0, "d3": 1}
    off = [n for n in RULES.targets() if n != EVERY_SYSTEM_FAILS and n not in COMPARING]
    failing = query(judged, {"bm25": ("lexical", ["d2"])})
    assert [f.rule for f in diagnose(evidence(failing, off=off))] == ["every-system-fails"]
    off.append(EVERY_SYSTEM_FAILS)
    both = [f.rule for f in diagnose(evidence(failing, off=off))]
    assert both == ["irrelevant-at-top", "relevant-missed"]
