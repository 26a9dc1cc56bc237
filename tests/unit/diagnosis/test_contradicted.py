from collections.abc import Mapping, Sequence

import pytest

from searchmark.diagnosis.evidence import Kind, QueryEvidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.contradicted import contradicting_judgment

from .making import evidence, query
from .scenes import revised

CORPUS = [
    {"doc_id": "good", "title": "Weather", "text": "the forecast"},
    {"doc_id": "bad", "title": "Forecasts", "text": "of the weather"},
    {"doc_id": "alien", "title": "Cooking", "text": "recipes of the house"},
]
KINDS: Mapping[str, Kind] = {
    "bm25": "lexical",
    "strict": "lexical",
    "dense": "vector",
    "fused": "hybrid",
    "ours": "",
}


def asked(
    judged: dict[str, int], ranked: Mapping[str, Sequence[str]], **given: bool
) -> QueryEvidence:
    return query(judged, {s: (KINDS[s], docs) for s, docs in ranked.items()}, **given)  # type: ignore[arg-type]


def found(made: QueryEvidence) -> list[Finding]:
    return list(contradicting_judgment(made, evidence(made, corpus=CORPUS)))


AGREED = {"bm25": ["bad", "good"], "dense": ["bad"], "fused": ["bad"]}


def test_every_system_puts_a_grade_0_first() -> None:
    (finding,) = found(asked({"good": 2, "bad": 0}, AGREED))
    assert (finding.rule, finding.severity, finding.tag) == (
        "contradicting-judgment",
        "LOW",
        "JUDGMENTS",
    )
    assert (finding.systems, finding.documents) == (("bm25", "dense"), ("bad",))
    assert finding.evidence == {"grade": 0, "n_agreeing": 2}
    assert finding.what == (
        "possibly a wrong label: Forecasts (bad) is judged 0, yet bm25 and dense agree to put it "
        "first"
    )


@pytest.mark.parametrize(("grade", "n"), [(-1, 1), (0, 1), (1, 0)])
def test_the_grade(grade: int, n: int) -> None:
    assert len(found(asked({"good": 2, "bad": grade}, AGREED))) == n


def test_an_unlisted_document_is_no_judgment() -> None:
    assert found(asked({"good": 2}, AGREED, complete=True)) == []


def test_one_of_them_disagrees() -> None:
    assert found(asked({"good": 2, "bad": 0}, {**AGREED, "dense": ["good", "bad"]})) == []
    assert len(found(asked({"good": 2, "bad": 0}, {**AGREED, "fused": ["good"]}))) == 1


@pytest.mark.parametrize(
    ("systems", "n"),
    [
        (("bm25",), 0),
        (("bm25", "strict"), 0),  # two of one kind see the same
        (("dense", "fused"), 0),
        (("bm25", "dense"), 1),
        (("bm25", "ours"), 1),
    ],
)
def test_two_that_look_at_it_differently(systems: tuple[str, ...], n: int) -> None:
    assert len(found(asked({"good": 2, "bad": 0}, {s: ["bad"] for s in systems}))) == n


def test_failed_and_empty_answers_agree_with_nothing() -> None:
    made = asked({"good": 2, "bad": 0}, AGREED)
    assert found(revised(made, "dense", status="error")) == []
    assert found(asked({"good": 2, "bad": 0}, {"bm25": ["bad"], "dense": []})) == []


def test_a_query_without_an_answer() -> None:
    assert found(asked({"bad": 0}, AGREED)) == []


NOWHERE = {"bm25": ["good"], "dense": ["good", "bad"]}


def test_the_best_grade_is_found_nowhere_and_shares_no_word() -> None:
    (finding,) = found(asked({"alien": 3, "good": 1}, NOWHERE))
    assert finding.documents == ("alien",)
    assert finding.evidence == {"grade": 3, "n_documents": 1}
    assert finding.what == (
        "possibly a wrong label: Cooking (alien) is judged 3, yet no system returns it at any rank "
        "and no word is shared with the query"
    )


def test_it_is_returned_or_shares_a_word_or_is_not_the_best() -> None:
    assert found(asked({"alien": 3, "good": 1}, {**NOWHERE, "fused": ["good", "alien"]})) == []
    assert found(asked({"bad": 3, "good": 1}, {"bm25": ["good"], "dense": ["good"]})) == []
    assert found(asked({"alien": 1, "good": 3}, NOWHERE)) == []
    assert found(asked({"gone": 3, "good": 1}, NOWHERE)) == []  # not in the corpus


def test_keyword_searches_alone_cannot_find_it() -> None:
    ranked = {"bm25": ["good"], "strict": ["good"]}
    assert found(asked({"alien": 3, "good": 1}, ranked)) == []
