from collections.abc import Callable, Mapping

import pytest

from searchmark.gate.baseline import Baseline
from searchmark.gate.cases import Background
from searchmark.gate.decision import decide
from searchmark.gate.policy import GatePolicy
from searchmark.gate.verdict import Verdict
from searchmark.measures.notation import parse_measure
from searchmark.measures.summary import SystemScores
from searchmark.stats.means import Groups

Values = Mapping[str, Mapping[str, float]]
Gate = Callable[..., Verdict]

IDS = [f"q{i}" for i in range(1, 7)]
EVEN = {"A": dict.fromkeys(IDS, 0.5)}
CATEGORIES = dict(zip(IDS, ["x", "x", "y", "y", "y", "y"], strict=True))


@pytest.fixture
def gate(scored, accepted) -> Gate:
    """Return the decision over values of measures, all of six queries in two categories."""

    def decided(after: Values, before: Values = EVEN, **keys: object) -> Verdict:
        policy = GatePolicy(system="s", **keys)  # type: ignore[arg-type]
        known = Background(
            texts={"q1": "one"},
            measures={m: parse_measure(m) for m in before if len(m) > 1},
            groups=Groups(CATEGORIES),
        )
        return decide(scored(after, CATEGORIES), accepted(before, CATEGORIES), policy, known)

    return decided


def moved(**by: float) -> Values:
    return {"A": {q: 0.5 + by.get(q, 0.0) for q in IDS}}


def test_a_share_is_held_and_the_reason_says_what_it_comes_to(gate: Gate) -> None:
    # the mean falls by 0.06 / 6 = 0.01, from 0.5; 2% of 0.5 is 0.01, 1% is 0.005
    assert gate(moved(q1=-0.06), max_drop="2%").passed
    (because,) = gate(moved(q1=-0.06), max_drop="1%").because
    assert because == "A fell by 0.0100 (0.5000 -> 0.4900), more than the 1% (0.0050) allowed"


def test_the_limit_of_a_share_is_told_as_a_number(gate: Gate) -> None:
    assert gate(moved(), max_drop="2%").measures[0].limit == pytest.approx(0.01)


def test_a_category_is_guarded_on_its_own(gate: Gate) -> None:
    after = moved(q1=-0.2)  # all: 0.2 / 6 = 0.0333; category x: 0.2 / 2 = 0.1
    assert gate(after, max_drop=0.05).passed
    assert gate(after, max_drop=0.05, category_max_drop={"y": 0.01}).passed
    verdict = gate(after, max_drop=0.05, category_max_drop={"x": 0.05})
    assert verdict.because == (
        "A in category x fell by 0.1000 (0.5000 -> 0.4000), more than the 0.05 allowed",
    )
    assert [v.limit for v in verdict.categories] == [0.05, None]


def test_a_guard_of_a_category_nobody_belongs_to_fails(gate: Gate) -> None:
    verdict = gate(moved(), category_max_drop={"z": 0.05})
    assert verdict.because == ("a drop is limited for category z, which no query belongs to",)


def test_a_measure_that_never_counted_in_a_category_does_not_fail_its_guard(gate: Gate) -> None:
    both = {**EVEN, "RR": {"q3": 1.0}}
    assert gate(both, both, category_max_drop={"x": 0.05}).passed
    # one that counted there and counts no more does
    verdict = gate(
        {**EVEN, "RR": {"q3": 1.0}},
        {**EVEN, "RR": {"q1": 1.0, "q3": 1.0}},
        category_max_drop={"x": 0.05},
    )
    assert verdict.because == ("RR in category x has no value: no query counts for it",)


def test_a_pinned_query_may_not_get_worse_whatever_the_limit(gate: Gate) -> None:
    after = moved(q1=-0.001, q2=+0.1)
    assert gate(after).passed
    assert gate(after, pinned=["q2", "q3"]).passed
    verdict = gate(after, pinned=["q1", "q2"])
    assert verdict.because == ("pinned query q1 got worse: A 0.5000 -> 0.4990",)
    assert [(p.query_id, p.text, p.ok) for p in verdict.pinned] == [
        ("q1", "one", False),
        ("q2", "", True),
    ]


