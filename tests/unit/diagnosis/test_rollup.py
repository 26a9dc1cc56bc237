"""Findings gathered by tag, and what the means would be if they were mended."""

from collections.abc import Callable, Mapping

import pytest

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Severity, Tag
from searchmark.diagnosis.rollup import Fix, rise_of, roll_up

SetupOf = Callable[..., Evidence]


def finding(
    query_id: str | None,
    repaired: Mapping[str, float],
    *,
    tag: Tag = "INDEX_MAPPING",
    severity: Severity = "MEDIUM",
    rule: str = "pairwise-gap",
    fix: str = "index more fields",
) -> Finding:
    return Finding(
        rule, severity, tag, "wrong", fix, query_id, systems=tuple(repaired), repaired=repaired
    )


def test_the_rise_is_the_mended_mean_less_the_present_one(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4, 0.9, 0.5], "meaning": [0.8, 1.0, 1.0, 0.4]})
    (group,) = roll_up(
        [finding("q1", {"words": 0.8}), finding("q2", {"words": 1.0, "meaning": 1.0})], setup
    )
    # words: 2.0 / 4 = 0.5; (0.8 - 0.2) + (1.0 - 0.4) = 1.2, and 1.2 / 4 = 0.3
    assert group.rise.means == pytest.approx({"words": 0.5, "meaning": 0.8})
    assert group.rise.by_system == pytest.approx({"words": 0.3, "meaning": 0.0})
    assert group.rise.mean == pytest.approx(0.65)  # (0.5 + 0.8) / 2
    assert group.rise.overall == pytest.approx(0.15)  # (0.3 + 0) / 2
    assert group.rise.after == pytest.approx(0.8)
    assert group.rise.after_of("words") == pytest.approx(0.8)
    assert group.rise.after_of("nobody") is None


def test_of_several_promises_for_a_query_the_greatest_counts_once(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4]})
    rise = rise_of([finding("q1", {"words": 0.6}), finding("q1", {"words": 0.5})], setup)
    assert rise.overall == pytest.approx(0.2)  # (0.6 - 0.2) / 2
    assert rise.by_query == pytest.approx({"q1": 0.4})


@pytest.mark.parametrize("promised", [0.1, float("nan"), float("-inf")])
def test_a_promise_below_the_present_value_takes_nothing_away(
    setup_of: SetupOf, promised: float
) -> None:
    setup = setup_of({"words": [0.2, 0.4]})
    assert rise_of([finding("q1", {"words": promised})], setup).overall == 0.0


def test_a_promise_above_1_counts_as_1(setup_of: SetupOf) -> None:
    rise = rise_of([finding("q1", {"words": 3.0})], setup_of({"words": [0.2, 0.4]}))
    assert rise.overall == pytest.approx(0.4)  # (1 - 0.2) / 2


def test_queries_that_do_not_count_are_neither_mended_nor_divided_by(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, None, 0.4], "meaning": [None, None, None]})
    rise = rise_of([finding("q1", {"words": 0.8}), finding("q2", {"words": 1.0})], setup)
    assert rise.by_system == pytest.approx({"words": 0.3})  # 0.6 / 2
    assert rise.overall == pytest.approx(0.3)  # meaning has no mean, as in Evidence.overall
    assert rise.mean == setup.overall


def test_what_is_said_of_systems_and_queries_that_are_not_there_is_ignored(
    setup_of: SetupOf,
) -> None:
    strange = [finding("q9", {"words": 1.0}), finding("q1", {"other": 1.0}), finding(None, {})]
    assert rise_of(strange, setup_of({"words": [0.2]})).overall == 0.0


def test_without_any_value_there_is_no_mean_and_no_rise(setup_of: SetupOf) -> None:
    rise = rise_of([finding("q1", {"words": 1.0})], setup_of({"words": [None]}))
    assert (rise.mean, rise.after, rise.overall, rise.best) == (None, None, 0.0, None)
    assert rise.of_best == 0.0


def test_the_one_that_ships_is_the_best_or_the_one_that_serves(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4], "meaning": [0.5, 0.7]})
    mended = [finding("q1", {"words": 1.0, "meaning": 0.7})]
    assert rise_of(mended, setup).best == "meaning"
    assert rise_of(mended, setup).of_best == pytest.approx(0.1)  # 0.2 / 2
    assert rise_of(mended, setup, "words").of_best == pytest.approx(0.4)  # 0.8 / 2
    assert rise_of(mended, setup, "unknown").best == "meaning"


def test_groups_come_worst_first_and_then_by_rise(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4, 0.6]})
    groups = roll_up(
        [
            finding("q1", {"words": 0.3}, tag="QUERY_TUNING"),
            finding("q2", {"words": 0.9}, tag="SEARCH_PIPELINE"),
            finding("q3", {"words": 1.0}, tag="EMBEDDING_FIELDS", severity="LOW"),
            finding("q3", {}, tag="JUDGMENTS", severity="LOW"),
            finding("q3", {}, tag="JUDGMENTS", severity="HIGH"),
        ],
        setup,
    )
    assert [(g.tag, g.severity) for g in groups] == [
        ("JUDGMENTS", "HIGH"),
        ("SEARCH_PIPELINE", "MEDIUM"),
        ("QUERY_TUNING", "MEDIUM"),
        ("EMBEDDING_FIELDS", "LOW"),
    ]
    assert groups[0].severities == {"HIGH": 1, "LOW": 1}


def test_a_group_names_queries_by_gain_and_systems_in_the_order_of_the_setup(
    setup_of: SetupOf,
) -> None:
    setup = setup_of({"words": [0.2, 0.4, 0.6], "meaning": [0.5, 0.5, 0.5]})
    (group,) = roll_up(
        [
            finding("q1", {"meaning": 0.6}, fix="b"),
            finding("q3", {"words": 1.0}, fix="a"),
            finding("q3", {"words": 0.9}, fix="a", rule="relevant-missed"),
            finding(None, {}, fix="b", rule="same-results"),
            finding("q2", {}, fix="a"),
        ],
        setup,
    )
    assert group.query_ids == ("q3", "q1", "q2")  # gains 0.4, 0.1, 0
    assert group.systems == ("words", "meaning")
    assert (group.n_findings, group.n_queries) == (5, 3)
    assert group.fixes == (Fix("a", 3), Fix("b", 2))
    assert group.rules == {"pairwise-gap": 3, "relevant-missed": 1, "same-results": 1}


def test_rises_of_groups_do_not_add_up(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2]})
    both = [
        finding("q1", {"words": 1.0}, tag="QUERY_TUNING"),
        finding("q1", {"words": 1.0}, tag="INDEX_MAPPING"),
    ]
    assert [g.rise.overall for g in roll_up(both, setup)] == pytest.approx([0.8, 0.8])
    assert rise_of(both, setup).overall == pytest.approx(0.8)


def test_nothing_found_is_no_group(setup_of: SetupOf) -> None:
    assert roll_up([], setup_of({"words": [0.2]})) == ()
