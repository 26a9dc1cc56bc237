"""Discounts of ranks 1 to 3: 1, 0.6309, 0.5."""

from dataclasses import replace
from typing import Any

import pytest

from searchmark.data.filters import Filter
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.filters import filter_violated

from .making import evidence, query
from .scenes import revised

CORPUS = [
    {"doc_id": "a", "title": "Right", "network": "base", "amount": 1.0},
    {"doc_id": "b", "title": "Wrong", "network": "solana", "amount": 9.0},
    {"doc_id": "c", "title": "Gap", "network": None, "amount": 1.0},
    {"doc_id": "d", "title": "", "network": "solana", "amount": 1.0},
]
BASE = Filter("network", "=", "base")


def found(
    ranked: dict[str, tuple[list[str], tuple[int, ...]]],
    filters: tuple[Filter, ...] = (BASE,),
    *,
    limits: dict[str, Any] | None = None,
    **given: Any,
) -> list[Finding]:
    judged = given.pop("judged", {"a": 1})
    rankings: Any = {s: ("", docs) for s, (docs, _) in ranked.items()}
    made = replace(query(judged, rankings, **given), filters=filters)
    for system, (_, broken) in ranked.items():
        made = revised(made, system, broken_filters=broken)
    return list(filter_violated(made, evidence(made, corpus=CORPUS, **(limits or {}))))


def test_a_result_breaks_the_filter() -> None:
    (finding,) = found({"bm25": (["b", "a"], (1,))})
    assert (finding.rule, finding.severity, finding.tag) == (
        "filter-violated",
        "HIGH",
        "SEARCH_PIPELINE",
    )
    assert (finding.systems, finding.documents) == (("bm25",), ("b",))
    assert finding.evidence == {"n_broken": 1, "best_rank": 1, "top_ranks": 2}
    assert finding.what == (
        "the query demands network = base; 1 of the first 2 of bm25 break that, the best placed at "
        "rank 1: Wrong (b) has network solana"
    )
    assert finding.repaired == {"bm25": 1.0}  # without b the only relevant one comes first


def test_nothing_breaks_it() -> None:
    assert found({"bm25": (["a"], ())}) == []


@pytest.mark.parametrize(("rank", "severity"), [(2, "HIGH"), (3, "MEDIUM")])
def test_the_rank(rank: int, severity: str) -> None:
    (finding,) = found({"bm25": (["a", "b", "c"], (rank,))})
    assert finding.severity == severity
    (other,) = found({"bm25": (["a", "b", "c"], (rank,))}, limits={"top_ranks": rank})
    assert other.severity == "HIGH"


def test_the_cutoff() -> None:
    ranked = {"bm25": (["a", "c", "b"], (3,))}
    assert found(ranked, k=2) == []
    assert len(found(ranked, k=3)) == 1


def test_systems_and_documents_once() -> None:
    (finding,) = found({"bm25": (["b", "a"], (1,)), "good": (["a"], ()), "dense": (["b"], (1,))})
    assert (finding.systems, finding.documents) == (("bm25", "dense"), ("b",))


def test_what_the_fields_hold() -> None:
    filters = (BASE, Filter("amount", "<=", 5))
    (finding,) = found({"bm25": (["b", "c", "d", "z"], (1, 2, 3, 4))}, filters)
    assert "demands network = base and amount <= 5;" in finding.what
    assert finding.what.endswith(
        "Wrong (b) has network solana and has amount 9.0; Gap (c) has no network; "
        "d has network solana; and 1 more"
    )
    (gone,) = found({"bm25": (["z"], (1,))})
    assert gone.what.endswith("z is not in the corpus")


def test_the_value_without_such_results() -> None:
    """b goes; a (grade 1) moves from rank 3 to 2: 0.5 becomes 0.6309."""
    (finding,) = found({"bm25": (["b", "c", "a"], (1,))})
    assert finding.repaired["bm25"] == pytest.approx(0.6309, abs=5e-5)


def test_a_relevant_result_that_breaks_it_does_not_lower_the_value() -> None:
    (finding,) = found({"bm25": (["b", "a"], (1,))}, judged={"b": 2})
    assert finding.repaired == {"bm25": 1.0}


def test_no_value_without_an_answer() -> None:
    (finding,) = found({"bm25": (["b"], (1,))}, judged={"b": 0})
    assert finding.repaired == {}
