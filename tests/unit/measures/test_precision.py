import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.score import summarize


def test_precision_divides_by_the_cutoff(score):
    # 2 of the first 4 results are relevant; the third relevant one is at rank 5
    ranking = ["a", "x", "b", "y", "c"]
    assert score("P@4", {"a": 1, "b": 1, "c": 1}, ranking) == 2 / 4


def test_precision_with_fewer_results_than_the_cutoff_still_divides_by_it(score):
    # one result, and it is relevant: 1/5, not 1/1
    assert score("P@5", {"a": 1}, ["a"]) == 1 / 5


def test_precision_with_rel_and_flag(score):
    judgments = {"a": 1, "b": 2, "c": 2}
    assert score("P(rel=2)@3", judgments, ["a", "b", "c"]) == 2 / 3
    flags = {"leaf": {"a", "b"}}
    # only b is both flagged and of grade 2
    assert score("P(rel=2,docs=leaf)@3", judgments, ["a", "b", "c"], flags=flags) == 1 / 3


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("R", 1.0),  # both found somewhere
        ("R@2", 0.5),  # half within the cutoff
        ("R@1", 0.0),  # both beyond it
        ("R@100", 1.0),
    ],
)
def test_recall_found_half_found_and_beyond_the_cutoff(score, measure, expected):
    assert score(measure, {"a": 1, "b": 1, "n": 0}, ["x", "a", "b"]) == expected


def test_recall_divides_by_all_relevant_documents_even_where_more_than_k(score):
    # three relevant documents cannot fit into two places: 2/3
    assert score("R@2", {"a": 1, "b": 1, "c": 1}, ["a", "b", "c"]) == 2 / 3


def test_recall_counts_from_rel_up(score):
    # of b and c (grade 2 and up) c is found
    assert score("R(rel=2)", {"a": 1, "b": 2, "c": 3}, ["a", "c"]) == 1 / 2


def test_average_precision_averages_over_all_relevant_documents(score):
    # relevant at ranks 1, 3 and 6, a fourth not found: (1/1 + 2/3 + 3/6 + 0) / 4
    judgments = {"a": 1, "b": 2, "c": 1, "d": 1, "n": 0}
    ranking = ["a", "x", "b", "n", "y", "c"]
    assert score("AP", judgments, ranking) == pytest.approx((1 + 2 / 3 + 3 / 6) / 4, abs=1e-15)


def test_average_precision_with_a_cutoff_keeps_its_divisor(score):
    # within 3: 1/1 + 2/3, still over four relevant documents
    judgments = {"a": 1, "b": 2, "c": 1, "d": 1}
    ranking = ["a", "x", "b", "n", "y", "c"]
    assert score("AP@3", judgments, ranking) == pytest.approx((1 + 2 / 3) / 4, abs=1e-15)


def test_average_precision_with_rel(score):
    # only b counts, at rank 2
    assert score("AP(rel=2)", {"a": 1, "b": 2}, ["a", "b"]) == 1 / 2


@pytest.mark.parametrize(("measure", "expected"), [("P@5", 0.0), ("R@5", 1.0), ("AP", 0.0)])
def test_with_nothing_relevant_recall_is_whole_and_the_others_zero(score, measure, expected):
    assert score(measure, {"a": 0}, ["a"]) == expected
    assert score(measure, {"a": 0}, ["a"], "trec") == 0.0


def test_gmap_is_the_geometric_mean_with_a_floor(make_hits):
    judgments = {"half": {"a": 1}, "none": {"a": 1}, "empty": {"a": 0}}
    hits = make_hits(judgments, {"half": ["x", "a"], "none": ["x"], "empty": ["a"]})
    mean = summarize("s", hits, [parse_measure("GMAP")]).means[0]
    # (0.5 * 0.00001 * 0.00001) ** (1/3)
    assert mean.value == pytest.approx(5e-11 ** (1 / 3), rel=1e-12)
