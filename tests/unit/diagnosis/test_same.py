from dataclasses import replace

import pytest

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.same import same_results

from .making import evidence, query
from .scenes import revised


def asked(i: int, a: list[str], b: list[str], k: int = 2) -> QueryEvidence:
    return query({"y": 1}, {"bm25": ("lexical", a), "fused": ("hybrid", b)}, k=k, query_id=f"q{i}")


def setup(n_same: int, *others: QueryEvidence) -> Evidence:
    return evidence(*(asked(i, ["x", "y", "z"], ["x", "y", "w"]) for i in range(n_same)), *others)


def found(made: Evidence) -> list[Finding]:
    return list(same_results(made))


def test_two_systems_return_the_same() -> None:
    (finding,) = found(setup(5))
    assert (finding.rule, finding.severity, finding.tag) == (
        "same-results",
        "LOW",
        "SEARCH_PIPELINE",
    )
    assert (finding.query_id, finding.systems) == (None, ("bm25", "fused"))
    assert finding.evidence == {"n_same": 5, "n_queries": 5, "limit": 0.95}
    assert finding.what == "bm25 and fused return the same first 2 for 5 of 5 queries"
    assert finding.fix == "Drop bm25 or fused, or see whether both are configured alike by mistake"


@pytest.mark.parametrize(("n_same", "n"), [(18, 0), (19, 1)])
def test_the_share(n_same: int, n: int) -> None:
    """18 of 19 are 94.7%, 19 of 20 are 95%."""
    assert len(found(setup(n_same, asked(99, ["x"], ["y"])))) == n


@pytest.mark.parametrize(("n_same", "n"), [(4, 0), (5, 1)])
def test_few_queries(n_same: int, n: int) -> None:
    assert len(found(setup(n_same))) == n


def test_the_order_counts() -> None:
    made = evidence(*(asked(i, ["x", "y"], ["y", "x"]) for i in range(6)))
    assert found(made) == []


def test_what_does_not_count() -> None:
    silent = asked(90, [], [])
    failed = revised(asked(91, ["x"], []), "fused", status="error")
    missing = revised(asked(92, ["x"], []), "fused", status="missing")
    (finding,) = found(setup(5, silent, failed, missing))
    assert finding.evidence["n_queries"] == 5


def test_one_returns_nothing() -> None:
    assert found(setup(5, asked(90, ["x"], []))) == []  # 5 of 6


@pytest.mark.parametrize("arms", [("bm25", "dense"), ("bm25",)])
def test_the_other_arm_adds_nothing(arms: tuple[str, ...]) -> None:
    made = setup(5)
    bm25, fused = made.systems
    (finding,) = found(replace(made, systems=(bm25, fused._replace(arms=arms))))
    rest = "dense" if "dense" in arms else "the rest"
    assert finding.fix == (
        f"Serve bm25 alone, or give {rest} more weight: fused gains nothing from {rest}"
    )


def test_each_pair_once() -> None:
    queries = []
    for i in range(5):
        ranked = {s: ("", ["x"]) for s in ("a", "b", "c")}
        queries.append(query({"y": 1}, ranked, query_id=f"q{i}"))  # type: ignore[arg-type]
    pairs = [f.systems for f in found(evidence(*queries))]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]


def test_perfect_systems_have_to_agree() -> None:
    def both(i: int, ids: list[str]) -> QueryEvidence:
        systems = {"bm25": ("lexical", ids), "fused": ("hybrid", ids)}
        return query({"x": 1}, systems, k=2, query_id=f"q{i}")

    perfect = [both(i, ["x", "z"]) for i in range(5)]
    assert found(evidence(*perfect)) == []
    assert len(found(evidence(*perfect, both(9, ["z", "x"])))) == 1
