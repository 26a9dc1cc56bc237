import pytest

# three relevant; four results, two of them relevant
JUDGMENTS = {"a": 1, "b": 2, "c": 1, "n": 0}
RANKING = ["x", "a", "n", "b"]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("SetP", 2 / 4),
        ("SetR", 2 / 3),
        ("SetAP", 2 * 2 / (4 * 3)),
        # min(4, 3) could have been right
        ("SetRelativeP", 2 / 3),
        # 2PR / (P + R) = 2 * 1/2 * 2/3 / (7/6)
        ("SetF", 4 / 7),
        # (0.5 + 1) * 1/2 * 2/3 / (0.5 * 1/2 + 2/3) = 0.5 / (11/12)
        ("SetF(beta=0.5)", 6 / 11),
        ("SetP(rel=2)", 1 / 4),
        ("SetR(rel=2)", 1.0),
        # 2 relevant, 2 others, 1 missed
        ("Utility", 2 - 2),
        ("Utility(a=3,b=-1,c=-2)", 3 * 2 - 2 - 2),
        # of 100 documents 95 are neither retrieved nor relevant
        ("Utility(a=0,b=0,d=1,n=100)", 95),
    ],
)
def test_set_measures(score, measure, expected):
    assert score(measure, JUDGMENTS, RANKING) == pytest.approx(expected, abs=1e-15)


def test_an_empty_set_is_worth_nothing(score):
    for measure in ("SetP", "SetR", "SetF", "SetAP", "SetRelativeP"):
        assert score(measure, JUDGMENTS, ["x"]) == 0.0
