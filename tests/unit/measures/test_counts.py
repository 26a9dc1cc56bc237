from searchmark.measures.notation import parse_measure
from searchmark.measures.score import summarize, values


def test_counts_are_summed_over_queries(make_hits):
    judgments = {"p": {"a": 1, "b": 2, "n": 0}, "q": {"a": 1}, "missing": {"a": 1}}
    hits = make_hits(judgments, {"p": ["a", "n", "x"], "q": ["a"]})
    names = ["NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet"]
    found = [m.value for m in summarize("s", hits, [parse_measure(n) for n in names]).means]
    assert found == [3, 4, 4, 2, 1]


def test_the_trec_profile_leaves_out_unanswered_queries(make_hits):
    hits = make_hits({"p": {"a": 1}, "missing": {"a": 1, "b": 1}}, {"p": ["a"]})
    names = ["num_q", "num_rel"]
    found = [m.value for m in summarize("s", hits, [parse_measure(n, "trec") for n in names]).means]
    assert found == [1, 1]


def test_with_complete_judgments_every_other_result_was_judged_not_relevant(make_hits):
    hits = make_hits({"q": {"a": 1}}, {"q": ["a", "x", "y"]}, complete=True)
    assert values(hits, parse_measure("NumNonrelJudgedRet"))[0] == 2
    assert values(hits, parse_measure("NumNonrelJudgedRet@2"))[0] == 1
    assert values(hits, parse_measure("Unjudged@3"))[0] == 0
