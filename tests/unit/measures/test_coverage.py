from dataclasses import replace

import numpy as np
import pytest

from searchmark.data.hits import mark_calls
from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values


def test_judged_is_the_share_of_results_somebody_judged(score):
    # a and the negative n are judged, x and y are not
    assert score("Judged", {"a": 1, "n": -1}, ["a", "x", "n", "y"]) == 2 / 4
    assert score("Judged@3", {"a": 1, "n": -1}, ["a", "x", "n", "y"]) == 2 / 3


def test_judged_divides_by_the_results_where_there_are_fewer_than_k(score):
    assert score("Judged@10", {"a": 1}, ["a", "x"]) == 1 / 2


def test_judged_is_whole_where_the_judgments_are_complete(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["x", "y"]}, complete=True)
    assert values(hits, parse_measure("Judged@10"))[0] == 1.0


def test_judged_says_nothing_where_nothing_was_retrieved(make_hits):
    hits = make_hits({"q": {"a": 1}, "p": {"a": 1}}, {"p": ["a"]})
    assert np.isnan(values(hits, parse_measure("Judged@10"))[0])


def test_num_ret_counts_unjudged_results_too(score):
    assert score("NumRet", {"a": 1}, ["a", "x", "y"]) == 3
    assert score("NumRet@2", {"a": 1}, ["a", "x", "y"]) == 2


def test_no_answer_is_one_only_where_silence_is_right(make_hits):
    judgments = {"silent": {"a": 0}, "wrong": {"a": 0}, "answerable": {"a": 1}, "failed": {"a": 0}}
    hits = make_hits(judgments, {"wrong": ["x"], "answerable": ["a"]})
    hits = mark_calls(hits, answered=["silent", "wrong", "answerable"], failed=["failed"])
    found = values(hits, parse_measure("NoAnswer"))
    assert found[[0, 1, 3]].tolist() == [1.0, 0.0, 0.0]
    assert np.isnan(found[2])


def test_no_answer_with_rel_2_takes_a_weak_match_for_none(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a"]})
    assert values(hits, parse_measure("NoAnswer(rel=2)"))[0] == 0.0


def test_filter_ok_is_the_share_that_satisfies_the_filters(make_hits):
    hits = make_hits({"q": {"a": 1}, "free": {"a": 1}}, {"q": ["a", "x", "y"], "free": ["a"]})
    broken = (np.array([0, 0]), np.array([2, 3]))
    hits = replace(hits, violations=broken, has_filters=np.array([True, False]))
    # ranks 2 and 3 break the filter: 1/3 of all, 1/2 of the first two; the other query has none
    assert values(hits, parse_measure("FilterOK"))[0] == pytest.approx(1 / 3, abs=1e-15)
    assert values(hits, parse_measure("FilterOK@2"))[0] == 1 / 2
    assert values(hits, parse_measure("FilterOK@1"))[0] == 1.0
    assert np.isnan(values(hits, parse_measure("FilterOK"))[1])


def test_filter_ok_without_filters_is_an_error_that_tells_what_to_do(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a"]})
    with pytest.raises(InputError, match='add "filters"'):
        values(hits, parse_measure("FilterOK"))
