"""Conventions, means, categories and ceilings: what every measure shares."""

from math import nan

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import ceiling, score_dicts, summarize, values

# four queries: answered, nothing relevant, not answered, neither
JUDGMENTS = {
    "answered": {"a": 1},
    "nothing": {"a": 0},
    "missing": {"a": 1},
    "neither": {"a": 0},
}
RANKINGS = {"answered": ["x", "a"], "nothing": ["a"]}


@pytest.mark.parametrize(
    ("empty", "missing", "expected"),
    [
        ("one", "zero", [0.5, 1.0, 0.0, 0.0]),
        ("one", "skip", [0.5, 1.0, nan, nan]),
        ("zero", "zero", [0.5, 0.0, 0.0, 0.0]),
        ("zero", "skip", [0.5, 0.0, nan, nan]),
        ("skip", "zero", [0.5, nan, 0.0, nan]),
        ("skip", "skip", [0.5, nan, nan, nan]),
    ],
)
def test_empty_and_missing_in_every_combination(make_hits, empty, missing, expected):
    measure = parse_measure(f"RR(empty={empty},missing={missing})")
    found = values(make_hits(JUDGMENTS, RANKINGS), measure)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("profile", "ndcg", "rr", "recall"),
    [
        # answered: the only relevant document at rank 2, nDCG 1/log2(3) = 0.6309
        ("graded", [0.6309, 1, 0, 0], [0.5, 0, 0, 0], [1, 1, 0, 0]),
        ("trec", [0.6309, 0, nan, nan], [0.5, 0, nan, nan], [1, 0, nan, nan]),
        ("answerable", [0.6309, nan, 0, nan], [0.5, nan, 0, nan], [1, nan, 0, nan]),
    ],
)
def test_profiles(make_hits, profile, ndcg, rr, recall):
    hits = make_hits(JUDGMENTS, RANKINGS)
    for name, expected in (("nDCG", ndcg), ("RR", rr), ("R@10", recall)):
        found = values(hits, parse_measure(name, profile))
        np.testing.assert_allclose(found, expected, atol=5e-5)


def test_a_mean_tells_what_it_rests_on(make_hits):
    hits = make_hits(JUDGMENTS, RANKINGS)
    mean = summarize("s", hits, [parse_measure("RR(empty=skip)")]).means[0]
    # values 0.5 and (missing) 0.0; both queries with nothing relevant are left out
    assert (mean.value, mean.n_queries, mean.n_missing, mean.n_skipped) == (0.25, 2, 2, 2)
    # three results, x is not judged
    assert mean.unjudged_share == pytest.approx(1 / 3, abs=1e-15)


def test_unjudged_results_are_counted_within_the_cutoff(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a", "x", "y"]})
    shares = [
        summarize("s", hits, [parse_measure(m)]).means[0].unjudged_share for m in ("P@1", "P@2")
    ]
    assert shares == [0.0, 1 / 2]


def test_a_mean_over_nothing_is_none(make_hits):
    hits = make_hits({"q": {"a": 0}}, {"q": ["a"]})
    mean = summarize("s", hits, [parse_measure("RR", "answerable")]).means[0]
    assert (mean.value, mean.ceiling, mean.n_queries) == (None, None, 0)


def test_per_query_values_leave_out_what_the_conventions_skip(make_hits):
    scores = summarize("s", make_hits(JUDGMENTS, RANKINGS), [parse_measure("RR", "answerable")])
    assert scores.per_query == {"RR": {"answered": 0.5, "missing": 0.0}}


def test_categories_have_means_of_their_own(make_hits):
    hits = make_hits(JUDGMENTS, RANKINGS)
    scores = summarize("s", hits, [parse_measure("RR")], ["x", "y", "x", None])
    # x: (0.5 + 0)/2, y: 0; the query without a category is in the total only
    assert {n: m[0].value for n, m in scores.by_category.items()} == {"x": 0.25, "y": 0.0}
    assert scores.by_category["x"][0].n_missing == 1
    assert scores.mean("RR").value == 0.125


def test_with_2_of_15_queries_unanswerable_rr_cannot_pass_0_8667(make_hits):
    judgments = {f"q{i}": {"a": 1 if i < 13 else 0} for i in range(15)}
    hits = make_hits(judgments, {q: ["x"] for q in judgments})
    mean = summarize("s", hits, [parse_measure("RR")]).means[0]
    assert mean.value == 0.0
    assert mean.ceiling == pytest.approx(13 / 15, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("P@5", 2 / 5),  # two relevant documents cannot fill five places
        ("P(rel=2)@1", 1.0),
        ("R@1", 1 / 2),
        ("R@5", 1.0),
        ("AP@1", 1 / 2),
        ("nDCG@1", 1.0),
        ("Success@1", 1.0),
    ],
)
def test_the_ceiling_is_the_value_of_the_best_ranking(make_hits, measure, expected):
    hits = make_hits({"q": {"a": 2, "b": 1, "n": 0}}, {"q": ["n", "x"]})
    assert ceiling(hits, parse_measure(measure)) == pytest.approx([expected], abs=1e-12)


@pytest.mark.parametrize("measure", ["Judged@5", "NumRet"])
def test_measures_that_no_ranking_can_perfect_have_no_ceiling(make_hits, measure):
    assert ceiling(make_hits(JUDGMENTS, RANKINGS), parse_measure(measure)) is None


def test_the_best_no_answer_is_silence_wherever_there_is_none(make_hits):
    best = ceiling(make_hits(JUDGMENTS, RANKINGS), parse_measure("NoAnswer"))
    np.testing.assert_array_equal(best, [nan, 1, nan, 1])


def test_a_flag_that_the_corpus_lacks_is_named(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a"]}, flags={"leaf": {"a"}})
    with pytest.raises(InputError, match=r"docs=laef names no .*did you mean 'leaf'"):
        values(hits, parse_measure("P(docs=laef)@5"))


def test_scores_of_dicts():
    found = score_dicts({"q": {"a": 1}, "p": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, "RR")
    assert found == {"q": 0.5, "p": 0.0}