def test_a_pinned_query_is_held_in_every_gated_measure_and_in_no_other(gate: Gate) -> None:
    before = {**EVEN, "RR": dict.fromkeys(IDS, 1.0)}
    after = {**EVEN, "RR": {**before["RR"], "q1": 0.5}}
    verdict = gate(after, before, pinned=["q1"], max_drop=1)
    assert verdict.because == ("pinned query q1 got worse: RR 1.0000 -> 0.5000",)
    assert gate(after, before, pinned=["q1"], measures=["A"]).passed


def test_a_pinned_query_without_a_value_holds_nothing_and_says_so(gate: Gate) -> None:
    assert gate(moved(), pinned=["q9"]).because == (
        "pinned query q9 has no value in any gated measure, so nothing holds it",
    )


def test_a_pinned_query_that_no_longer_counts_got_worse(gate: Gate) -> None:
    after = {"A": {q: 0.5 for q in IDS if q != "q1"}}
    verdict = gate(after, pinned=["q1"])
    assert verdict.because == ("pinned query q1 got worse: A has no value any more",)


def test_where_lower_is_better_a_drop_is_a_rise(gate: Gate) -> None:
    before = {"Unjudged@10": dict.fromkeys(IDS, 0.2)}
    worse = {"Unjudged@10": {**before["Unjudged@10"], "q1": 0.5, "q2": 0.1}}
    verdict = gate(worse, before)  # (0.3 - 0.1) / 6 = 0.0333 more of what should be few
    assert verdict.because == (
        "Unjudged@10 rose by 0.0333 (0.2000 -> 0.2333), more than the 0.02 allowed",
    )
    assert verdict.measures[0].delta == pytest.approx(0.0333, abs=1e-4)
    assert verdict.measures[0].loss == pytest.approx(0.0333, abs=1e-4)
    assert (verdict.n_better["Unjudged@10"], verdict.n_worse["Unjudged@10"]) == (1, 1)
    assert [q.query_id for q in verdict.worst_queries] == ["q1"]
    assert gate(before, worse).passed


def test_where_lower_is_better_a_floor_is_the_most_allowed(gate: Gate) -> None:
    values = {"Unjudged@10": dict.fromkeys(IDS, 0.2)}
    assert gate(values, values, floors={"Unjudged@10": 0.3}).passed
    (because,) = gate(values, values, floors={"Unjudged@10": 0.1}).because
    assert because == "Unjudged@10 is 0.2000, over the most allowed, 0.1"


def test_an_interval_points_the_way_its_delta_does(gate: Gate) -> None:
    before = {"Unjudged@10": dict.fromkeys(IDS, 0.2)}
    after = {"Unjudged@10": {q: 0.2 + i / 100 for i, q in enumerate(IDS)}}
    v = gate(after, before).measures[0]
    assert v.low is not None
    assert v.high is not None
    assert v.delta is not None
    assert 0 < v.low < v.delta < v.high < 0.05


def test_an_improvement_beyond_the_limit_suggests_to_accept_it(gate: Gate) -> None:
    (suggestion, *_) = gate(moved(q1=0.3)).suggestions  # 0.05 better
    assert suggestion.startswith("better by more than the limit: A by 0.0500")
    assert "searchmark baseline accept" in suggestion


def test_no_failed_candidate_is_suggested_to_be_accepted(gate: Gate) -> None:
    better = moved(q1=0.3)
    for keys in ({"pinned": ["q9"]}, {"floors": {"A": 0.9}}):
        verdict = gate(better, **keys)
        assert not verdict.passed
        assert "accept" not in " ".join(verdict.suggestions)


def test_a_small_improvement_is_not_worth_a_word(gate: Gate) -> None:
    assert gate(moved(q1=0.06)).suggestions == ()


def test_queries_that_count_on_one_side_only_are_told(gate: Gate) -> None:
    after = {"A": {q: 0.5 for q in IDS if q != "q1"}}
    (note,) = gate(after).notes
    assert note.startswith("1 query has a value of A in the baseline or in the candidate only")
    assert gate(after).measures[0].n_queries == 5


# alpha


