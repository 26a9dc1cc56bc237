import pytest

from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure

# four relevant; three found, at ranks 2, 3 and 8: precisions 1/2, 2/3, 3/8
JUDGMENTS = {"a": 1, "b": 1, "c": 1, "d": 1}
RANKING = ["x", "a", "b", "t", "u", "v", "w", "c"]


@pytest.mark.parametrize(
    ("recall", "expected"),
    [
        ("0", 2 / 3),  # the best anywhere
        ("0.25", 2 / 3),  # one needed; two found is better still
        ("0.5", 2 / 3),
        ("0.6", 2 / 3),  # 2.4 documents are 2
        ("0.75", 3 / 8),
        ("1", 0.0),  # the fourth is never found
    ],
)
def test_interpolated_precision(score, recall, expected):
    value = score(f"IPrec@{recall}", JUDGMENTS, RANKING)
    assert value == pytest.approx(expected, abs=1e-15)


def test_points_may_be_rounded_up_as_earlier_releases_do(score):
    # 0.6 * 4 = 2.4: 2 to the nearest, int(2.4 + 0.9) = 3 otherwise
    assert score("IPrec(points=up)@0.6", JUDGMENTS, RANKING) == 3 / 8


def test_the_average_of_eleven_points(score):
    # needed of 4: 0, .4 -> 0, .8 -> 1, 1.2 -> 1, 1.6 -> 2, 2, 2.4 -> 2, 2.8 -> 3, 3.2 -> 3,
    # 3.6 -> 4, 4: seven times 2/3, twice 3/8, twice 0
    expected = (7 * 2 / 3 + 2 * 3 / 8) / 11
    assert score("IPrec11", JUDGMENTS, RANKING) == pytest.approx(expected, abs=1e-15)
    assert score("11pt_avg", JUDGMENTS, RANKING) == pytest.approx(expected, abs=1e-15)


def test_the_average_of_other_points(score):
    # 0.8 of 2 is 1, 2 of 4 is 2, 3.2 is 3
    expected = (2 / 3 + 2 / 3 + 3 / 8) / 3
    value = score("IPrec11(recalls=0.2;0.5;0.8)", JUDGMENTS, RANKING)
    assert value == pytest.approx(expected, abs=1e-15)


def test_recalls_that_cannot_be(score):
    with pytest.raises(InputError, match=r"is not a list of numbers from 0 to 1"):
        score("IPrec11(recalls=0.2;1.5)", JUDGMENTS, RANKING)


def test_the_point_stands_after_the_at_sign():
    measure = parse_measure("IPrec(rel=2)@0.10")
    assert (measure.written, measure.cutoff, measure["recall"]) == ("IPrec(rel=2)@0.1", None, 0.1)
    assert parse_measure("IPrec(recall=0.1,rel=2)") == measure
    assert parse_measure("iprec_at_recall_0.10", "trec")["recall"] == 0.1
    assert parse_measure(measure.written) == measure


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("IPrec", "'IPrec' needs a recall; write IPrec@0.1"),
        ("IPrec@1.5", "recall must be at most 1"),
        ("IPrec(recall=0.1)@0.2", "gives 'recall' twice"),
        ("IPrec@half", "recall must be a number, not 'half'"),
        ("IPrec@nan", "recall must be a number, not 'nan'"),
    ],
)
def test_points_that_cannot_be_read(text, says):
    with pytest.raises(InputError) as caught:
        parse_measure(text)
    assert says in str(caught.value)
