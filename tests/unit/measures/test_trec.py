import pytest

from searchmark.errors import InputError
from searchmark.measures.trec import TrecOptions, trec_report

JUDGMENTS = {"10": {"a": 2, "b": 0, "c": 1}, "9": {"a": 1}, "2": {"a": 1, "u": -1}}
RANKINGS = {"10": ["a", "x", "b", "c"], "2": ["u", "a"]}


@pytest.fixture
def hits(make_hits):
    return make_hits(JUDGMENTS, RANKINGS)


def _report(hits, **switches) -> list[str]:
    lines = trec_report(hits, TrecOptions(**switches), "tag")
    return [" ".join(line.split()) for line in lines]


def test_a_line_is_name_padded_to_22_tab_query_tab_value(hits):
    assert trec_report(hits, TrecOptions(measures=("P.5",))) == [
        # (2/5 + 1/5) / 2
        "P_5                   \tall\t0.3000"
    ]


def test_queries_stand_by_id_as_bytes_and_before_the_summary(hits):
    assert _report(hits, measures=("recip_rank", "num_ret"), per_query=True) == [
        "num_ret 10 4",
        "recip_rank 10 1.0000",
        "num_ret 2 2",
        "recip_rank 2 0.5000",
        "num_ret all 6",
        "recip_rank all 0.7500",
    ]


def test_without_summary_only_the_queries_are_printed(hits):
    found = _report(hits, measures=("recip_rank",), per_query=True, summary=False)
    assert found == ["recip_rank 10 1.0000", "recip_rank 2 0.5000"]
    assert _report(hits, summary=False) == []


def test_complete_counts_the_unanswered_query_as_zero(hits):
    found = _report(
        hits, measures=("recip_rank", "num_q", "num_rel"), complete=True, per_query=True
    )
    assert found == [
        "num_rel 10 2",
        "recip_rank 10 1.0000",
        "num_rel 2 1",
        "recip_rank 2 0.5000",
        "num_rel 9 1",
        "recip_rank 9 0.0000",
        "num_q all 3",
        "num_rel all 4",
        "recip_rank all 0.5000",
    ]


def test_complete_forgets_the_level_in_the_number_of_relevant_documents(hits):
    # of four relevant documents only a of query 10 has grade 2; trec_eval sums all four
    assert _report(hits, measures=("num_rel",), complete=True, level=2) == ["num_rel all 4"]
    assert _report(hits, measures=("num_rel",), level=2) == ["num_rel all 1"]


def test_depth_drops_what_stands_below_it(hits):
    found = _report(hits, measures=("num_ret", "num_rel_ret"), depth=1)
    assert found == ["num_ret all 2", "num_rel_ret all 1"]


def test_judged_only_closes_the_gaps(hits):
    # 10: a b c, c now at rank 3; 2: u is pooled but unjudged, so a at rank 1
    found = _report(hits, measures=("map", "num_ret"), judged_only=True, per_query=True)
    assert found[:4] == ["num_ret 10 3", "map 10 0.8333", "num_ret 2 1", "map 2 1.0000"]


def test_the_relevance_string_shows_grades_holes_and_undrawn_documents(make_hits):
    hits = make_hits({"q": {"a": 10, "b": 3, "u": -1}}, {"q": ["a", "x", "b", "u"]})
    assert _report(hits, measures=("relstring",), per_query=True) == ["relstring q '>-3.'"]
    assert _report(hits, measures=("relstring.2",), per_query=True) == ["relstring_2 q '>-'"]


def test_geometric_means_and_the_run_s_name_are_in_the_summary_only(make_hits):
    hits = make_hits({"p": {"a": 1}, "q": {"a": 1}}, {"p": ["a"], "q": ["x"]})
    # sqrt(1 * 0.00001) = 0.0032
    assert _report(hits, measures=("gm_map", "runid"), per_query=True) == [
        "runid all tag",
        "gm_map all 0.0032",
    ]


def test_utility_takes_the_size_of_the_collection(make_hits):
    hits = make_hits({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]})
    found = _report(hits, measures=("utility.0,0,0,1",), n_documents=10)
    # 10 less a, b and x
    assert found == ["utility_0,0,0,1 all 7.0000"]


@pytest.mark.parametrize(
    ("switches", "says"), [({"depth": 0}, "-M takes"), ({"level": -1}, "-l takes")]
)
def test_switches_out_of_range(hits, switches, says):
    with pytest.raises(InputError, match=says):
        _report(hits, **switches)


def test_nothing_to_report(make_hits):
    with pytest.raises(InputError, match="no query is both judged and answered"):
        _report(make_hits({"q": {"a": 1}}, {"other": ["a"]}), complete=True)
