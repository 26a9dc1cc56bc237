from math import log2

import pytest


def test_binary_g_discounts_by_the_non_relevant_results_above(score):
    # a with none above, b with x and n above, c not found: (1/1 + 1/log2(4)) / 3
    judgments = {"a": 1, "b": 2, "c": 1, "n": 0}
    assert score("BinG", judgments, ["a", "x", "n", "b"]) == pytest.approx(1.5 / 3, abs=1e-15)


def test_g_discounts_by_what_the_best_ranking_is_ahead(score):
    # grades 3 and 1; b at rank 1: best 3, got 1: 1/log2(4); a at rank 3: best 3 + 1, and the third
    # place counts 1, so 5; got 4: 3/log2(3); over 4
    expected = (1 / 2 + 3 / log2(3)) / 4
    assert score("G", {"a": 3, "b": 1}, ["b", "x", "a"]) == pytest.approx(expected, abs=1e-15)


def test_g_of_the_best_ranking_is_one(score):
    # got is best at every rank: 3/log2(2) + 1/log2(2)
    assert score("G", {"a": 3, "b": 1}, ["a", "b"]) == 1.0


def test_g_with_gains(score):
    # grade 3 earns 7: at rank 2 best 7 + 1, got 7: 7/log2(2 + 8 - 7), over 8
    value = score("G(gains=3:7)", {"a": 3, "b": 1}, ["x", "a"])
    assert value == pytest.approx(7 / log2(3) / 8, abs=1e-15)
