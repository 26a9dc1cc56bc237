"""The one recommended action, the three ways on, and the value that holds them all."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from searchmark.diagnosis.action import Action, recommend
from searchmark.diagnosis.completion import Completion, complete
from searchmark.diagnosis.diagnosis import CapabilityRow, Level, summed_up
from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Severity, Tag
from searchmark.diagnosis.rollup import roll_up
from searchmark.diagnosis.steps import Step, what_next

SetupOf = Callable[..., Evidence]


def finding(
    query_id: str,
    repaired: Mapping[str, float],
    *,
    tag: Tag = "INDEX_MAPPING",
    severity: Severity = "MEDIUM",
    rule: str = "pairwise-gap",
    fix: str = "index more fields",
    systems: Sequence[str] = (),
) -> Finding:
    named = tuple(systems or repaired)
    return Finding(rule, severity, tag, "wrong", fix, query_id, systems=named, repaired=repaired)


def action_for(findings: Sequence[Finding], setup: Evidence, serving: str | None = None) -> Action:
    action = recommend(roll_up(findings, setup, serving), setup, serving)
    assert action is not None
    return action


def steps_for(findings: Sequence[Finding], setup: Evidence) -> tuple[Step, ...]:
    return what_next(roll_up(findings, setup), setup, complete(findings, setup))


def test_nothing_found_recommends_nothing(setup_of: SetupOf) -> None:
    assert recommend((), setup_of({"words": [1.0]})) is None


def test_a_high_group_comes_before_a_larger_rise(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4]})
    action = action_for(
        [
            finding("q1", {"words": 1.0}, tag="QUERY_TUNING"),
            finding("q2", {"words": 0.5}, tag="MODEL_SELECTION", severity="HIGH"),
        ],
        setup,
    )
    assert (action.tag, action.reason) == ("MODEL_SELECTION", "severity")


def test_without_a_high_one_the_largest_rise_comes_first_even_if_it_is_low(
    setup_of: SetupOf,
) -> None:
    setup = setup_of({"words": [0.2, 0.4]})
    action = action_for(
        [
            finding("q1", {"words": 0.3}, tag="QUERY_TUNING"),
            finding("q2", {"words": 1.0}, tag="EMBEDDING_FIELDS", severity="LOW"),
        ],
        setup,
    )
    assert (action.tag, action.reason) == ("EMBEDDING_FIELDS", "rise")
    # (0.2 + 0.4) / 2 = 0.3; (1.0 - 0.4) / 2 = 0.3 more
    assert action.why == (
        "1 finding of EMBEDDING_FIELDS (pairwise-gap) on 1 of 2 queries, LOW",
        "mended, the mean nDCG@5 over all systems would go from 0.300 to 0.600 (+0.300)",
    )


def test_where_no_mean_would_rise_the_worst_group_is_taken_and_that_is_said(
    setup_of: SetupOf,
) -> None:
    action = action_for(
        [
            finding("q1", {}, tag="JUDGMENTS", severity="LOW"),
            finding("q2", {}, tag="QUERY_TUNING", systems=["words"]),
        ],
        setup_of({"words": [0.9, 0.9]}),
    )
    assert (action.tag, action.reason, action.system) == ("QUERY_TUNING", "order", "words")
    assert "it does not measure this fault" in action.why[-1]


@pytest.mark.parametrize(("n", "reason"), [(2, "rise"), (3, "trust")])
@pytest.mark.parametrize(
    ("tag", "rule"), [("JUDGMENTS", "judged-not-in-corpus"), ("RELIABILITY", "failed-or-partial")]
)
def test_missing_documents_and_answers_come_first_where_they_are_many(
    setup_of: SetupOf, n: int, reason: str, tag: Tag, rule: str
) -> None:
    # more than a fifth of ten queries are three
    setup = setup_of({"words": [0.2] * 10})
    lost = [finding(f"q{i + 1}", {}, tag=tag, rule=rule, severity="LOW") for i in range(n)]
    assert action_for([*lost, finding("q9", {"words": 1.0})], setup).reason == reason


def hole(*documents: str) -> Finding:
    return Finding(
        "holes-at-top", "LOW", "JUDGMENTS", "", "judge", "q1", ("words",), documents=documents
    )


@pytest.mark.parametrize(("n", "reason"), [(1, "rise"), (2, "trust")])
def test_unjudged_results_come_first_where_they_are_many(
    setup_of: SetupOf, n: int, reason: str
) -> None:
    # one of five results is not more than a fifth, two are; those below rank 5 do not count
    unjudged = ["new1", "new2"][:n]
    shown = [*unjudged, *["bad1", "bad2", "bad3", "bad4"][: 5 - n], "new8", "new9"]
    setup = setup_of({"words": [0.2, 0.2]}, documents={"words": [shown, []]})
    action = action_for([hole(*unjudged), finding("q2", {"words": 1.0})], setup)
    assert action.reason == reason
    if reason == "trust":
        assert action.what == (
            "Judge the 2 results within 5 that nobody judged, or set complete = true where what "
            "the judgments do not list is known to be irrelevant"
        )
        assert (action.system, action.query_ids) == (None, ("q1",))
        assert action.why[1] == (
            # 2 of 5; the second query has no results
            "40% of the results within 5 are unjudged and count as not relevant, so every mean may "
            "be too low and no difference is sure"
        )
        assert action.then == (
            "when the numbers can be trusted: Loosen the matching of words: let any word match "
            "where no document has them all (it returns nothing for 1 query)"
        )


def test_a_possible_wrong_label_is_no_missing_judgment(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.2]})
    doubts = [
        finding(q, {}, tag="JUDGMENTS", rule="contradicting-judgment", severity="LOW")
        for q in ("q1", "q2")
    ]
    assert action_for([*doubts, finding("q1", {"words": 1.0})], setup).tag == "INDEX_MAPPING"


def strict(setup_of: SetupOf, n_empty: int) -> Evidence:
    answers = [[] if i < n_empty else ["bad1"] for i in range(4)]
    return setup_of(
        {"words": [0.0] * 4, "meaning": [0.9] * 4, "both": [0.9] * 4},
        documents={"words": answers},
        arms={"both": ("words", "meaning")},
    )


GAPS = [finding(f"q{i + 1}", {"words": 0.9}) for i in range(4)]


def test_a_keyword_system_that_returns_nothing_is_to_match_more_loosely(
    setup_of: SetupOf,
) -> None:
    action = action_for(GAPS, strict(setup_of, 2))
    assert action.system == "words"
    assert action.what == (
        "Loosen the matching of words: let any word match where no document has them all (it "
        "returns nothing for 2 queries of 4)"
    )
    assert action.why[1:] == (
        # (0 + 0.9 + 0.9) / 3 = 0.6, and 0.9 / 3 more
        "mended, the mean nDCG@5 over all systems would go from 0.600 to 0.900 (+0.300)",
        "that of words would go from 0.000 to 0.900 (+0.900)",
    )
    assert action.query_ids == ("q1", "q2", "q3", "q4")


def test_where_it_returns_wrong_documents_the_commonest_fix_is_told(setup_of: SetupOf) -> None:
    assert action_for(GAPS, strict(setup_of, 1)).what == "Index more fields"


def test_fixes_that_differ_query_by_query_give_way_to_the_general_one(setup_of: SetupOf) -> None:
    various = [finding(f"q{i + 1}", {"words": 0.9}, fix=f"add word {i}") for i in range(4)]
    what = action_for(various, strict(setup_of, 0)).what
    assert what.startswith("Change how words indexes and matches")


def test_a_weak_part_does_not_hurt_the_system_that_serves_and_what_would_help_that_is_told(
    setup_of: SetupOf,
) -> None:
    theirs = finding("q3", {}, tag="QUERY_TUNING", systems=["both", "meaning"], fix="set a cut-off")
    action = action_for([*GAPS, theirs], strict(setup_of, 4), "both")
    assert action.system == "words"
    assert action.what.endswith("(it returns nothing for 4 queries), or let only both serve")
    assert action.serving == (
        "users of both, which serves, do not suffer: its mean is 0.900; it joins words and "
        "meaning, and a part that returns more can push right results down, so look at its mean "
        "before the change serves"
    )
    assert action.then == "for both: Set a cut-off (1 finding of QUERY_TUNING)"


def test_where_the_weak_system_serves_nothing_is_played_down(setup_of: SetupOf) -> None:
    action = action_for(GAPS, strict(setup_of, 4), "words")
    assert (action.serving, action.then) == (None, None)
    assert "let only" not in action.what


def test_nothing_found_in_the_system_that_serves_is_said(setup_of: SetupOf) -> None:
    assert action_for(GAPS, strict(setup_of, 4), "both").then == "nothing was found in both"


def test_a_passed_verdict_advises_to_deploy(setup_of: SetupOf) -> None:
    setup = setup_of({"both": [0.9] * 5})
    first, *others = steps_for([finding("q1", {"both": 1.0})], setup)
    assert (first.way, first.is_recommended) == ("deploy", True)
    assert [s.is_recommended for s in others] == [False, False]
    assert {s.way for s in others} == {"restart", "experiment"}
    assert first.text.startswith(
        "Ship both (mean nDCG@5 0.900): the verdict is passed; 1 finding above LOW goes with it; "
    )


def test_a_high_finding_advises_to_restart_even_where_the_mean_passes(setup_of: SetupOf) -> None:
    setup = setup_of({"both": [0.9] * 5})
    first = steps_for([finding("q1", {"both": 1.0}, severity="HIGH")], setup)[0]
    assert first.way == "restart"
    # 0.1 / 5 = 0.02
    assert "from 0.900 to 0.920" in first.text


def test_a_failed_verdict_advises_to_restart(setup_of: SetupOf) -> None:
    setup = setup_of({"own": [0.2] * 5})
    steps = steps_for([finding("q1", {"own": 1.0})], setup)
    assert steps[0].way == "restart"
    deploy = next(s for s in steps if s.way == "deploy")
    assert deploy.text.endswith("the verdict is not passed.")


def test_missing_judgments_advise_to_keep_experimenting(setup_of: SetupOf) -> None:
    setup = setup_of({"both": [0.9] * 5}, documents={"both": [["new1"]] * 5})
    first = steps_for([hole("new1")], setup)[0]
    assert first.way == "experiment"
    assert first.text.startswith("Get the missing answers and judgments first")


def test_nothing_passed_and_nothing_found_advises_to_keep_experimenting(setup_of: SetupOf) -> None:
    setup = setup_of({"both": [None]})
    steps = what_next((), setup, Completion(False, ("nothing",)))
    assert steps[0].way == "experiment"
    assert next(s for s in steps if s.way == "deploy").text.startswith("There is nothing")


def test_experimenting_names_what_the_query_set_lacks(setup_of: SetupOf) -> None:
    setup = setup_of(
        {"both": [0.9] * 6}, capabilities=["exact"] * 5 + ["fuzzy"], n_unjudged_queries=3
    )
    text = next(s for s in steps_for([], setup) if s.way == "experiment").text
    assert text == (
        "Judge the 3 queries without judgments; add queries of the kinds that have fewer than 5: "
        "fuzzy (1); add a second system to compare with."
    )


def test_the_diagnosis_holds_levels_worked_out_by_hand(setup_of: SetupOf) -> None:
    setup = setup_of(
        {"words": [0.6, 0.5, 1.0]},
        documents={"words": [["bad1", "good1", "good2"], ["bad1", "good1"], ["good1"]]},
        no_answer=[2],
    )
    levels = summed_up((), setup).levels["words"]
    assert levels == (
        # (0.6 + 0.5 + 1.0) / 3, all three as the project counts them
        Level("nDCG@5", pytest.approx(0.7), "good", 3),
        # the third has no answer: (2/5 + 1/5) / 2, and 1/2 twice; two of five can be right
        Level("P@5", pytest.approx(0.3), "poor", 2, pytest.approx(0.4)),
        Level("RR", pytest.approx(0.5), "acceptable", 2),
    )


def test_queries_that_do_not_count_are_in_no_level(setup_of: SetupOf) -> None:
    levels = summed_up((), setup_of({"words": [None]})).levels["words"]
    assert [(x.mean, x.word, x.n_queries) for x in levels] == [(None, None, 0)] * 3


def test_the_diagnosis_breaks_the_means_down_by_capability(setup_of: SetupOf) -> None:
    setup = setup_of(
        {"words": [0.2, 0.4, 1.0], "own": [None, None, 0.5]},
        capabilities=["semantic", "semantic", "exact"],
    )
    assert summed_up((), setup).capabilities == (
        CapabilityRow("exact", 1, {"words": 1.0, "own": 0.5}, ("words",)),
        CapabilityRow("semantic", 2, {"words": pytest.approx(0.3), "own": None}, ()),
    )


def test_the_diagnosis_holds_the_facts_of_the_setup(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 1.0]}, no_answer=[1], n_unjudged_queries=2)
    found = summed_up((finding("q1", {"words": 0.8}),), setup, "words")
    facts = found.setup
    assert (facts.k, facts.measure, facts.n_queries) == (5, "nDCG@5", 2)
    assert (facts.n_no_answer, facts.n_unjudged, facts.serving) == (1, 2, "words")
    assert facts.means == pytest.approx({"words": 0.6})
    assert found.all_mended.overall == pytest.approx(0.3)  # 0.6 / 2
    assert found.action is not None
    assert [g.tag for g in found.groups] == ["INDEX_MAPPING"]


def test_of_a_high_group_only_the_high_findings_count(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [0.2, 0.4]})
    action = action_for(
        [
            finding("q1", {"words": 0.6}, severity="HIGH", fix="mend the worst"),
            finding("q2", {"words": 1.0}, fix="mend the other"),
            finding("q2", {"words": 1.0}, fix="mend the other"),
        ],
        setup,
    )
    assert action.what == "Mend the worst"
    assert action.query_ids == ("q1",)
    assert action.rise.overall == pytest.approx(0.2)  # (0.6 - 0.2) / 2


def test_what_is_wrong_in_all_systems_is_reckoned_for_the_one_that_would_ship(
    setup_of: SetupOf,
) -> None:
    setup = setup_of({"words": [0.1, 0.3], "meaning": [0.2, 1.0]})
    everywhere = [finding("q1", {"words": 0.9, "meaning": 0.6}, severity="HIGH")]
    assert action_for(everywhere, setup).system == "meaning"
    assert action_for(everywhere, setup, "words").system == "words"
    assert action_for([finding("q1", {"words": 0.9})], setup, "meaning").system == "words"


def test_a_low_mean_that_no_ranking_could_better_is_the_best_possible(setup_of: SetupOf) -> None:
    setup = setup_of({"words": [1.0]}, documents={"words": [["good1", "good2", "bad1"]]})
    precision = summed_up((), setup).levels["words"][1]
    assert precision == Level("P@5", pytest.approx(0.4), "best possible", 1, pytest.approx(0.4))
