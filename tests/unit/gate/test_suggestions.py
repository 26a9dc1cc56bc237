import pytest

from searchmark.gate.cases import Background
from searchmark.gate.policy import GatePolicy
from searchmark.gate.suggestions import (
    find_suggestions,
    rounded_up,
    suggested_max_drop,
    suggestion_from_others,
)
from searchmark.gate.verdict import MeasureVerdict, Verdict

IDS = [f"q{i:03}" for i in range(100)]


def held(
    measure: str, detectable: float | None, limit: float | None = 0.02, baseline: float = 0.5
) -> MeasureVerdict:
    """Return a verdict of a measure whose error is two fifths of what it detects."""
    error = None if detectable is None else 0.4 * detectable
    return MeasureVerdict(
        measure,
        None,
        baseline,
        0.5,
        limit,
        None,
        None,
        detectable=detectable,
        standard_error=error,
    )


def verdict(*measures: MeasureVerdict) -> Verdict:
    return Verdict("s", measures, (), (), {}, {})


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0.0312, 0.032), (0.03, 0.03), (0.412, 0.42), (35.2, 36.0), (0.0999, 0.1), (1.0, 1.0)],
)
def test_a_size_is_rounded_up_to_two_digits(size: float, shown: float) -> None:
    assert rounded_up(size) == shown


def test_max_drop_must_be_shown_by_every_measure() -> None:
    found = verdict(held("A", 0.031), held("B", 0.012), held("C", None), held("D", 0.9, None))
    assert suggested_max_drop(found) == 0.031  # D is held to a floor only
    assert suggested_max_drop(verdict(held("A", None))) is None


def test_a_limit_that_the_queries_cannot_show_is_named() -> None:
    found = verdict(held("A", 0.031), held("B", 0.012))
    (sentence,) = find_suggestions(found, GatePolicy(system="s", alpha=0.1))
    assert sentence == (
        "max_drop is smaller than the losses these queries reveal of A: ask more queries, or set "
        # 0.031 + 0.8416 x 0.0124 = 0.0414 and 0.031 + 0.8416 x 0.0048 = 0.0350
        "max_drop = 0.031 (losses found four times in five at alpha 0.1: A 0.031, B 0.012; one of "
        "just max_drop fails one time in two, one of A 0.042, B 0.036 four times in five)"
    )


def test_a_limit_that_could_be_tighter_is_told_so() -> None:
    (sentence,) = find_suggestions(verdict(held("A", 0.0101)), GatePolicy(system="s"))
    assert sentence.startswith("the change seen suggests max_drop = 0.011 (")
    assert "at alpha 0.05" in sentence


def test_a_share_is_answered_with_a_share() -> None:
    # 0.031 of a baseline of 0.5
    policy = GatePolicy(system="s", max_drop="2%")
    (sentence,) = find_suggestions(verdict(held("A", 0.031, 0.01)), policy)
    assert 'set max_drop = "6.2%" (' in sentence
    # 6.2% of 0.5, and 0.8416 x 0.0124 more
    assert "one of A 0.042 four times in five" in sentence


@pytest.mark.parametrize("baseline", [0.0, 1e-320, 0.0309, 0.031])
def test_a_share_that_no_policy_takes_is_a_number_instead(baseline: float) -> None:
    policy = GatePolicy(system="s", max_drop="2%")
    (*_, sentence) = find_suggestions(verdict(held("A", 0.031, 0.0, baseline)), policy)
    wanted = 'max_drop = "100%"' if baseline == 0.031 else "max_drop = 0.031"
    assert f"set {wanted} (" in sentence


def test_measures_that_nothing_can_be_said_of_are_named() -> None:
    found = verdict(held("A", 0.0101), held("B", None), held("C", None), held("D", None, None))
    (sentence,) = find_suggestions(found, GatePolicy(system="s"))
    assert sentence.endswith("; nothing can be said of B and C")  # D is held to a floor only
    (all_known,) = find_suggestions(verdict(held("A", 0.0101)), GatePolicy(system="s"))
    assert "nothing can be said" not in all_known


def test_where_nothing_moved_nothing_is_suggested() -> None:
    assert list(find_suggestions(verdict(held("A", None)), GatePolicy(system="s"))) == []


def test_the_system_most_like_it_stands_in(scored) -> None:
    ours = scored({"A": dict.fromkeys(IDS, 0.5)})
    others = {
        name: {"A": {q: 0.5 + by * (-1) ** i for i, q in enumerate(IDS)}}
        for name, by in (("far", 0.3), ("near", 0.1), ("same", 0.0))
    }
    found = suggestion_from_others(ours, others, GatePolicy(system="s"), Background())
    # error of the mean 0.1 / sqrt(99); 2.50 of those at 99 degrees of freedom
    assert found.max_drop == pytest.approx(0.0252, abs=0.0003)
    assert "the differences to near suggest max_drop = 0.026" in (found.text)


def test_without_another_system_it_says_what_to_run(scored) -> None:
    ours = scored({"A": dict.fromkeys(IDS, 0.5)})
    found = suggestion_from_others(ours, {}, GatePolicy(system="s"), Background())
    assert found.max_drop is None
    assert "'searchmark run' with another system" in found.text
