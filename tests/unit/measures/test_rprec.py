import pytest


def test_r_precision_looks_at_as_many_results_as_there_are_relevant_documents(score):
    # three relevant, two among the first three
    judgments = {"a": 1, "b": 1, "c": 1}
    assert score("Rprec", judgments, ["a", "x", "b", "c"]) == pytest.approx(2 / 3, abs=1e-15)


def test_r_precision_divides_by_r_where_fewer_were_retrieved(score):
    assert score("Rprec", {"a": 1, "b": 1}, ["a"]) == 1 / 2


@pytest.mark.parametrize(
    ("mult", "expected"),
    [
        # R = 3: int(0.2 * 3 + 0.9) = 1 place, with a
        ("0.2", 1 / 1),
        # int(1.2 + 0.9) = 2 places, one right
        ("0.4", 1 / 2),
        # int(6 + 0.9) = 6 places, four results, three right
        ("2", 3 / 6),
        # int(0.03 + 0.9) = 0 places
        ("0.01", 0.0),
    ],
)
def test_multiples_of_r(score, mult, expected):
    judgments = {"a": 1, "b": 1, "c": 1}
    assert score(f"Rprec(mult={mult})", judgments, ["a", "x", "b", "c"]) == expected
    assert score(f"Rprec_mult_{mult}", judgments, ["a", "x", "b", "c"]) == expected


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("RelativeP@2", 1 / 2),  # one of two places
        ("RelativeP@3", 2 / 3),  # two of three
        ("RelativeP@10", 1.0),  # three of the three there are
        ("RelativeR@2", 1 / 2),
        ("relative_P_2", 1 / 2),
    ],
)
def test_relative_precision_is_a_share_of_what_fits(score, measure, expected):
    judgments = {"a": 1, "b": 1, "c": 1}
    value = score(measure, judgments, ["a", "x", "b", "c"])
    assert value == pytest.approx(expected, abs=1e-15)