def test_a_drop_that_is_not_significant_passes_and_says_that_it_cannot_tell(gate: Gate) -> None:
    # one query of six moved: under the null it rises as often as it falls, so p = 1/2
    verdict = gate(moved(q1=-0.3), alpha=0.05)
    assert verdict.passed
    assert verdict.measures[0].p == 0.5
    (blind,) = verdict.blind
    assert blind.startswith(
        "A fell by 0.0500 (0.5000 -> 0.4500), more than the 0.02 allowed, but 6 queries cannot "
        "tell that from chance (p 0.5000)"
    )


def test_without_alpha_the_same_drop_fails_and_nothing_is_blind(gate: Gate) -> None:
    verdict = gate(moved(q1=-0.3))
    assert not verdict.passed
    assert verdict.blind == ()
    assert verdict.measures[0].p is None


def test_a_significant_drop_beyond_the_limit_fails_with_its_p_value(gate: Gate) -> None:
    # six of six fall: p = 1/64
    verdict = gate({"A": {q: 0.5 - (i + 1) / 100 for i, q in enumerate(IDS)}}, alpha=0.05)
    assert verdict.because == (
        "A fell by 0.0350 (0.5000 -> 0.4650), more than the 0.02 allowed, and more than chance "
        "explains (p 0.0156)",
    )


def test_a_significant_drop_within_the_limit_passes(gate: Gate) -> None:
    ids = [f"q{i}" for i in range(24)]
    before = {"A": dict.fromkeys(ids, 0.5)}
    after = {"A": {q: 0.5 - (i % 6 + 1) / 1000 for i, q in enumerate(ids)}}
    verdict = gate(after, before, alpha=0.05)
    assert (verdict.measures[0].p_adjusted or 1.0) < 0.001
    assert verdict.passed
    assert verdict.blind == ()  # its interval ends far above a loss of 0.02


def test_of_six_queries_not_even_a_narrow_interval_is_trusted(gate: Gate) -> None:
    verdict = gate({"A": {q: 0.5 - (i + 1) / 1000 for i, q in enumerate(IDS)}}, alpha=0.05)
    assert verdict.passed
    assert "6 queries cannot tell" in verdict.blind[0]


def test_holm_is_over_all_that_is_tested_and_moved(gate: Gate) -> None:
    fallen = {q: 0.5 - (i + 1) / 100 for i, q in enumerate(IDS)}
    # A's p is 1/64; B never moved, so it takes nothing from A; C moved up, so it does
    before = {"A": EVEN["A"], "B": EVEN["A"], "C": EVEN["A"]}
    one = gate({**before, "A": fallen}, before, alpha=0.05)
    assert [v.p_adjusted for v in one.measures] == [pytest.approx(1 / 64), None, None]
    risen = {q: 0.5 + (i + 1) / 100 for i, q in enumerate(IDS)}
    two = gate({**before, "A": fallen, "C": risen}, before, alpha=0.05)
    assert [v.p_adjusted for v in two.measures] == [pytest.approx(2 / 64), None, 1.0]


def test_guards_of_categories_are_part_of_the_family(gate: Gate) -> None:
    fallen = {"A": {q: 0.5 - (i + 1) / 100 for i, q in enumerate(IDS)}}
    verdict = gate(fallen, alpha=0.05, category_max_drop={"y": 0.02})
    # all: 1/64 x 2; category y with four queries: 1/16, and cannot get lower
    assert verdict.measures[0].p_adjusted == pytest.approx(2 / 64)
    guarded = [v for v in verdict.categories if v.limit is not None]
    assert [v.p for v in guarded] == [pytest.approx(1 / 16)]
    assert len(verdict.because) == 1
    assert "in category y" in verdict.blind[0]
    assert "4 queries cannot tell" in verdict.blind[0]


def test_a_rise_where_lower_is_better_is_tested_as_a_loss(gate: Gate) -> None:
    before = {"Unjudged@10": dict.fromkeys(IDS, 0.2)}
    after = {"Unjudged@10": {q: 0.2 + (i + 1) / 100 for i, q in enumerate(IDS)}}
    verdict = gate(after, before, alpha=0.05)
    assert not verdict.passed
    assert verdict.measures[0].p == pytest.approx(1 / 64)


