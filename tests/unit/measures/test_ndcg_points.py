from math import log2

import pytest

D2, D3, D4 = 1 / log2(3), 1 / log2(4), 1 / log2(5)
JUDGMENTS = {"a": 2, "b": 1, "c": 1}
RANKING = ["b", "a", "x", "y", "z"]
# DCG of the ranking: 1, then 1 + 2*D2; of the best one: 2, 2 + D2, 2 + D2 + D3


def test_ndcg_at_relevant_documents(score):
    # b at 1: 1/2; a at 2: (1 + 2 D2)/(2 + D2); c not found: (1 + 2 D2)/(2 + D2 + D3)
    got = 1 + 2 * D2
    expected = (1 / 2 + got / (2 + D2) + got / (2 + D2 + D3)) / 3
    assert score("nDCGRel", JUDGMENTS, RANKING) == pytest.approx(expected, abs=1e-15)


def test_ndcg_at_levels(score):
    # grade 2 ends at rank 1: 1/2; grade 1 at rank 3: got/best; more than one result follows: again
    got, best = 1 + 2 * D2, 2 + D2 + D3
    expected = (1 / 2 + got / best + got / best) / 3
    assert score("RnDCG", JUDGMENTS, RANKING) == pytest.approx(expected, abs=1e-15)
    # a single result after rank 3 is no point of its own
    assert score("RnDCG", JUDGMENTS, RANKING[:4]) == pytest.approx(
        (1 / 2 + got / best) / 2, abs=1e-15
    )


def test_ndcg_at_levels_counts_what_comes_late_at_the_end_only(score):
    # c at rank 5 adds 1/log2(6) to the tail
    got, best = 1 + 2 * D2, 2 + D2 + D3
    expected = (1 / 2 + got / best + (got + 1 / log2(6)) / best) / 3
    value = score("RnDCG", JUDGMENTS, ["b", "a", "x", "y", "c"])
    assert value == pytest.approx(expected, abs=1e-15)


def test_rel_only_says_which_queries_count_for_the_levels(score):
    # the grade 1 documents still earn, though under rel=2
    assert score("RnDCG(rel=2)", JUDGMENTS, RANKING) == score("RnDCG", JUDGMENTS, RANKING)
    assert score("RnDCG(rel=3)", JUDGMENTS, RANKING) == 0.0
    # for nDCGRel they do not: only a, at rank 2
    assert score("nDCGRel(rel=2)", JUDGMENTS, RANKING) == pytest.approx(D2, abs=1e-15)


def test_several_queries_do_not_mix(make_hits):
    from searchmark.measures.notation import parse_measure
    from searchmark.measures.score import values

    judgments = {"p": JUDGMENTS, "none": {"n": 0}, "q": {"a": 2}}
    hits = make_hits(judgments, {"p": RANKING, "none": ["n"], "q": ["x", "a", "y"]})
    # q: grade 2 ends at rank 1, where nothing is found: 0; two results follow: 2 D2 / 2
    got, best = 1 + 2 * D2, 2 + D2 + D3
    expected = [(1 / 2 + 2 * got / best) / 3, 0, D2 / 2]
    assert values(hits, parse_measure("RnDCG")).tolist() == pytest.approx(expected, abs=1e-15)
