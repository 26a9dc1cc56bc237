import pytest

from searchmark.errors import InputError


def test_a_reader_stops_at_a_good_answer(score):
    # p of grades 4, 2, 1 of 4: 15/16, 3/16, 1/16; ranks 1, 2, 4 (x unjudged at 3)
    # 15/16 + 1/2 * 3/16 * 1/16 + 1/4 * 1/16 * (1/16 * 13/16)
    expected = 15 / 16 + 3 / 16 / 16 / 2 + (1 / 16) * (1 / 16) * (13 / 16) / 4
    value = score("ERR", {"a": 4, "b": 2, "c": 1}, ["a", "b", "x", "c"])
    assert value == pytest.approx(expected, abs=1e-15)


def test_the_chance_to_go_on_starts_anew_with_each_query(make_hits):
    from searchmark.measures.notation import parse_measure
    from searchmark.measures.score import values

    hits = make_hits({"p": {"a": 4}, "q": {"a": 4}}, {"p": ["a"], "q": ["a"]})
    assert values(hits, parse_measure("ERR")).tolist() == [15 / 16, 15 / 16]


def test_the_top_of_the_scale_is_a_parameter(score):
    # (2**1 - 1) / 2**1
    assert score("ERR(max=1)", {"a": 1}, ["a"]) == 1 / 2


def test_the_cutoff_and_rel(score):
    assert score("ERR@1", {"a": 4}, ["x", "a"]) == 0.0
    # b (grade 1) satisfies nobody under rel=2, so a's share is whole: 1/2 * 15/16
    assert score("ERR(rel=2)", {"a": 4, "b": 1}, ["b", "a"]) == 15 / 32


def test_a_grade_above_the_scale_is_an_error_that_tells_the_parameter(score):
    with pytest.raises(InputError, match=r"grade 5, above max=4; write ERR\(max=5\)"):
        score("ERR", {"a": 5}, ["a"])


@pytest.mark.parametrize("top", [51, 1000, 5000])
def test_what_the_error_advises_can_be_asked_for(score, top):
    judged = {"a": top, "b": top - 1}
    with pytest.raises(InputError, match=rf"write ERR\(max={top}\)"):
        score("ERR", judged, ["a"])
    # p of the top grade is 1 but for 2**-max, of the next one 1/2: 1/2 + 1/2 * 1/2
    value = score(f"ERR(max={top})", judged, ["b", "a"])
    assert value == pytest.approx(3 / 4, abs=1e-12)
