from dataclasses import replace

import numpy as np
import pytest

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.errors import InputError
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import ceiling, summarize, values


@pytest.fixture
def hits(make_hits) -> Hits:
    judgments = {
        "good": {"a": 2, "b": 1},
        "bad": {"a": 3, "b": 2},
        "empty": {"a": 2},
        "hopeless": {"a": 1},
    }
    rankings = {"good": ["a", "b", "x"], "bad": ["x", "a", "y"], "hopeless": ["a"]}
    found = make_hits(judgments, rankings)
    # in the order of the queries: good, bad, hopeless
    return replace(found, tokens=np.array([900.0, 40, 60, 700, 50, 800, 10]))


def test_tokens_are_added_up_within_the_cutoff(hits):
    assert values(hits, parse_measure("Tokens@2"))[[0, 1, 3]].tolist() == [940, 750, 10]
    assert values(hits, parse_measure("Tokens"))[[0, 1, 3]].tolist() == [1000, 1550, 10]
    # the mean is over the queries that were answered
    mean = summarize("s", hits, [parse_measure("Tokens")]).means[0]
    assert (mean.value, mean.n_skipped) == ((1000 + 1550 + 10) / 3, 1)


def test_snr_is_quality_minus_waste(hits):
    found = values(hits, parse_measure("SNR@2"))
    # good: a (grade 2) is right and free, b is not: R 1, nDCG 1, 40 tokens wasted
    assert found[0] == pytest.approx(100 - 1.4 * 40 / 100, abs=1e-9)
    # bad: one of two right ones at rank 2, R 1/2; nDCG D2 / (1 + D2) = 0.386853;
    # 700 tokens wasted: 1.4 * 5 + 4.5 * 2
    assert found[1] == pytest.approx(100 * (0.35 + 0.3 * 0.386853) - (7 + 9), abs=1e-4)
    # nothing is right for the last one
    assert np.isnan(found[3])


def test_an_empty_list_counts_as_1500_wasted_tokens_so_minus_52(hits):
    # 1.4 * 500/100 + 4.5 * 1000/100 = 7 + 45
    assert values(hits, parse_measure("SNR@5"))[2] == pytest.approx(-52, abs=1e-12)


def test_recall_is_over_all_right_documents_even_where_more_than_k(hits):
    # one place, and it is wrong: R 0, nDCG 0, 700 wasted
    assert values(hits, parse_measure("SNR@1"))[1] == pytest.approx(-16, abs=1e-12)
    # the best one place allows is half the recall and a perfect nDCG
    assert ceiling(hits, parse_measure("SNR@1"))[1] == pytest.approx(65, abs=1e-12)


def test_every_constant_is_a_parameter(hits):
    measure = parse_measure("SNR(recall=0.5,ndcg=0.5,knee=100,slow=1,steep=2,void=100,rel=3)@3")
    found = values(hits, measure)
    # bad, rel=3: a alone is right, at rank 2: R 1, nDCG D2 = 0.630930; wasted 700 + 800 = 1500:
    # 1 * 1 + 2 * 14
    assert found[1] == pytest.approx(50 + 50 * 0.630930 - 29, abs=1e-4)
    measure = parse_measure("SNR(void=100)@3")
    assert values(hits, measure)[2] == pytest.approx(-1.4, abs=1e-12)


def test_only_leaf_documents_are_right(make_hits):
    hits = make_hits({"q": {"a": 2, "i": 2}}, {"q": ["i", "a"]}, flags={"leaf": {"a"}})
    value = values(hits, parse_measure("SNR(docs=leaf,tokens=100)@2"))[0]
    # the index page i wastes its 100 tokens: R 1, nDCG 0.630930
    assert value == pytest.approx(70 + 30 * 0.630930 - 1.4, abs=1e-4)


def test_the_run_s_own_tokens_are_taken_in_ranking_order():
    run = Run.from_dict({"q": {"a": 1.0, "x": 2.0}})
    run = replace(run, frame=run.frame.with_columns(tokens=np.array([30, 7])))
    hits = find_hits(run, prepare(Qrels.from_dict({"q": {"a": 2}})))
    # x stands first with its 7 tokens
    assert values(hits, parse_measure("Tokens@1"))[0] == 7
    assert values(hits, parse_measure("SNR@2"))[0] == pytest.approx(
        70 + 30 * 0.630930 - 1.4 * 0.07, abs=1e-4
    )


@pytest.mark.parametrize("measure", ["SNR@5", "Tokens"])
def test_without_tokens_the_error_tells_how_to_give_them(make_hits, measure):
    hits = make_hits({"q": {"a": 2}}, {"q": ["a"]})
    with pytest.raises(InputError, match=r"give the run a column 'tokens', or write \w+\(tokens=N"):
        values(hits, parse_measure(measure))


def test_a_result_without_tokens_is_an_error(hits):
    broken = replace(hits, tokens=np.array([900.0, np.nan, 60, 700, 50, 800, 10]))
    with pytest.raises(InputError, match="a result has no tokens"):
        values(broken, parse_measure("SNR@5"))
