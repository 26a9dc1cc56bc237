"""What a query set can see, beside sums worked out by hand and the power function itself."""

from math import sqrt

import numpy as np
import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.summary import SystemScores
from searchmark.stats.means import Groups
from searchmark.stats.power import detectable, queries_needed
from searchmark.stats.sensitivity import sensitivities

MEASURES = [parse_measure("nDCG@10")]


def system(name: str, values: dict[str, float]) -> SystemScores:
    return SystemScores(name, (), {}, {"nDCG@10": values})


def values(*numbers: float) -> dict[str, float]:
    return {f"q{i}": x for i, x in enumerate(numbers)}


def test_the_deviation_is_that_of_the_differences() -> None:
    # differences 0.1, 0.3, -0.1, 0.1: mean 0.1, squares 0, 0.04, 0.04, 0: variance 0.08 / 3
    a, b = values(0.5, 0.2, 0.6, 0.4), values(0.6, 0.5, 0.5, 0.5)
    (found,) = sensitivities([system("a", a), system("b", b)], MEASURES)
    assert found.deviation == pytest.approx(sqrt(0.08 / 3))
    assert found.detectable == detectable(found.deviation, 4)
    assert (found.n_queries, found.n_clusters, found.basis) == (4, None, "pairs")
    assert found.needed[1] == (0.02, queries_needed(found.deviation, 0.02))


def test_the_two_most_alike_count_and_copies_do_not() -> None:
    # differences a-b: 0.1, -0.1 (variance 0.02); a-c: 0.3, -0.3 (0.18); b-c: 0.2, -0.2 (0.08)
    a, b, c = values(0.5, 0.5), values(0.6, 0.4), values(0.8, 0.2)
    systems = [system("a", a), system("b", b), system("c", c), system("copy of a", a)]
    (found,) = sensitivities(systems, MEASURES)
    assert found.deviation == pytest.approx(sqrt(0.02))
    assert found.pair == ("a", "b")


def test_a_pair_that_differs_in_a_query_or_two_does_not_speak_for_others() -> None:
    a = values(*[0.5] * 40)
    nearly = {**a, "q0": 0.51}
    b = {q: 0.5 + (0.1 if i % 2 else -0.1) for i, q in enumerate(a)}
    (found,) = sensitivities([system("a", a), system("nearly", nearly), system("b", b)], MEASURES)
    assert found.deviation == pytest.approx(0.1, rel=0.02)
    (alone,) = sensitivities([system("a", a), system("nearly", nearly)], MEASURES)
    assert alone.deviation == pytest.approx(0.01 / sqrt(40))


def test_one_system_stands_for_two_unrelated_ones() -> None:
    (found,) = sensitivities([system("a", values(0.0, 1.0, 0.0, 1.0))], MEASURES)
    assert (found.basis, found.pair) == ("one system", None)
    assert found.deviation == pytest.approx(sqrt(2 / 3))  # twice the variance 1/3


def test_categories_are_seen_alone() -> None:
    a, b = values(0.5, 0.5, 0.5, 0.5, 0.5), values(0.6, 0.4, 0.9, 0.1, 0.2)
    groups = Groups(category={"q0": "x", "q1": "x", "q2": "y", "q3": "y", "q4": "alone"})
    found = {
        s.category: s for s in sensitivities([system("a", a), system("b", b)], MEASURES, groups)
    }
    assert set(found) == {None, "x", "y"}  # one query alone shows nothing
    assert found["x"].deviation == pytest.approx(sqrt(0.02))
    assert found["y"].deviation == pytest.approx(sqrt(0.32))


def test_copies_within_clusters_add_nothing() -> None:
    rng = np.random.default_rng(2)
    gains = rng.normal(0, 0.2, 30)
    once = {f"q{i}": 0.5 + x for i, x in enumerate(gains)}
    often = {f"q{i}-{j}": 0.5 + x for i, x in enumerate(gains) for j in range(4)}
    cluster = {q: q.split("-")[0] for q in often}
    flat = dict.fromkeys((*once, *often), 0.5)
    (plain,) = sensitivities([system("a", flat), system("b", once)], MEASURES)
    (grouped,) = sensitivities(
        [system("a", flat), system("b", often)], MEASURES, Groups(cluster=cluster)
    )
    assert grouped.detectable == pytest.approx(plain.detectable)
    assert (grouped.n_queries, grouped.n_clusters) == (120, 30)
    assert grouped.needed[2][1] == pytest.approx(4 * plain.needed[2][1])


def test_what_says_nothing_is_left_out() -> None:
    same = system("a", values(0.5, 0.7, 0.9))
    assert sensitivities([same, same], MEASURES) == ()
    assert sensitivities([system("a", values(0.5))], MEASURES) == ()
    assert sensitivities([system("a", {})], MEASURES) == ()
    assert sensitivities([same], [parse_measure("NumRet")]) == ()


def test_a_difference_that_only_rounding_makes_is_none() -> None:
    a, b = values(0.3, 0.5, 0.3), values(0.1 + 0.2, 0.5, 0.3)
    assert sensitivities([system("a", a), system("b", b)], MEASURES) == ()


def test_what_no_one_could_judge_is_not_asked_for() -> None:
    (found,) = sensitivities([system("a", values(0.0, 1e180, 3e180))], MEASURES)
    assert found.needed == ()
