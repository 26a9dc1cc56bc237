"""The small setups have the values that the real measure gives."""

import pytest

from searchmark.measures.score import score_dicts

from .making import evidence, query


def test_values_are_those_of_the_measure() -> None:
    judged = {"d1": 3, "d2": 1, "d3": 2, "d4": 0, "d5": -1}
    ranked = ["d4", "d2", "u", "d1", "d5", "d3"]
    made = query(judged, {"bm25": ("lexical", ranked)}, k=4)
    scores = {d: 1.0 / rank for rank, d in enumerate(ranked, 1)}
    expected = score_dicts({"q1": judged}, {"q1": scores}, "nDCG@4")["q1"]
    assert made.rankings[0].value == pytest.approx(expected, abs=1e-12)


def test_unlisted_documents_are_unjudged_unless_the_judgments_are_complete() -> None:
    rankings = {"bm25": ("lexical", ["u", "d1"])}
    assert [p.grade for p in query({"d1": 2}, rankings).rankings[0].documents] == [None, 2]
    made = query({"d1": 2}, rankings, complete=True)
    assert [p.grade for p in made.rankings[0].documents] == [0, 2]
    assert evidence(made).documents.row_of.keys() == {"u", "d1"}