def test_one_query_cannot_tell_anything(gate: Gate) -> None:
    verdict = gate({"A": {"q1": 0.1}}, {"A": {"q1": 0.5}}, alpha=0.05)
    assert verdict.passed
    assert "1 query cannot tell that from chance" in verdict.blind[0]
    assert "in so few no loss is ever significant" in verdict.blind[0]


def test_all_queries_falling_alike_is_a_loss_without_an_interval(gate: Gate) -> None:
    verdict = gate({"A": dict.fromkeys(IDS, 0.4)}, alpha=0.05)
    v = verdict.measures[0]
    assert not verdict.passed
    assert v.p == pytest.approx(1 / 64)
    assert (v.low, v.high, v.detectable) == (None, None, None)


def test_where_nothing_moved_few_queries_are_blind_and_many_are_not(gate: Gate) -> None:
    verdict = gate(EVEN, alpha=0.05)
    assert verdict.passed
    assert verdict.measures[0].p is None
    assert verdict.blind == (
        "A: 6 queries cannot tell whether a loss of more than the 0.02 allowed is there; "
        "at least 5 queries must get worse before a loss is significant",
    )
    many = {"A": {f"q{i}": 0.5 for i in range(20)}}
    assert gate(many, many, alpha=0.05).blind == ()


def test_a_drop_that_no_pair_explains_is_held_to_the_limit_alone(gate: Gate) -> None:
    # q1 stood at 1 and no longer counts: the mean falls, and no pair moved
    before = {"A": {**EVEN["A"], "q1": 1.0}}
    after = {"A": {q: 0.5 for q in IDS if q != "q1"}}
    assert not gate(after, before, alpha=0.05).passed
    # nor does it pass because another query improves
    assert not gate({"A": {**after["A"], "q2": 0.51}}, before, alpha=0.05).passed


MANY = [f"q{i:02}" for i in range(60)]


@pytest.mark.parametrize(
    ("others", "passes"),
    [
        # q00 to q19 stood at 1 and count no more: 2/3 -> 0.5 less what the 40 others lose
        (0.0, False),
        (0.001, False),
        # the others lost more than is allowed, but what the twenty make of it is too much by itself
        (0.03, False),
    ],
)
def test_what_others_make_of_a_loss_is_not_excused_by_pairs(
    gate: Gate, others: float, passes: bool
) -> None:
    before = {"A": {q: 1.0 if q < "q20" else 0.5 for q in MANY}}
    # one query alone loses what the forty lose on average: never significant
    after = {"A": {q: 0.5 for q in MANY if q >= "q20"} | {"q20": 0.5 - 40 * others}}
    assert gate(after, before, alpha=0.05).passed is passes


def test_a_loss_of_the_pairs_is_tested_though_another_query_counts_no_more(gate: Gate) -> None:
    # q00 stood at 0.5 as all do, so that its going moves nothing; q01 lost 2.4 / 59 = 0.0407
    before = {"A": dict.fromkeys(MANY, 0.5)}
    after = {"A": {q: 0.5 for q in MANY if q != "q00"} | {"q01": -1.9}}
    verdict = gate(after, before, alpha=0.05)
    assert verdict.passed
    assert "cannot tell that from chance (p 0.5000)" in verdict.blind[0]
    assert verdict.measures[0].paired_delta == pytest.approx(-2.4 / 59)


def test_two_losses_that_only_together_are_too_much_are_held_to_the_limit(gate: Gate) -> None:
    # q00 stood at 1.1 and counts no more: 0.01 of the mean; q01 lost 0.885 / 59 = 0.015
    before = {"A": {**dict.fromkeys(MANY, 0.5), "q00": 1.1}}
    after = {"A": {**dict.fromkeys(MANY[1:], 0.5), "q01": 0.5 - 0.885}}
    (because,) = gate(after, before, alpha=0.05).because
    assert "fell by 0.0250" in because
    assert "over the 59 queries with a value in both it got worse by 0.0150, which does" in because


