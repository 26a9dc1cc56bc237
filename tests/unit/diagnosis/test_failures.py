from dataclasses import replace

import pytest

from searchmark.data.filters import Filter
from searchmark.diagnosis.evidence import QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.failures import failed_or_partial

from .making import evidence, query
from .scenes import revised


def asked(bm25: list[str], dense: list[str], judged: dict[str, int] | None = None) -> QueryEvidence:
    rankings = {"bm25": ("lexical", bm25), "dense": ("vector", dense)}
    return query(judged or {"a": 1}, rankings)  # type: ignore[arg-type]


GOOD = asked(["a"], ["a"])


def found(made: QueryEvidence) -> list[Finding]:
    return list(failed_or_partial(made, evidence(made)))


def test_whole_answers() -> None:
    assert found(GOOD) == []


@pytest.mark.parametrize("status", ["error", "timeout"])
def test_a_call_fails(status: str) -> None:
    made = revised(asked([], ["a"]), "bm25", status=status, error="connection refused")
    (finding,) = found(made)
    assert (finding.rule, finding.severity, finding.tag) == (
        "failed-or-partial",
        "HIGH",
        "RELIABILITY",
    )
    assert finding.systems == ("bm25",)
    assert finding.evidence == {"n_systems": 1, "status": status}
    assert finding.what == "1 system gave no answer (bm25: connection refused)"
    assert finding.repaired == {}


def test_all_failed_systems_in_one_finding() -> None:
    made = revised(asked([], []), "bm25", status="timeout")
    made = revised(made, "dense", status="error")
    (finding,) = found(made)
    assert finding.systems == ("bm25", "dense")
    assert "(bm25: it took too long; dense: an error)" in finding.what
    assert finding.evidence["status"] == "error, timeout"


def test_a_run_file_without_the_query() -> None:
    (finding,) = found(revised(asked([], ["a"]), "bm25", status="missing"))
    assert (finding.severity, finding.tag, finding.systems) == ("MEDIUM", "RELIABILITY", ("bm25",))
    assert finding.what == "the query is missing from the run of bm25"


@pytest.mark.parametrize("bm25", [["a"], []])
def test_a_partial_answer(bm25: list[str]) -> None:
    """Partial is told once, also where nothing came back."""
    (finding,) = found(revised(asked(bm25, ["a"]), "bm25", partial=True))
    assert (finding.severity, finding.tag, finding.systems) == ("MEDIUM", "RELIABILITY", ("bm25",))
    assert finding.evidence["status"] == "partial"


def test_a_failed_call_is_not_partial_too() -> None:
    made = revised(asked([], ["a"]), "bm25", status="timeout", partial=True)
    assert [f.severity for f in found(made)] == ["HIGH"]


def test_an_empty_answer() -> None:
    (finding,) = found(asked([], ["a"]))
    assert (finding.severity, finding.tag, finding.systems) == ("MEDIUM", "QUERY_TUNING", ("bm25",))
    assert finding.what == "bm25 returned nothing, though the query has an answer"
    assert finding.fix.startswith("Let any word match")
    (filtered,) = found(replace(asked([], ["a"]), filters=(Filter("text", "=", "a"),)))
    assert filtered.fix.startswith("Look at what the filters leave to search, and let any word")
    (vector,) = found(asked(["a"], []))
    assert vector.fix.startswith("Lower the cut-off of scores")


def test_an_empty_answer_is_right_without_an_answer() -> None:
    assert found(asked([], ["b"], {"b": 0})) == []
    made = asked([], ["b"], {"a": 1})
    setup = evidence(made, corpus=[{"doc_id": "b", "text": "b"}])  # a is not in the corpus
    assert list(failed_or_partial(made, setup)) == []


def test_one_finding_for_each_kind() -> None:
    made = revised(asked([], []), "bm25", status="error")
    assert [(f.severity, f.systems) for f in found(made)] == [
        ("HIGH", ("bm25",)),
        ("MEDIUM", ("dense",)),
    ]
