"""The verdict: three conditions, each alone enough, and what it says of them."""

from collections.abc import Callable

import pytest

from searchmark.diagnosis.capabilities import CAPABILITIES
from searchmark.diagnosis.completion import SERVED_BY, complete
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Severity, Tag
from searchmark.diagnosis.limits import Limits, level_of

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
    )
    assert [c.because for c in verdict.conditions][2] == "there is 1 HIGH finding"


def test_one_finding_is_told_as_one(setup_of: SetupOf) -> None:
    setup = setup_of({"a": [0.1]})
    assert complete(found("LOW"), setup).because == ("the only finding is LOW",)
    assert complete(found("HIGH"), setup).because == (
        "the mean nDCG@5 of a is 0.1000, not above 0.7",
        "1 of 1 finding is worse than LOW: 1 HIGH",
        "no system is tagged for these queries: semantic (wants vector or hybrid); a without a "
        "tag cannot count",
    )


def test_a_mean_is_above_the_limit_by_more_than_rounding(setup_of: SetupOf) -> None:
    # a double makes the mean of these 0.7000000000000001
    setup = setup_of({"a": [0.5, 0.8, 0.8]})
    assert setup.overall != 0.7
    assert complete(found("HIGH"), setup).because[0] == (
        "the mean nDCG@5 of a is 0.7000, not above 0.7"
    )


@pytest.mark.parametrize(
    ("mean", "sentence"),
    [(0.70001, "0.70001, above 0.7"), (0.69997, "0.69997, not above 0.7"), (0.71, "0.7100, above")],
)
def test_digits_tell_the_mean_from_the_limit(setup_of: SetupOf, mean: float, sentence: str) -> None:
    assert sentence in complete(found("HIGH"), setup_of({"a": [mean]})).because[0]


@pytest.mark.parametrize(
    ("value", "word"), [(0.1 + 0.2, "poor"), (0.3 - 1e-16, "poor"), (0.2999, "bad"), (0.7, "good")]
)
def test_a_level_is_reached_within_rounding(value: float, word: str) -> None:
    assert level_of("nDCG@10", value, Limits()) == word
    assert level_of("RR", 0.7 - 1e-12, Limits()) == "good"


def lost(rule: str, tag: Tag, *query_ids: str) -> list[Finding]:
    return [Finding(rule, "LOW", tag, "wrong", "mend it", q) for q in query_ids]


def test_a_caveat_while_many_answers_are_missing(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.9] * 5}, capabilities=["exact"] * 5)
    missing = lost("failed-or-partial", "RELIABILITY", "q1", "q2")  # 2 of 5 is more than 0.2
    assert complete(missing[:1], setup).caveat is None
    verdict = complete(missing, setup)
    assert verdict.passed  # the mean is 0.9
    assert verdict.caveat == (
        "the numbers cannot be trusted yet: 2 of 5 queries have no whole answer; what is missing "
        "counts as 0, so no mean tells how good the ranking is"
    )


def test_a_caveat_while_many_judgments_are_missing(setup_of: SetupOf) -> None:
    given = {"words": [["good1", "new1"]] * 5}  # half of the results
    setup = setup_of({"words": [0.9] * 5}, documents=given)
    verdict = complete(lost("holes-at-top", "JUDGMENTS", "q1"), setup)
    assert verdict.caveat == (
        "the numbers cannot be trusted yet: 1 of 5 queries has results that nobody judged; 50% of "
        "the results within 5 are unjudged and count as not relevant, so every mean may be too low "
        "and no difference is sure"
    )


def test_a_caveat_while_many_judged_documents_are_not_there(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.9] * 5})
    verdict = complete(lost("judged-not-in-corpus", "JUDGMENTS", "q1", "q2"), setup)
    assert (verdict.caveat or "").startswith(
        "the numbers cannot be trusted yet: 2 of 5 queries have judged documents that the corpus "
    )


def test_answers_where_no_query_has_one_show_nothing(setup_of: SetupOf) -> None:
    """What the conventions give for such a query, 1.0, is no sign of a good ranking."""
    values = {"words": [1.0, 1.0]}
    given = {"words": [["bad1"], []]}
    verdict = complete([], setup_of(values, documents=given, no_answer=[0, 1]))
    assert not verdict.passed
    assert verdict.because == (
        "no query has an answer, and 1 of 2 queries is answered: no mean tells anything",
    )
    assert complete([], setup_of(values, documents=given, no_answer=[0])).passed
    silent = {"words": [[], []]}
    assert complete([], setup_of(values, documents=silent, no_answer=[0, 1])).passed


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