def test_what_is_caught_without_alpha_is_above_the_limit_alone(gate: Gate) -> None:
    # +-0.1 of 60: error 0.1 / sqrt(59) = 0.01302, 0.8416 of it 0.01096; detectable 2.5 of it
    before = {"A": dict.fromkeys(MANY, 0.5)}
    after = {"A": {q: 0.5 + 0.1 * (-1) ** i for i, q in enumerate(MANY)}}
    plain, tested = (gate(after, before, alpha=a).measures[0] for a in (None, 0.05))
    assert plain.caught == pytest.approx(0.02 + 0.01096, abs=1e-5)
    assert plain.detectable == tested.detectable == tested.caught
    assert plain.detectable == pytest.approx(2.52 * 0.01302, abs=2e-4)


def test_no_interval_of_pairs_stands_beside_a_change_of_others(gate: Gate) -> None:
    rng = [0.01 * (i % 7) for i in range(60)]
    before = {"A": dict.fromkeys(MANY, 0.5)}
    after = {"A": {q: 0.5 + x for q, x in zip(MANY, rng, strict=True)}}
    v = gate(after, before).measures[0]
    assert v.low is not None
    assert v.paired_delta == pytest.approx(v.delta)
    after["A"].pop("q00")
    v = gate(after, before).measures[0]
    assert (v.low, v.high) == (None, None)


def test_a_loss_that_cannot_be_is_not_looked_for(gate: Gate) -> None:
    # of RR 0.5 no more than 0.5 can be lost; of a rise of Unjudged@10 from 0.2 no more than 0.8
    rr = {"RR": dict.fromkeys(IDS, 0.5)}
    assert gate(rr, rr, alpha=0.05, max_drop=0.5).blind == ()
    assert len(gate(rr, rr, alpha=0.05, max_drop=0.49).blind) == 1
    unjudged = {"Unjudged@10": dict.fromkeys(IDS, 0.2)}
    assert gate(unjudged, unjudged, alpha=0.05, max_drop=0.8).blind == ()
    assert len(gate(unjudged, unjudged, alpha=0.05, max_drop=0.79).blind) == 1
    # a count of wrong results has no end
    wrong = {"NumNonrelJudgedRet": dict.fromkeys(IDS, 5.0)}
    assert len(gate(wrong, wrong, alpha=0.05, max_drop=100).blind) == 1


def test_p_of_just_alpha_is_significant(gate: Gate) -> None:
    # three of three fall: p = 1/8
    before = {"A": dict.fromkeys(IDS[:3], 0.5)}
    after = {"A": {q: 0.4 - i / 100 for i, q in enumerate(IDS[:3])}}
    assert not gate(after, before, alpha=0.125).passed
    assert gate(after, before, alpha=0.1249).passed


def test_where_so_many_are_tested_that_p_cannot_be_low_enough_it_says_so(
    scored: Callable[..., SystemScores], accepted: Callable[..., Baseline]
) -> None:
    # 0.001 / 100 is 1/100,000, which a p of 1/100,001 is under; 0.001 / 101 is not
    def verdict(n: int) -> Verdict:
        names = [f"M{i}" for i in range(n)]
        before = {m: dict.fromkeys(MANY + [f"r{i}" for i in range(40)], 0.5) for m in names}
        after = {m: {**values, "q01": 0.51} for m, values in before.items()}
        return decide(scored(after), accepted(before), GatePolicy(system="s", alpha=0.001))

    assert verdict(100).blind == ()
    assert "so many limits tested together no loss is ever significant" in verdict(101).blind[0]


def test_with_alpha_noise_is_not_suggested_to_be_accepted(gate: Gate) -> None:
    before = {"A": dict.fromkeys(MANY, 0.5)}
    # means rise by 0.03: once by one query, once by all
    noise = {"A": {**before["A"], "q01": 2.3}}
    real = {"A": {q: 0.53 + 0.001 * (i % 3 - 1) for i, q in enumerate(MANY)}}
    for after, is_suggested in ((noise, False), (real, True)):
        told = " ".join(gate(after, before, alpha=0.05).suggestions)
        assert ("baseline accept" in told) is is_suggested
        assert "baseline accept" in " ".join(gate(after, before).suggestions)
