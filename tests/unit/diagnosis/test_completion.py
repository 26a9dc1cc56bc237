"""The verdict: three conditions, each alone enough, and what it says of them."""

from collections.abc import Callable

import pytest

from searchmark.diagnosis.capabilities import CAPABILITIES
from searchmark.diagnosis.completion import SERVED_BY, complete
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Severity

SetupOf = Callable[..., Evidence]


def found(*severities: Severity) -> list[Finding]:
    return [Finding("rule", s, "QUERY_TUNING", "wrong", "mend it", "q1") for s in severities]


def held(findings: list[Finding], setup: Evidence) -> list[str]:
    return [c.name for c in complete(findings, setup).conditions if c.held]


def test_every_capability_has_kinds_that_serve_it() -> None:
    assert set(SERVED_BY) == set(CAPABILITIES)
    assert all("hybrid" in kinds for kinds in SERVED_BY.values())


@pytest.mark.parametrize(("second", "passes"), [(0.8, False), (0.81, True)])
def test_the_mean_over_systems_has_to_be_above_the_limit(
    setup_of: SetupOf, second: float, passes: bool
) -> None:
    # (0.6 + 0.8) / 2 = 0.7 is not above 0.7
    setup = setup_of({"a": [0.6], "b": [second]})
    assert complete(found("HIGH"), setup).passed is passes
    assert held(found("HIGH"), setup) == (["mean"] if passes else [])


def test_the_limit_is_that_of_the_project(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.6]}, mean=0.5)
    assert complete(found("HIGH"), setup).because == (
        "the mean nDCG@5 of words is 0.6000, above 0.5",
    )


def test_low_findings_alone_pass(setup_of: SetupOf) -> None:
    setup = setup_of({"a": [0.1], "b": [0.1]})  # untagged: the use case cannot match
    verdict = complete(found("LOW", "LOW"), setup)
    assert verdict.passed
    assert verdict.because == ("all 2 findings are LOW",)


def test_no_findings_pass_and_rules_that_were_off_are_told(setup_of: SetupOf) -> None:
    setup = setup_of({"a": [0.1]}, off=["pairwise-gap"])
    assert complete([], setup).because == ("there are no findings (1 rule switched off)",)


def test_the_use_case_matches_where_every_capability_has_a_system(setup_of: SetupOf) -> None:
    values = {"words": [0.1, 0.1], "meaning": [0.1, 0.1]}
    setup = setup_of(values, capabilities=["semantic", "exact"])
    verdict = complete(found("MEDIUM"), setup)
    assert verdict.because == (
        "there is no HIGH finding, and the systems fit the queries (exact by words, semantic by "
        "meaning)",
    )


@pytest.mark.parametrize(
    ("system", "capability", "fits"),
    [
        ("words", "exact", True),
        ("words", "structured", True),
        ("words", "combined", True),
        ("words", "autocomplete", True),
        ("words", "fuzzy", True),
        ("words", "semantic", False),
        ("meaning", "semantic", True),
        ("meaning", "exact", False),
        ("both", "semantic", True),
        ("both", "fuzzy", True),
        ("untagged", "semantic", False),
        ("untagged", "exact", False),
        ("words", "of another package", True),
        ("untagged", "of another package", False),
    ],
)
def test_the_table_of_who_serves_what(
    setup_of: SetupOf, system: str, capability: str, fits: bool
) -> None:
    setup = setup_of({system: [0.1]}, capabilities=[capability])
    assert held(found("MEDIUM"), setup) == (["use-case"] if fits else [])


def test_a_high_finding_breaks_the_use_case(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.1]}, capabilities=["exact"])
    verdict = complete(found("HIGH", "MEDIUM", "LOW"), setup)
    assert not verdict.passed
    assert verdict.because == (
        "the mean nDCG@5 of words is 0.1000, not above 0.7",
        "2 of 3 findings are worse than LOW: 1 HIGH, 1 MEDIUM",
        "there is 1 HIGH finding",
    )


def test_why_the_use_case_does_not_match_is_said(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.1], "own": [0.1]}, capabilities=["semantic"])
    assert complete(found("MEDIUM"), setup).because[-1] == (
        "no system is tagged for these queries: semantic (wants vector or hybrid); own without a "
        "tag cannot count"
    )


def test_all_conditions_that_held_are_told(setup_of: SetupOf) -> None:
    setup = setup_of({"both": [0.9]})
    assert held([], setup) == ["mean", "findings", "use-case"]
    assert len(complete([], setup).because) == 3


def test_nothing_measured_does_not_pass(setup_of: SetupOf) -> None:
    assert complete([], setup_of({"words": []})).because == (
        "no query is judged, so nothing was measured",
    )
    nothing = complete([], setup_of({"words": [None, None]}))
    assert not nothing.passed
    assert nothing.because == ("no query counts for nDCG@5, so no system has a mean",)


def test_a_setup_without_systems_does_not_pass(setup_of: SetupOf) -> None:
    whole = setup_of({"words": [0.9]})
    setup = Evidence(whole.queries, (), whole.documents, whole.limits, 5, "nDCG@5")
    assert not complete([], setup).passed
