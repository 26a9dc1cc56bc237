from math import log2

import pytest

from searchmark.errors import InputError

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
        ("3:0.5", "a better grade must not earn less than a worse one"),
    ],
)
def test_gains_that_cannot_be(score, gains, says):
    with pytest.raises(InputError, match=says):
        score(f"nDCG(gains={gains})", GRADES, ["a"])
