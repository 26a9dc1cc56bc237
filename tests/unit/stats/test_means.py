"""Intervals of a system's means: within the measure's range, and around the mean."""

import numpy as np
import pytest

from searchmark.api import evaluate
from searchmark.measures.notation import parse_measure
from searchmark.measures.summary import Mean, SystemScores
from searchmark.stats.bootstrap import mean_interval
from searchmark.stats.means import with_intervals


def interval(measure: str, value: float, values: list[float]) -> Mean:
    mean = Mean(measure, value, None, len(values), 0, 0, None)
    per_query = {measure: {str(i): x for i, x in enumerate(values)}}
    scores = SystemScores("s", (mean,), {}, per_query)
    return with_intervals(scores, [parse_measure(measure)]).means[0]


@pytest.mark.parametrize("measure", ["GMAP", "GMBpref"])
@pytest.mark.parametrize("ap", [1.0, 0.0])
def test_a_geometric_mean_is_no_share(measure: str, ap: float) -> None:
    # log 1 = 0 twice is not two wrong answers
    value = max(ap, 1e-5)
    found = interval(measure, value, [ap, ap])
    assert (found.low, found.high, found.interval) == (None, None, "none")


def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms() -> None:
    values = [1.0, 1.0, float(np.exp(-1.0))]
    found = interval("GMAP", float(np.exp(-1 / 3)), values)
    expected = mean_interval(np.array([0.0, 0.0, -1.0]), method="bca")
    assert expected.low is not None
    assert expected.high is not None
    assert found.low == pytest.approx(np.exp(expected.low), abs=1e-12)
    assert found.high == pytest.approx(np.exp(expected.high), abs=1e-12)
    assert found.high <= 1.0


def test_zeros_and_ones_of_a_measure_without_an_upper_end_are_no_share() -> None:
    assert interval("DCG", 0.5, [0.0, 1.0, 1.0, 0.0]).interval == "bca"
    assert interval("P@1", 0.5, [0.0, 1.0, 1.0, 0.0]).interval == "wilson"


@pytest.mark.parametrize("n", range(2, 40))
def test_the_mean_is_never_outside(n: int) -> None:
    judged = {str(i): {"a": 1} for i in range(n)}
    for run in ("a", "b"):
        found = evaluate(judged, {str(i): {run: 1.0} for i in range(n)}, ["P@1"]).evaluation
        mean = found.systems[0].means[0]
        assert mean.low is not None
        assert mean.high is not None
        assert mean.value is not None
        assert 0 <= mean.low <= mean.value <= mean.high <= 1


def test_what_is_1_by_convention_has_no_interval() -> None:
    # nobody can be right or wrong on queries that have nothing relevant
    judged = {"q1": {"a": 0}, "q2": {"b": 0}, "q3": {"a": 0}}
    run = {q: {"a": 1.0} for q in judged}
    scores = evaluate(
        judged, {"x": run}, ["nDCG@10", "RR", "P@1"], profile="graded"
    ).evaluation.systems[0]
    for measure, value in (("nDCG@10", 1), ("RR", 0), ("P@1", 0)):
        found = scores.mean(measure)
        assert (found.value, found.n_empty, found.n_queries) == (value, 3, 3)
        assert (found.low, found.high, found.interval) == (None, None, "none")
        assert found.interval_note == (
            f"no query has anything relevant, so each counts {value} by convention"
        )


def test_one_query_with_something_relevant_makes_it_a_sample() -> None:
    judged = {"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"a": 0}}
    run = {q: {"a": 1.0} for q in judged}
    found = (
        evaluate(judged, {"x": run}, ["nDCG@10"], profile="graded").evaluation.systems[0].means[0]
    )
    assert (found.value, found.n_empty, found.interval) == (1.0, 2, "wilson")


def test_what_was_not_answered_is_no_convention() -> None:
    judged = {"q1": {"a": 0}, "q2": {"b": 0}}
    found = (
        evaluate(judged, {"x": {"q1": {"a": 1.0}}}, ["nDCG@10"], profile="graded")
        .evaluation.systems[0]
        .means[0]
    )
    assert (found.value, found.interval) == (0.5, "wilson")  # 1 for q1, 0 for the missing q2
