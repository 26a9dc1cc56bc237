import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values


def test_rbp_discounts_by_persistence(score):
    # relevant at 1 and 3: (1 - 0.9) * (1 + 0.81)
    value = score("RBP(p=0.9)", {"a": 1, "b": 3}, ["a", "x", "b"])
    assert value == pytest.approx(0.1 * 1.81, abs=1e-15)


def test_graded_gain_is_a_share_of_the_query_s_top_grade(score):
    # top grade 4: (1 - 0.5) * (1/4 + 1/2 * 4/4)
    value = score("RBP(p=0.5,gain=graded)", {"a": 4, "b": 1}, ["b", "a"])
    assert value == pytest.approx(0.5 * (0.25 + 0.5), abs=1e-15)


def test_the_trec_profile_takes_trec_eval_s_defaults(score):
    # p = 0.9, graded: 0.1 * (2/3 + 0.9)
    value = score("rbp", {"a": 3, "b": 2}, ["b", "a"], "trec")
    assert value == pytest.approx(0.1 * (2 / 3 + 0.9), abs=1e-15)


def test_rbp_and_its_residual_bound_what_full_judgments_could_give(score):
    # a judged relevant at 1, x unjudged at 2, n judged 0 at 3, p = 0.5:
    # RBP 0.5; open are rank 2 (0.25) and all beyond 3 (0.125)
    judgments, ranking = {"a": 1, "n": 0}, ["a", "x", "n"]
    assert score("RBP(p=0.5)", judgments, ranking) == 0.5
    assert score("RBPResidual(p=0.5)", judgments, ranking) == pytest.approx(0.375, abs=1e-15)


def test_the_residual_within_a_cutoff_leaves_all_beyond_it_open(score):
    # rank 1 is judged, everything after it is open: 1 - 0.5
    assert score("RBPResidual(p=0.5)@1", {"a": 1, "b": 1}, ["a", "b"]) == 0.5


def test_with_complete_judgments_only_what_lies_beyond_the_results_is_open(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a", "x", "y"]}, complete=True)
    # 0.5 ** 3
    assert values(hits, parse_measure("RBPResidual(p=0.5)"))[0] == 0.125
