import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values

E = 0.00001


def test_with_the_whole_pool_judged_it_is_average_precision_but_for_the_epsilon(score):
    # a at 1; b at 3 with one relevant and one non-relevant above:
    # 1/3 + 2/3 * (2/2) * (1 + e)/(2 + 2e) = 1/3 + 1/3
    judgments = {"a": 1, "b": 1, "n": 0}
    expected = (1 + 1 / 3 + 2 / 3 * (1 + E) / (2 + 2 * E)) / 2
    assert score("infAP", judgments, ["a", "n", "b"]) == pytest.approx(expected, abs=1e-15)


def test_documents_outside_the_pool_count_as_not_relevant(score):
    # b at 3, of the two above only a is pooled: 1/3 + 2/3 * 1/2 * (1 + e)/(1 + 2e)
    expected = (1 + 1 / 3 + 2 / 3 * 1 / 2 * (1 + E) / (1 + 2 * E)) / 2
    assert score("infAP", {"a": 1, "b": 1}, ["a", "x", "b"]) == pytest.approx(expected, abs=1e-15)


def test_a_pooled_document_that_was_not_drawn_counts_as_relevant_as_often_as_the_judged(score):
    # u is pooled and unjudged: 1/3 + 2/3 * 2/2 * (1 + e)/(1 + 2e), almost 1
    judgments = {"a": 1, "b": 1, "u": -1}
    expected = (1 + 1 / 3 + 2 / 3 * (1 + E) / (1 + 2 * E)) / 2
    value = score("infAP(negative=unjudged)", judgments, ["a", "u", "b"])
    assert value == pytest.approx(expected, abs=1e-15)


def test_where_judgments_are_complete_it_is_average_precision_but_for_the_epsilon(make_hits):
    hits = make_hits({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, complete=True)
    expected = (1 + 1 / 3 + 2 / 3 * (1 + E) / (2 + 2 * E)) / 2
    assert values(hits, parse_measure("infAP"))[0] == pytest.approx(expected, abs=1e-15)
