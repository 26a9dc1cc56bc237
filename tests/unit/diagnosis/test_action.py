"""Which of several groups with HIGH findings comes first."""

from collections.abc import Callable

from searchmark.diagnosis.action import recommend
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Severity, Tag
from searchmark.diagnosis.rollup import roll_up

SetupOf = Callable[..., Evidence]


def finding(query_id: str, tag: Tag, severity: Severity, repaired: float | None) -> Finding:
    values = {} if repaired is None else {"words": repaired}
    return Finding(
        "rule", severity, tag, "wrong", f"mend {tag}", query_id, ("words",), repaired=values
    )


def first(setup: Evidence, *findings: Finding) -> tuple[str, int]:
    """Return the tag of the action, and how many findings speak for it."""
    action = recommend(roll_up(findings, setup), setup)
    assert action is not None
    assert action.reason == "severity"
    return action.tag, int(action.why[0].split()[0])


def test_low_findings_do_not_count_for_which_high_ones_come_first(setup_of: SetupOf) -> None:
    """The group rises by (0.1 + 0.9) / 2, its HIGH finding by 0.1 / 2; the other by 0.5 / 2."""
    setup = setup_of({"words": [0.1, 0.1]})
    small = finding("q1", "QUERY_TUNING", "HIGH", 0.2)
    low = finding("q2", "QUERY_TUNING", "LOW", 1.0)
    large = finding("q1", "INDEX_MAPPING", "HIGH", 0.6)
    assert roll_up([small, low, large], setup)[0].tag == "QUERY_TUNING"
    assert first(setup, small, low, large) == ("INDEX_MAPPING", 1)
    assert first(setup, small, low) == ("QUERY_TUNING", 1)


def test_of_equal_rises_the_more_findings_come_first(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.1, 0.1]})
    one = finding("q1", "MODEL_SELECTION", "HIGH", None)
    two = [finding(q, "SEARCH_PIPELINE", "HIGH", None) for q in ("q1", "q2")]
    assert first(setup, one, *two) == ("SEARCH_PIPELINE", 2)
    many_low = [finding(q, "MODEL_SELECTION", "LOW", None) for q in ("q1", "q2")]
    assert first(setup, one, *many_low, *two) == ("SEARCH_PIPELINE", 2)


def test_a_group_without_a_high_finding_is_never_first(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.1, 0.1]})
    high = finding("q1", "MODEL_SELECTION", "HIGH", None)
    assert first(setup, high, finding("q2", "QUERY_TUNING", "LOW", 1.0)) == ("MODEL_SELECTION", 1)
