from math import log2

import pytest

from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values
from searchmark.measures.ties import band

GRADES = {"a": 3, "b": 1, "c": 0}


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        (["a", "b", "c"], 1.0),
        # (2**1 - 1)/log2(2) + (2**3 - 1)/log2(3) = 1 + 4.416508 = 5.416508
        # against 7/log2(2) + 1/log2(3) = 7.630930
        (["b", "a", "c"], 5.416508 / 7.630930),
        # 7/log2(3) + 1/log2(4) = 4.416508 + 0.5
        (["c", "a", "b"], 4.916508 / 7.630930),
        (["c", "x"], 0.0),
        # the unjudged x stands between them: 7/1 + 1/log2(4)
        (["a", "x", "b"], 7.5 / 7.630930),
    ],
)
def test_exponential_gain(score, ranking, expected):
    assert score("nDCG", GRADES, ranking) == pytest.approx(expected, abs=1e-6)


def test_the_swapped_pair_is_the_published_0_710(score):
    assert round(score("nDCG@10", GRADES, ["b", "a", "c"]), 3) == 0.710


def test_linear_gain(score):
    # 1/1 + 3/log2(3) = 2.892789 against 3/1 + 1/log2(3) = 3.630930
    expected = (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    assert score("nDCG(dcg=log2)", GRADES, ["b", "a"]) == pytest.approx(expected, abs=1e-12)


def test_binary_gain_earns_1_whatever_the_grade(score):
    # only a is found, at rank 2: 1/log2(3) against 1 + 1/log2(3)
    expected = (1 / log2(3)) / (1 + 1 / log2(3))
    assert score("nDCG(gain=binary)", GRADES, ["x", "a"]) == pytest.approx(expected, abs=1e-12)


def test_a_grade_under_rel_earns_nothing(score):
    # with rel=2 only a (grade 3) earns: 7/log2(3) against 7
    assert score("nDCG(rel=2)", GRADES, ["b", "a"]) == pytest.approx(1 / log2(3), abs=1e-12)
    assert score("nDCG(rel=2,gain=binary)", GRADES, ["b", "a"]) == pytest.approx(
        1 / log2(3), abs=1e-12
    )


def test_the_ideal_is_cut_as_the_ranking_is(score):
    # @1: 1/1 against the best single document, 7/1
    assert score("nDCG@1", GRADES, ["b", "a"]) == pytest.approx(1 / 7, abs=1e-12)
    assert score("nDCG@1", GRADES, ["a"]) == 1.0


def test_the_ideal_takes_the_best_grades_whatever_their_order_in_the_qrels(score):
    judgments = {"low": 1, "high": 2}
    # (1/1 + 3/log2(3)) / (3/1 + 1/log2(3))
    expected = (1 + 3 / log2(3)) / (3 + 1 / log2(3))
    assert score("nDCG", judgments, ["low", "high"]) == pytest.approx(expected, abs=1e-12)


def test_only_flagged_documents_can_be_right(score):
    # a is an index page: b is the only right document, at rank 2
    value = score("nDCG(docs=leaf)", GRADES, ["a", "b"], flags={"leaf": {"b"}})
    assert value == pytest.approx(1 / log2(3), abs=1e-12)


def test_negative_grades_earn_nothing(score):
    assert score("nDCG", {"a": 1, "b": -2}, ["b", "a"]) == pytest.approx(1 / log2(3), abs=1e-12)
    assert score("nDCG(dcg=log2)", {"a": 1, "b": -2}, ["a", "b"]) == 1.0


def test_huge_grades_do_not_overflow(score):
    assert score("nDCG", {"a": 2000, "b": 1}, ["a", "b"]) == 1.0
    # 1 / 2**2000 of the best there is
    assert score("nDCG", {"a": 2000, "b": 1}, ["b"]) == 0.0


@pytest.mark.parametrize("top", [50, 60, 100, 511, 512, 1023, 1024, 5000, 2**62])
def test_great_grades_are_told_apart(score, top):
    # two grades apart, over 2**top and but for the "- 1": b earns 1/4
    expected = (1 / 4 + 1 / log2(3)) / (1 + 1 / 4 / log2(3))
    value = score("nDCG", {"a": top, "b": top - 2}, ["b", "a"])
    assert value == pytest.approx(expected, abs=1e-12)


def test_grades_far_apart_and_scaled_ones_give_the_published_formula(score):
    # (2**60 - 1)/1 + (2**100 - 1)/log2(3) against (2**100 - 1)/1 + (2**60 - 1)/log2(3)
    assert score("nDCG@10", {"a": 100, "b": 60}, ["b", "a"]) == pytest.approx(0.63093, abs=1e-5)


def test_every_query_is_scaled_by_its_own_top_grade(make_hits):
    judged = {"p": {"a": 3, "b": 1}, "q": {"a": 5000, "b": 4999}}
    hits = make_hits(judged, {"p": ["b", "a"], "q": ["a"]})
    found = values(hits, parse_measure("nDCG")).tolist()
    assert found == pytest.approx([5.416508 / 7.630930, 1 / (1 + 1 / 2 / log2(3))], abs=1e-6)


def test_ties_between_great_grades_have_their_band():
    judged = prepare(Qrels.from_dict({"q": {"a": 5000, "b": 4999}}))
    hits = find_hits(Run.from_dict({"q": {"a": 1.0, "b": 1.0}}), judged)
    found = band(hits, parse_measure("nDCG"))
    worst = (1 / 2 + 1 / log2(3)) / (1 + 1 / 2 / log2(3))
    assert found is not None
    assert found.worst == pytest.approx(worst, abs=1e-12)
    assert found.expected == pytest.approx((worst + 1) / 2, abs=1e-12)
    assert found.best == 1.0


@pytest.mark.parametrize("top", [333, 1023, 1024, 5000])
def test_gains_that_cannot_be_added_up_are_refused(score, top):
    with pytest.raises(
        InputError, match=r"DCG: the gains of query 'q' add up to more than 1e\+100"
    ):
        score("DCG", {"a": top}, ["a"])
    assert score("DCG(dcg=log2)", {"a": top}, ["a"]) == top


def test_a_great_grade_beside_listed_gains_is_refused(score):
    with pytest.raises(InputError, match="grade 2000 has no gain that a double holds"):
        score("nDCG(gains=1:3)", {"a": 2000, "b": 1}, ["a", "b"])
    assert score("nDCG(gains=1:3;2000:5)", {"a": 2000, "b": 1}, ["a", "b"]) == 1.0


def test_nothing_relevant_is_one_in_the_graded_profile(score):
    assert score("nDCG@10", {"c": 0}, ["c"]) == 1.0
    assert score("nDCG@10", {"c": 0}, ["x"], "trec") == 0.0


def test_dcg_is_the_sum_itself(score):
    # 7/log2(2) + 1/log2(4)
    assert score("DCG", GRADES, ["a", "x", "b"]) == 7.5
    # linear: 3/1 + 1/log2(3), cut after two
    assert score("DCG(dcg=log2)@2", GRADES, ["a", "b", "c"]) == pytest.approx(3 + 1 / log2(3))
    assert score("DCG(gain=binary)", GRADES, ["x", "x2", "a"]) == 1 / 2


def test_gains_of_single_grades_replace_the_formula(score):
    # grade 3 earns 10, grade 1 its 2**1 - 1 = 1: 1/1 + 10/log2(3) against 10 + 1/log2(3)
    expected = (1 + 10 / log2(3)) / (10 + 1 / log2(3))
    assert score("nDCG(gains=3:10)", GRADES, ["b", "a"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        ("3", "is not a list of GRADE:GAIN; write gains=1:3.5;2:9"),
        ("3:x", "is not a list of GRADE:GAIN"),
        ("3:nan", "grade 3 cannot earn nan; give finite numbers up to 1e\\+100"),
        ("3:inf", "grade 3 cannot earn inf"),
        ("1:1e308;3:1e308", "grade 1 cannot earn 1e\\+308"),
        ("3:0.5", "a better grade must not earn less than a worse one"),
    ],
)
def test_gains_that_cannot_be(score, gains, says):
    with pytest.raises(InputError, match=says):
        score(f"nDCG(gains={gains})", GRADES, ["a"])
