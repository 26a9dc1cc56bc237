import pytest


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["a", "x", "y"], 1.0),
        (["x", "y", "a"], 1 / 3),
        (["x", "b", "a"], 1 / 2),
        (["x", "y", "z"], 0.0),
    ],
)
def test_rr_is_the_reciprocal_of_the_first_relevant_rank(score, ranking, expected):
    assert score("RR", {"a": 2, "b": 1, "z": 0}, ranking) == expected


def test_rr_sees_nothing_beyond_its_cutoff(score):
    assert score("RR@3", {"a": 1}, ["x", "y", "a"]) == 1 / 3
    assert score("RR@2", {"a": 1}, ["x", "y", "a"]) == 0.0


def test_rr_passes_over_grades_under_rel(score):
    # b (grade 1) at rank 1 does not count, a (grade 2) at rank 2 does
    assert score("RR(rel=2)", {"a": 2, "b": 1}, ["b", "a"]) == 1 / 2


def test_rr_with_nothing_relevant_is_zero(score):
    assert score("RR", {"a": 0, "b": -1}, ["a", "b"]) == 0.0


def test_rr_over_flagged_documents(score):
    value = score("RR(docs=leaf)", {"a": 2, "b": 2}, ["a", "x", "b"], flags={"leaf": {"b"}})
    assert value == 1 / 3


@pytest.mark.parametrize(
    ("measure", "expected"), [("Success@1", 0.0), ("Success@2", 1.0), ("Success@9", 1.0)]
)
def test_success_is_whether_one_stands_within_the_cutoff(score, measure, expected):
    assert score(measure, {"a": 1}, ["x", "a"]) == expected


def test_success_counts_one_hit_as_much_as_two(score):
    assert score("Success@5", {"a": 1, "b": 1}, ["a", "b"]) == 1.0


def test_success_with_rel_and_with_nothing_relevant(score):
    assert score("Success(rel=2)@2", {"a": 1}, ["a"]) == 0.0
    assert score("Success@2", {"a": 0}, ["a"]) == 0.0
