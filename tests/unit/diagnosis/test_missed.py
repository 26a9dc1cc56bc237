"""Gains: grade 2 earns 3, grade 3 earns 7; discounts of ranks 1 to 3: 1, 0.6309, 0.5."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.missed import DEEPER_FIX, NOWHERE_FIX, relevant_missed

from .making import evidence, query

Ranked = Mapping[str, Sequence[str]]
Rows = Sequence[Mapping[str, Any]]

TITLES = [{"doc_id": "d1", "title": "Weather"}, {"doc_id": "u", "title": "Other"}]
IN_TAGS = {"doc_id": "d2", "title": "Storm atlas", "tags": ["forecasts", "radar"]}


def found(
    judged: Mapping[str, int],
    ranked: Ranked,
    *,
    corpus: Rows | None = None,
    limits: Mapping[str, Any] | None = None,
    **given: Any,
) -> list[Finding]:
    kinds = {"bm25": "lexical", "dense": "vector", "fused": "hybrid"}
    rankings: Any = {s: (kinds[s], doc_ids) for s, doc_ids in ranked.items()}
    made = query(judged, rankings, **given)
    return list(relevant_missed(made, evidence(made, corpus=corpus, **(limits or {}))))


def test_nobody_returns_a_relevant_document() -> None:
    (finding,) = found({"d1": 3, "d2": 2}, {"bm25": ["d1"], "dense": ["u", "d1"]})
    assert (finding.rule, finding.severity, finding.tag) == (
        "relevant-missed",
        "LOW",
        "MODEL_SELECTION",
    )
    assert (finding.systems, finding.documents) == (("bm25", "dense"), ("d2",))
    assert finding.evidence == {"n_missed": 1, "missed_grade": 2, "k": 5, "n_deeper": 0}
    assert finding.fix == NOWHERE_FIX
    assert finding.what == "no system returns 1 document graded 2 or more within 5: d2"


def test_one_system_returns_it() -> None:
    assert found({"d1": 3, "d2": 2}, {"bm25": ["d1"], "dense": ["d2"]}) == []


@pytest.mark.parametrize(("grade", "n"), [(1, 0), (2, 1), (3, 1)])
def test_the_grade(grade: int, n: int) -> None:
    assert len(found({"d1": 3, "d2": grade}, {"bm25": ["d1"]})) == n
    assert len(found({"d1": 3, "d2": grade}, {"bm25": ["d1"]}, limits={"missed_grade": 1})) == 1


def test_the_cutoff() -> None:
    judged, ranked = {"d1": 3, "d2": 2}, {"bm25": ["d1", "u", "d2"]}
    assert found(judged, ranked, k=3) == []
    (finding,) = found(judged, ranked, k=2)
    assert (finding.evidence["n_deeper"], finding.evidence["best_rank"]) == (1, 3)
    assert finding.fix == DEEPER_FIX
    assert finding.what.endswith("within 2: d2; the nearest is at rank 3")


def test_what_is_not_in_the_corpus_cannot_be_returned() -> None:
    judged = {"d1": 3, "d2": 2}
    assert found(judged, {"bm25": ["d1"]}, corpus=TITLES) == []


def test_no_room_no_miss() -> None:
    three = {"d1": 2, "d2": 2, "d3": 2}
    assert found(three, {"bm25": ["d1", "d2"]}, k=2) == []  # the best there is
    assert found(three, {"bm25": ["d2", "d1"], "dense": ["d1", "d2"]}, k=2) == []
    (finding,) = found(three, {"bm25": ["d1", "u"]}, k=2)
    assert finding.documents == ("d2", "d3")
    assert len(found(three, {"bm25": ["d1"]}, k=2)) == 1
    # room only where something earns less
    assert found({"d1": 2, "d2": 2}, {"bm25": ["d1"]}, k=1) == []
    assert len(found({"d1": 2, "d2": 3}, {"bm25": ["d1"]}, k=1)) == 1


def test_repaired_puts_them_last_where_they_earn_more() -> None:
    judged = {"d1": 3, "d2": 2, "d3": 2}
    (finding,) = found(judged, {"bm25": ["d1"], "dense": ["u", "d1", "v"]}, k=3)
    # ideal: 7 + 3 * 0.6309 + 3 * 0.5 = 10.3928
    # bm25: d1, d3, d2 is the ideal; dense: rank 3 and, as rank 2 earns more, rank 1:
    # 3 + 7 * 0.6309 + 3 * 0.5 = 8.9165, / 10.3928 = 0.8580
    assert finding.repaired == {"bm25": pytest.approx(1.0), "dense": pytest.approx(0.8579517)}


def test_the_most_relevant_one_comes_first_and_goes_last() -> None:
    judged = {"d1": 2, "d2": 3}
    (finding,) = found(judged, {"bm25": ["u"]}, k=1)
    assert finding.documents == ("d2", "d1")
    assert finding.repaired == {"bm25": 1.0}  # one place, and d2 gets it


def test_words_only_in_a_field_that_nobody_reads() -> None:
    fields = {"bm25": ("title",), "dense": ("title",)}
    rows = [*TITLES, IN_TAGS]
    (finding,) = found(
        {"d1": 3, "d2": 2}, {"bm25": ["d1"], "dense": ["d1"]}, corpus=rows, fields=fields
    )
    assert (finding.severity, finding.tag) == ("LOW", "EMBEDDING_FIELDS")
    # "forecast" of the query and "forecasts" of the document have one stem
    assert (finding.evidence["fields"], finding.evidence["words"]) == ("tags", "forecast")
    assert finding.fix == "Index tags for keyword search, and embed it for vector search"
    assert finding.what == (
        "no system returns 1 document graded 2 or more within 5: Storm atlas (d2); there "
        "'forecast' stands only in tags, which no system reads"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"bm25": ("title", "tags"), "dense": ("title",)},  # bm25 reads it
        {},  # nobody tells what is read
    ],
)
def test_fields_that_somebody_may_read(fields: dict[str, tuple[str, ...]]) -> None:
    rows = [*TITLES, IN_TAGS]
    ranked = {"bm25": ["d1"], "dense": ["d1"]}
    (finding,) = found({"d1": 3, "d2": 2}, ranked, corpus=rows, fields=fields)
    assert finding.tag == "MODEL_SELECTION"
    assert "fields" not in finding.evidence


@pytest.mark.parametrize("text", ["storm forecast", "tornado"])
def test_words_that_are_also_read_or_nowhere(text: str) -> None:
    (finding,) = found(
        {"d1": 3, "d2": 2},
        {"bm25": ["d1"]},
        corpus=[*TITLES, IN_TAGS],
        fields={"bm25": ("title",)},
        text=text,
    )
    assert finding.tag == "MODEL_SELECTION"


def test_who_does_not_tell_is_not_spoken_for() -> None:
    given: dict[str, Any] = {"corpus": [*TITLES, IN_TAGS], "fields": {"bm25": ("title",)}}
    judged = {"d1": 3, "d2": 2}
    ranked = {"bm25": ["d1"], "dense": ["d1"]}
    (finding,) = found(judged, ranked, **given)
    assert finding.what.endswith("only in tags, which bm25 does not read")
    # a hybrid reads what its arms read
    ranked = {"bm25": ["d1"], "fused": ["d1"]}
    (finding,) = found(judged, ranked, arms={"fused": ("bm25",)}, **given)
    assert finding.what.endswith("only in tags, which no system reads")


def test_documents_of_both_tags_are_told_apart() -> None:
    rows = [*TITLES, IN_TAGS, {"doc_id": "d3", "title": "Forecast"}, {"doc_id": "d4"}]
    judged = {"d1": 3, "d2": 2, "d3": 2, "d4": 3}
    findings = found(judged, {"bm25": ["d1"]}, corpus=rows, fields={"bm25": ("title",)})
    assert [(f.tag, f.documents) for f in findings] == [
        ("MODEL_SELECTION", ("d4", "d3")),
        ("EMBEDDING_FIELDS", ("d2",)),
    ]


def test_a_long_list_is_cut_in_the_sentence_only() -> None:
    judged = dict.fromkeys(("a", "b", "c", "d", "e"), 2)
    (finding,) = found(judged, {"bm25": ["u"]})
    assert finding.documents == ("a", "b", "c", "d", "e")
    assert finding.what.endswith("within 5: a, b, c and 2 more")


def test_failed_calls_miss_nothing() -> None:
    judged = {"d1": 3, "d2": 2}
    ranked = {"bm25": ["d1"], "dense": []}
    (finding,) = found(judged, ranked, status={"dense": "error"})
    assert finding.systems == ("bm25",)
    assert found(judged, {"bm25": []}, status={"bm25": "timeout"}) == []
    assert len(found(judged, {"bm25": []})) == 1


def test_no_answer_no_finding() -> None:
    assert found({"d1": 0}, {"bm25": ["u"]}) == []


def test_a_long_title_is_cut() -> None:
    long = "conduction of fluctuating heat flow in a wall consisting of many layers"
    rows = [*TITLES, {"doc_id": "d2", "title": long}]
    (finding,) = found({"d1": 3, "d2": 2}, {"bm25": ["d1"]}, corpus=rows)
    # that is 60 characters with the dots; with "of" it would be 63
    assert finding.what.endswith(
        "conduction of fluctuating heat flow in a wall consisting ... (d2)"
    )
