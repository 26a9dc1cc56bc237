"""Discounts of ranks 1 to 2: 1, 0.6309; gains: grade 1 earns 1, grade 2 earns 3."""

import math

import pytest

from searchmark.diagnosis.cutoff import Cutoff, Cutoffs, Scores, between, candidates_of, cutoffs_of
from searchmark.diagnosis.evidence import QueryEvidence

from .making import evidence, query
from .scenes import revised, scored


def asked(query_id: str, judged: dict[str, int], scores: dict[str, float]) -> QueryEvidence:
    """Build a query that one scored system answers with these documents."""
    made = query(judged, {"dense": ("vector", list(scores))}, query_id=query_id, k=2, complete=True)
    return scored(made, "dense", list(scores.values()))


def cutoffs(*queries: QueryEvidence) -> Cutoffs:
    return cutoffs_of("dense", evidence(*queries))


NONE = asked("none", {"x": 0}, {"x": 0.4, "y": 0.39})
SURE = asked("sure", {"a": 1}, {"a": 0.9})
LOW = asked("low", {"a": 1}, {"a": 0.3})


def test_nothing_is_lost_where_the_scores_are_apart() -> None:
    found = cutoffs(NONE, SURE)
    # the middle of 0.4 and 0.9 is 0.65; one digit of it is 0.7 or 0.6, and both separate them
    assert found.candidates == (Cutoff(pytest.approx(0.65, abs=0.051), 1, 0, 0, 0.0),)
    assert found.suggested == found.candidates[0]
    assert (found.n_no_answer, found.n_answered, found.n_relevant) == (1, 1, 1)


def test_a_query_whose_answers_the_corpus_does_not_hold_gives_no_cost() -> None:
    lost = asked("lost", {"gone": 1}, {"x": 0.3})
    setup = evidence(NONE, SURE, lost, corpus=[{"doc_id": d, "text": d} for d in "axy"])
    assert cutoffs_of("dense", setup).tops == (0.9,)
    assert cutoffs(NONE, SURE, lost).tops == (0.3, 0.9)  # where it holds them


def test_what_is_lost_is_worth_as_much_as_what_is_won() -> None:
    """One query is silenced, another one loses its whole nDCG of 1: nothing is suggested."""
    found = cutoffs(NONE, SURE, LOW)
    (only,) = found.candidates
    assert only[1:] == (1, 1, 1, pytest.approx(-1 / 3))
    assert found.suggested is None


def test_two_are_silenced_for_one_that_is_lost() -> None:
    found = cutoffs(NONE, asked("none2", {"x": 0}, {"x": 0.5}), SURE, LOW)
    # 0.4 and 0.5 lie apart: cutting between them wins 1 and loses 1, above 0.5 it wins 2 for 1
    assert [(c.n_silenced, c.n_lost) for c in found.candidates] == [(1, 1), (2, 1)]
    assert 0.4 < found.candidates[0].score <= 0.5 < found.candidates[1].score <= 0.9
    assert found.suggested == found.candidates[1]
    assert found.suggested.change == pytest.approx(-1 / 4)


def test_the_lowest_of_equally_good_ones() -> None:
    """A second query without an answer, which costs a query: 1 for 0 and 2 for 1 are alike."""
    found = cutoffs(NONE, asked("none2", {"x": 0}, {"x": 0.6}), asked("mid", {"a": 1}, {"a": 0.5}))
    assert [(c.n_silenced, c.n_lost) for c in found.candidates] == [(1, 0), (2, 1)]
    assert found.suggested == found.candidates[0]


def test_a_part_of_a_query_is_lost() -> None:
    """Gains 3 at rank 1, 1 at rank 2: the DCG is 3 + 0.6309, of which 0.6309 / 3.6309 is lost."""
    two = asked("two", {"a": 2, "b": 1}, {"a": 0.9, "b": 0.3})
    (only,) = cutoffs(NONE, two).candidates
    share = (1 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert only[1:] == (1, 1, 0, pytest.approx(-share / 2))


def test_below_k_nothing_is_lost() -> None:
    deep = asked("deep", {"a": 2, "b": 1}, {"a": 0.9, "x": 0.8, "b": 0.3})
    (only,) = cutoffs(NONE, deep).candidates
    assert only[1:] == (1, 0, 0, 0.0)


def test_only_a_known_lack_of_answers_counts() -> None:
    unknown = scored(query({}, {"dense": ("vector", ["x"])}, k=2), "dense", [0.4])
    assert cutoffs(unknown, SURE).candidates == ()
    assert cutoffs(unknown, SURE).suggested is None
    silent = asked("none", {"x": 0}, {})
    found = cutoffs(silent, SURE)
    assert (found.n_no_answer, found.n_answered, found.candidates) == (1, 0, ())


def test_failed_calls_tell_nothing() -> None:
    failed = revised(NONE, "dense", status="error")
    assert cutoffs(failed, SURE).n_no_answer == 0
    assert cutoffs(NONE, revised(SURE, "dense", status="timeout")).n_relevant == 0


def test_results_without_a_score_are_left_out() -> None:
    bare = scored(SURE, "dense", [None])
    found = cutoffs(NONE, bare)
    assert (found.n_relevant, found.tops, found.median_top) == (0, (), None)
    assert found.share_below(0.4) is None


def test_place_among_the_queries_with_an_answer() -> None:
    found = cutoffs(NONE, SURE, LOW, asked("same", {"a": 1}, {"a": 0.4}))
    # tops 0.3, 0.4 and 0.9: one of three is below 0.4, the median is 0.4
    assert found.share_below(0.4) == pytest.approx(1 / 3)
    assert found.median_top == 0.4
    assert found.silencing(0.4) == found.candidates[0]


def test_the_same_score_cannot_be_told_apart() -> None:
    """A cut-off that silences the query loses the relevant result with the same score."""
    found = cutoffs(NONE, asked("same", {"a": 1}, {"a": 0.4}))
    assert [(c.n_silenced, c.n_lost) for c in found.candidates] == [(1, 1)]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.2892, 0.2979),
        (-1.0, -0.5),
        (0.1, 0.3),
        (0.29, math.inf),
        (0.2851, math.inf),
        (1e18, math.inf),
        (1.0, math.nextafter(1.0, 2.0)),
        (12.25, 12.26),
    ],
)
def test_between(low: float, high: float) -> None:
    cut = between(low, high)
    assert low < cut <= high
    if high - low > 0.005:
        assert len(f"{abs(cut):.17g}") > 17 or cut == round(cut, 3)


def test_nothing_to_silence() -> None:
    assert list(candidates_of(Scores([], [0.5], [0.5], [(0.5, 1.0)], 1))) == []
