import pytest

from searchmark.errors import InputError
from searchmark.measures.table import MEASURES
from searchmark.measures.trec_names import NAMES, NICKNAMES, parse_columns


def _labels(*measures: str) -> list[str]:
    return [column.label for column in parse_columns(measures, level=1)]


def test_cutoffs_come_rising_whatever_the_order_given():
    assert _labels("ndcg_cut.10,5") == ["ndcg_cut_5", "ndcg_cut_10"]


def test_measures_come_in_trec_eval_s_order_whatever_the_order_given():
    assert _labels("P.5", "map", "num_q") == ["num_q", "map", "P_5"]


def test_a_family_without_cutoffs_takes_its_own():
    assert _labels("success") == ["success_1", "success_5", "success_10"]
    assert _labels("unj") == ["unj_5", "unj_10", "unj_20"]
    assert len(_labels("iprec_at_recall")) == 11


def test_points_are_printed_with_two_decimals():
    assert _labels("iprec_at_recall.0,.25,1") == [
        "iprec_at_recall_0.00",
        "iprec_at_recall_0.25",
        "iprec_at_recall_1.00",
    ]
    assert _labels("Rprec_mult.0.5,2") == ["Rprec_mult_0.50", "Rprec_mult_2.00"]


def test_the_first_parameters_of_a_name_count():
    assert _labels("P.5", "P.10") == ["P_5"]
    assert "P_3" in _labels("official", "P.3")
    assert "P_5" not in _labels("official", "P.3")


@pytest.mark.parametrize(
    ("text", "label", "params"),
    [
        ("set_F.0.5", "set_F_0.5", {"beta": 0.5}),
        ("rbp.p=0.8", "rbp_p=0.8", {"p": 0.8}),
        ("rbp_resid.p=.95", "rbp_resid_p=.95", {"p": 0.95}),
        ("utility.1,-2,0,0.5", "utility_1,-2,0,0.5", {"a": 1, "b": -2, "c": 0, "d": 0.5}),
        ("11pt_avg.0.2,0.5,0.8", "11pt_avg_0.2,0.5,0.8", {"recalls": "0.2;0.5;0.8"}),
        ("ndcg.1=3.5,2=9", "ndcg_1=3.5,2=9", {"gains": "1:3.5;2:9"}),
    ],
)
def test_parameters_are_read_and_show_in_the_name(text, label, params):
    [column] = parse_columns([text], level=1)
    assert column.label == label
    assert {n: column.measure[n] for n in params} == params


def test_the_relevance_string_has_a_length():
    assert [c.length for c in parse_columns(["relstring.20"], level=1)] == [20]
    assert [c.length for c in parse_columns(["relstring"], level=1)] == [10]


def test_the_level_reaches_the_binary_measures_and_only_them():
    columns = parse_columns(["all_trec"], level=3)
    levels = {
        c.name.name: c.measure["rel"]
        for c in columns
        if c.measure and "rel" in dict(c.measure.params)
    }
    graded = {name for name, level in levels.items() if level == 1}
    assert graded == {"G", "ndcg", "ndcg_rel", "ndcg_cut", "rbp"}
    assert {level for name, level in levels.items() if name not in graded} == {3}


def test_nicknames():
    assert NICKNAMES["official"][0] == "runid"
    assert NICKNAMES["official"][-1] == "P"
    assert set(NICKNAMES["set"]) < set(NICKNAMES["all_trec"]) == set(NAMES)


def test_every_measure_with_a_trec_eval_name_is_in_its_vocabulary():
    specs = [MEASURES.load(name) for name in MEASURES.names()]
    named = {name for s in specs for name in (s.trec, s.trec_cut) if name}
    assert named == set(NAMES) - {"runid", "relstring"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mapp", "trec_eval knows no measure 'mapp'; did you mean 'map'"),
        ("ndcg_cut.", "-m ndcg_cut. has nothing after the dot; write -m ndcg_cut"),
        ("ndcg_cut.0", "-m ndcg_cut.0: after the dot stand whole numbers above 0"),
        ("ndcg_cut.5,x", "whole numbers above 0, with commas between"),
        ("P.5,5", "-m P.5,5: a number stands there twice"),
        ("iprec_at_recall.-1", "numbers of 0 or more"),
        ("map.5", "-m map.5: these parameters cannot be read; it takes none"),
        ("utility.1,2", "write utility.1,-1,0,0"),
        ("rbp.0.8", "write rbp.p=0.8"),
        ("ndcg.10", "write gains as in ndcg.1=3.5,2=9"),
    ],
)
def test_what_cannot_be_read(text, says):
    with pytest.raises(InputError) as caught:
        parse_columns([text], level=1)
    assert says in str(caught.value)
