from math import sqrt

import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.score import summarize, values

# two relevant, three judged non-relevant
JUDGMENTS = {"a": 1, "b": 2, "l": 0, "m": 0, "n": 0}


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        # nothing above either
        (["a", "b", "l"], 1.0),
        # one of min(3, 2) = 2 above b: (1 + 1/2) / 2
        (["a", "l", "b"], 0.75),
        # one above a, two above b: (1/2 + 0) / 2
        (["l", "a", "m", "b"], 0.25),
        # three above count as R = 2 do: (0 + 0) / 2
        (["l", "m", "n", "a", "b"], 0.0),
        # unjudged documents do not count: (1 + 1) / 2
        (["x", "y", "a", "z", "b"], 1.0),
        # b is not retrieved: 1 / 2
        (["a"], 0.5),
    ],
)
def test_bpref(score, ranking, expected):
    assert score("Bpref", JUDGMENTS, ranking) == expected


def test_bpref_with_fewer_non_relevant_than_relevant_documents(score):
    # R = 3, N = 1: the one above b takes its whole preference: (1 + 0 + 0) / 3
    judgments = {"a": 1, "b": 1, "c": 1, "n": 0}
    assert score("Bpref", judgments, ["a", "n", "b", "c"]) == pytest.approx(1 / 3, abs=1e-15)


def test_bpref_with_rel_2_counts_grade_1_as_non_relevant(score):
    # R = 1 (b), N = 4; a stands above b: 1 - min(1, 1) / min(4, 1) = 0
    assert score("Bpref(rel=2)", JUDGMENTS, ["a", "b"]) == 0.0


def test_where_judgments_are_complete_every_other_result_is_non_relevant(make_hits):
    hits = make_hits({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "y", "b"]}, complete=True)
    # one above a, two above b, R = 2: (1/2 + 0) / 2
    assert values(hits, parse_measure("Bpref"))[0] == 0.25


def test_the_geometric_mean_keeps_a_zero_from_ending_all(make_hits):
    judgments = {"one": {"a": 1}, "none": {"a": 1, "n": 0}}
    hits = make_hits(judgments, {"one": ["a"], "none": ["n", "a"]})
    mean = summarize("s", hits, [parse_measure("GMBpref")]).means[0]
    # sqrt(1 * 0.00001)
    assert mean.value == pytest.approx(sqrt(0.00001), abs=1e-12)
    assert mean.ceiling == 1.0
