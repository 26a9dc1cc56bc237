"""Compared systems: small cases worked by hand, and input that nothing can be said of."""

import warnings
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.stats import randomization, resampling
from searchmark.stats.comparison import Comparison, Family, Settings, compare

Values = Mapping[str, float]


@pytest.fixture(autouse=True)
def no_warning_of_a_library() -> Iterator[None]:
    """Raise where NumPy divides by 0 or takes the mean of nothing, whatever pytest is told."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        yield


def queries(*values: float) -> dict[str, float]:
    return {f"q{i}": value for i, value in enumerate(values, 1)}


def two(old: Values, new: Values, *, clusters: Mapping[str, str] | None = None) -> Comparison:
    return compare({"old": {"RR": old}, "new": {"RR": new}}, clusters=clusters).comparisons[0]


# worked by hand


def test_one_pair_by_hand():
    # new - old: 0.5, 0.25, 0, -0.25, 0.5: mean 0.2; squares around it 0.09 0.0025 0.04 0.2025 0.09,
    # together 0.425, over 4 is 0.10625, whose root is 0.32596
    found = two(queries(0.5, 0.25, 1.0, 0.5, 0.5), queries(1.0, 0.5, 1.0, 0.25, 1.0))
    assert (found.a, found.b, found.n_queries) == ("old", "new", 5)
    assert (found.mean_a, found.mean_b) == pytest.approx((0.55, 0.75))
    assert found.delta == pytest.approx(0.2)
    assert (found.wins, found.ties, found.losses) == (3, 1, 1)
    assert found.effect == pytest.approx(0.2 / 0.32596, abs=1e-4)
    # of the 16 signs of 2 1 1 2 quarters: sums 6 4 4 2 2 0.. ; 4 or more: ++++ +-++ ++-+ = 3,
    # and as many at the other end
    assert found.p == found.p_adjusted == 6 / 16
    assert found.p_by_test["randomization"] == 6 / 16
    # t = 0.2 / (0.32596 / sqrt(5)) = 1.372; with 4 degrees of freedom a table has 0.242
    assert found.p_by_test["t"] == pytest.approx(0.242, abs=1e-3)
    # three of four are wins: 2 (4 + 1) / 16
    assert found.p_by_test["sign"] == 10 / 16
    # ranks 3.5 1.5 1.5 3.5, W = 8.5 of 10; of 16 sums 8.5 and 10 are as many: ++-+ +-++ ++++
    assert found.p_by_test["wilcoxon"] == 6 / 16
    assert found.interval_method == "bca"
    assert found.low < 0.2 < found.high
    assert found.words == "cannot tell"


def test_words_say_what_the_corrected_p_says():
    base = {f"q{i:02}": 0.0 for i in range(12)}
    better = {q: 0.5 for q in base}
    # 12 of 12 won: 2/4096; RR is better high, Tokens@5 low
    found = compare({"a": {"RR": base, "Tokens@5": base}, "b": {"RR": better, "Tokens@5": better}})
    rr, tokens = found.comparisons
    assert (rr.p, rr.p_adjusted, rr.words) == (2 / 4096, 4 / 4096, "better")
    assert (tokens.wins, tokens.losses, tokens.words) == (0, 12, "worse")
    strict = compare({"a": {"RR": base}, "b": {"RR": better}}, settings=Settings(alpha=0.0001))
    assert strict.comparisons[0].words == "cannot tell"


def test_p_of_just_alpha_is_enough():
    base = {f"q{i:02}": 0.0 for i in range(12)}
    scores = {"a": {"RR": base}, "b": {"RR": dict.fromkeys(base, 0.5)}}
    for alpha, words in ((2 / 4096, "better"), (1.99 / 4096, "cannot tell")):
        found = compare(scores, settings=Settings(alpha=alpha)).comparisons[0]
        assert (found.p, found.words) == (2 / 4096, words)


def test_what_so_few_permutations_cannot_show_is_said():
    base = dict.fromkeys(map(str, range(40)), 0.0)
    better = {q: 0.5 + i / 100 for i, q in enumerate(base)}
    scores = {"a": {"RR": base, "P@5": base}, "b": {"RR": better, "P@5": better}}
    # no drawn p is under 1/100,001, which Holm makes 2/100,001
    found = compare(scores, settings=Settings(alpha=1.5e-5)).comparisons[0]
    assert (found.words, found.is_out_of_reach) == ("cannot tell", True)
    assert found.note == (
        "100,000 permutations cannot show a p under 1e-05, too much where alpha is 1.5e-05 for 2 "
        "comparisons together"
    )
    plain = compare(scores, settings=Settings(alpha=1.5e-5, correction="none")).comparisons[0]
    assert (plain.words, plain.is_out_of_reach) == ("better", False)
    other = compare(scores, settings=Settings(alpha=1.5e-5, test="t")).comparisons[0]
    assert (other.words, other.is_out_of_reach) == ("better", False)
    # 0.5 three times, then -0.4: far from 0, yet some of 100,000 assignments of signs are as far
    near = {q: 0.5 if i % 4 else -0.4 for i, q in enumerate(base)}
    found = compare({"a": {"RR": base}, "b": {"RR": near}}, settings=Settings(alpha=5e-6))
    assert found.comparisons[0].p > 1e-4
    assert found.comparisons[0].is_out_of_reach
    few = {q: 0.5 if i < 12 else 0.0 for i, q in enumerate(base)}  # 2/4096, which is exact
    found = compare({"a": {"RR": base}, "b": {"RR": few}}, settings=Settings(alpha=5e-6))
    assert (found.comparisons[0].is_exact, found.comparisons[0].is_out_of_reach) == (True, False)
    chance = {**better, "0": -50.0}  # what may be chance is not blamed on the permutations
    found = compare({"a": {"RR": base}, "b": {"RR": chance}}, settings=Settings(alpha=1e-6))
    assert not found.comparisons[0].is_out_of_reach


def test_a_sum_is_compared_as_a_sum():
    found = compare(
        {"a": {"NumRelRet": queries(1, 2, 3)}, "b": {"NumRelRet": queries(2, 2, 5)}}
    ).comparisons[0]
    assert (found.mean_a, found.mean_b, found.delta) == (6.0, 9.0, 3.0)
    assert found.low is not None
    # the mean difference lies in 0 to 2, so that of the sum in 0 to 6
    assert 0.0 <= found.low < 3.0 < found.high <= 6.0


def test_differences_of_0_and_1_are_no_share():
    found = two(queries(0, 0, 0, 0, 0, 1), queries(1, 0, 0, 0, 0, 1))
    assert found.interval_method == "bca"
    assert found.low == 0.0  # Wilson's interval of 1 in 6 would begin at 0.03


# families


def three() -> dict[str, dict[str, Values]]:
    rng = np.random.default_rng(6)
    return {
        name: {m: queries(*np.round(rng.uniform(0, 1, 40) + up, 2)) for m in ("nDCG@10", "RR")}
        for name, up in (("bm25", 0.0), ("dense", 0.05), ("fused", 0.4))
    }


def pairs(found: Family) -> list[tuple[str, str, str]]:
    return [(c.measure, c.a, c.b) for c in found.comparisons]


def test_every_pair_on_every_measure():
    found = compare(three())
    assert pairs(found) == [
        (measure, a, b)
        for measure in ("nDCG@10", "RR")
        for a, b in (("bm25", "dense"), ("bm25", "fused"), ("dense", "fused"))
    ]
    assert found.sentence.startswith(
        "The p-values are corrected for 6 comparisons (3 pairs of systems, 2 measures: nDCG@10, RR)"
        " by Holm's method, so that the chance of calling any difference real by mistake is at most"
        " 5%."
    )
    for measure in ("nDCG@10", "RR"):
        sizes = [c.detectable for c in found.comparisons if c.measure == measure]
        assert found.detectable[measure] == max(sizes)


def test_all_others_with_a_reference():
    found = compare(three(), reference="dense")
    assert pairs(found)[:2] == [("nDCG@10", "dense", "bm25"), ("nDCG@10", "dense", "fused")]
    assert "4 comparisons (2 pairs of systems, 2 measures" in found.sentence


def test_holm_is_over_the_whole_family():
    found = compare(three(), settings=Settings(test="t"))
    ranked = sorted(found.comparisons, key=lambda c: c.p)
    highest = 0.0
    for i, c in enumerate(ranked):  # 6 p_1, then the greater of that and 5 p_2, and so on
        highest = max(highest, min(1.0, (6 - i) * c.p))
        assert c.p_adjusted == pytest.approx(highest)
    plain = compare(three(), settings=Settings(test="t", correction="none"))
    assert all(c.p_adjusted == c.p for c in plain.comparisons)
    assert "are not corrected, though 6 comparisons" in plain.sentence
    mild = compare(three(), settings=Settings(correction="bh"))
    assert "the share of mistakes among the differences called real is at most 5%" in mild.sentence


def test_what_could_not_be_tested_does_not_count():
    scores = {
        "a": {"RR": queries(0.1, 0.2, 0.3), "P@5": {"q1": 0.2}},
        "b": {"RR": queries(0.2, 0.4, 0.1), "P@5": {"q1": 0.4}},
    }
    found = compare(scores)
    assert found.sentence == (
        "One comparison was tested, so nothing had to be corrected. 1 more comparison could not be "
        "tested."
    )
    assert [c.p_adjusted for c in found.comparisons] == [found.comparisons[0].p, None]


def test_the_order_of_queries_and_the_number_of_threads_change_nothing(monkeypatch):
    settings = Settings(resamples=500, permutations=20_000, seed=8)
    scores = three()
    clusters = {f"q{i}": f"user{i % 31}" for i in range(1, 41)}
    found = compare(scores, settings=settings, clusters=clusters)
    turned = {
        system: {m: dict(reversed(values.items())) for m, values in of.items()}
        for system, of in scores.items()
    }
    assert compare(turned, settings=settings, clusters=clusters) == found
    monkeypatch.setattr(randomization, "THREADS", 1)
    monkeypatch.setattr(resampling, "THREADS", 1)
    assert compare(scores, settings=settings, clusters=clusters) == found
    other = compare(scores, settings=Settings(resamples=500, seed=9), clusters=clusters)
    assert other != found


def test_the_order_of_systems_only_turns_the_signs():
    scores = three()
    found = compare(scores).comparisons[0]
    turned = compare({name: scores[name] for name in ("dense", "bm25")}).comparisons[0]
    assert (turned.delta, turned.p, turned.wins) == (-found.delta, found.p, found.losses)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-3)


def test_a_system_more_leaves_the_raw_p_values_alone():
    scores = three()
    pair = compare({name: scores[name] for name in ("bm25", "dense")}).comparisons[0]
    assert compare(scores).comparisons[0].p == pair.p


# what nothing, or little, can be said of


def says_nothing(found: Comparison) -> bool:
    return (found.low, found.high, found.p, found.p_adjusted) == (None,) * 4


def test_one_query():
    found = two(queries(0.5), queries(1.0))
    assert says_nothing(found)
    assert (found.delta, found.wins, found.detectable) == (0.5, 1, None)
    assert (found.note, found.words) == ("one query tells nothing of others", "cannot tell")
    family = compare({"old": {"RR": queries(0.5)}, "new": {"RR": queries(1.0)}})
    assert family.sentence == "No comparison could be tested, so nothing was corrected."


def test_differences_without_spread():
    # doubles make 0.1 + 0.2 and 0.3 differ in the last digit; that is no spread
    found = two(queries(0.1, 0.2, 0.3, 0.7), queries(0.3, 0.4, 0.5, 0.9))
    assert (found.low, found.effect, found.detectable) == (None, None, None)
    assert found.p == 2 / 16
    assert found.p_by_test["t"] is None
    assert found.note == "all 4 queries differ by the same, so nothing is known of the spread"


def test_all_ties():
    found = two(queries(0.5, 0.25, 0.0), queries(0.5, 0.25, 0.0))
    assert (found.delta, found.ties, found.p, found.low) == (0.0, 3, 1.0, None)
    assert (found.note, found.words) == ("the values of all 3 queries are the same", "same")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number(value):
    with pytest.raises(InputError) as caught:
        two(queries(0.5, 0.4), queries(0.5, value))
    assert str(caught.value) == (
        f"RR of new is {value} for the query 'q2', which is no finite number; leave out queries "
        "without a value"
    )


def test_other_queries_on_either_side():
    old, new = {"x": 0.5, "y": 0.1, "z": 0.3}, {"y": 0.2, "z": 0.5, "w": 1.0}
    found = compare({"old": {"RR": old}, "new": {"RR": new}})
    assert found.comparisons[0].n_queries == 2
    assert found.comparisons[0].mean_a == pytest.approx(0.2)  # (0.1 + 0.3)/2, x is left out
    assert found.notes == (
        "new and old: compared over the 2 queries that both have a value for, 2 left out.",
    )
    one = compare({"old": {"RR": {"x": 0.5, "y": 0.1}}, "new": {"RR": {"y": 0.2}}})
    assert "over the one query that both have a value for, 1 left out" in one.notes[0]


def test_no_query_in_common():
    found = compare({"old": {"RR": {"x": 0.5}}, "new": {"RR": {"y": 0.5}}})
    only = found.comparisons[0]
    assert says_nothing(only)
    assert (only.n_queries, only.delta, only.mean_a) == (0, None, None)
    assert only.note == "no query has a value of both"
    assert found.notes == ("new and old: not compared, as no query has a value of both.",)


def test_a_measure_that_one_lacks_is_told():
    scores = three()
    scores["fused"] = {"RR": scores["fused"]["RR"]}
    found = compare(scores)
    assert [p for p in pairs(found) if "fused" in p] == [
        ("RR", "bm25", "fused"),
        ("RR", "dense", "fused"),
    ]
    assert found.notes == ("There is no value of nDCG@10 for fused.",)


def test_clusters_of_one_are_no_clusters():
    old, new = queries(0.5, 0.25, 1.0, 0.5, 0.5), queries(1.0, 0.5, 1.0, 0.25, 1.0)
    alone = {q: f"user of {q}" for q in old}
    assert two(old, new, clusters=alone) == two(old, new)
    assert two(old, new, clusters=alone).n_clusters is None


def test_one_cluster_of_all():
    old, new = queries(0.5, 0.25, 1.0), queries(1.0, 0.5, 1.0)
    family = compare(
        {"old": {"RR": old}, "new": {"RR": new}}, clusters=dict.fromkeys(old, "one user")
    )
    found = family.comparisons[0]
    assert says_nothing(found)
    assert (found.n_clusters, found.detectable) == (1, None)
    assert found.note == "all queries are of one cluster, which tells nothing of others"
    assert found.interval_note == found.note
    assert family.notes[0].startswith("The queries come in 1 cluster, which is taken as a whole:")


def test_clusters_are_what_is_counted():
    # differences 0.5 0.5 | 0.25 0.25 | -0.25: sums 1, 0.5, -0.25, of 8 signs +++ ++- and their
    # opposites are as far as 1.25: sums 1.75 and 1.25
    old, new = queries(0, 0, 0, 0, 0.5), queries(0.5, 0.5, 0.25, 0.25, 0.25)
    of = {"q1": "a", "q2": "a", "q3": "b", "q4": "b"}
    found = two(old, new, clusters=of)
    assert (found.n_clusters, found.p) == (3, 4 / 8)
    assert found.wins == 4
    assert found.interval_method == "cluster bca"
    assert found.interval_note == "only 3 clusters: the interval is a rough one"


@pytest.mark.parametrize(
    ("scores", "options", "said"),
    [
        ({}, {}, "a comparison needs two systems, and there is none"),
        ({"a": {"RR": queries(1.0)}}, {}, "needs two systems, and there is only 'a'"),
        (
            {"a": {"RR": queries(1.0)}, "b": {"P@5": queries(1.0)}},
            {},
            "the systems share no measure",
        ),
        (
            {"bm25": {"RR": queries(1.0)}, "dense": {"RR": queries(1.0)}},
            {"reference": "bm52"},
            "the reference 'bm52' is no system compared; did you mean 'bm25'",
        ),
        ({}, {"settings": Settings(test="T")}, "unknown test 'T'"),
        ({}, {"settings": Settings(correction="hom")}, "unknown correction 'hom'; did you mean"),
        ({}, {"settings": Settings(alpha=0.0)}, "alpha cannot be 0"),
        ({}, {"settings": Settings(alpha=0.8)}, "alpha cannot be 0.8"),
        ({}, {"settings": Settings(seed=-1)}, "the seed cannot be -1"),
    ],
)
def test_what_cannot_be_is_said(scores, options, said):
    with pytest.raises(InputError, match=said):
        compare(scores, **options)
