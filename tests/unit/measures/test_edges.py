"""Where data run out: every measure against five cases, the values worked out by hand."""

from math import log2, nan

import pytest

from searchmark.measures.notation import parse_measure
from searchmark.measures.score import values
from searchmark.measures.table import MEASURES

D2 = 1 / log2(3)  # the discount of rank 2, 0.63093
HALF_FOUND = 1 / (1 + D2)  # nDCG of one of two documents of grade 1, found first: 0.61315

CASES = {
    "nothing relevant": ({"a": 0}, ["a"]),
    "nothing retrieved": ({"a": 1}, None),
    "nothing judged": ({"a": 1}, ["x"]),
    "fewer results": ({"a": 1, "b": 1}, ["a"]),
    "negative grade": ({"a": 1, "n": -1}, ["n", "a"]),
}

EXPECTED = {
    "AP@3": (0, 0, 0, 1 / 2, 1 / 2),
    "GMAP@3": (0, 0, 0, 1 / 2, 1 / 2),
    "nDCG@3": (1, 0, 0, HALF_FOUND, D2),
    "DCG@3": (0, 0, 0, 1, D2),
    "RR@3": (0, 0, 0, 1, 1 / 2),
    "R@3": (1, 0, 0, 1 / 2, 1),
    "P@3": (0, 0, 0, 1 / 3, 1 / 3),
    "Success@3": (0, 0, 0, 1, 1),
    "Rprec": (0, 0, 0, 1 / 2, 0),
    "RelativeP@3": (0, 0, 0, 1 / 2, 1),
    "IPrec@0.5": (0, 0, 0, 1, 1 / 2),
    # of two documents one must be found for the recalls up to 0.7, both for 0.8, 0.9 and 1
    "IPrec11": (0, 0, 0, 8 / 11, 1 / 2),
    # the negative grade is one non-relevant document above the only relevant one: 1 - 1/1
    "Bpref": (0, 0, 0, 1 / 2, 0),
    "GMBpref": (0, 0, 0, 1 / 2, 0),
    "Bpref(negative=unjudged)": (0, 0, 0, 1 / 2, 1),
    # 1/2 + 1/2 * 1/1 * e/(1 + 2e)
    "infAP": (0, 0, 0, 1 / 2, 0.5 + 0.5 * 0.00001 / 1.00002),
    # (2**1 - 1) / 2**4 = 1/16, at rank 2 half of it
    "ERR@3": (0, 0, 0, 1 / 16, 1 / 32),
    "RBP@3": (0, 0, 0, 0.2, 0.2 * 0.8),
    "RBPResidual@3": (0.8, 1, 1, 0.8, 1 - 0.2 * 1.8),
    "RBPResidual(negative=unjudged)@3": (0.8, 1, 1, 0.8, 1 - 0.2 * 0.8),
    "RBPResidual(end=if-unjudged)@3": (0, 0, 1, 0, 0),
    "SetP": (0, 0, 0, 1, 1 / 2),
    "SetR": (1, 0, 0, 1 / 2, 1),
    "SetAP": (0, 0, 0, 1 / 2, 1 / 2),
    "SetF": (0, 0, 0, 2 / 3, 2 / 3),
    "SetRelativeP": (0, 0, 0, 1, 1),
    "Utility": (-1, 0, -1, 1, 0),
    "NumQ": (1, 1, 1, 1, 1),
    "NumRet@3": (1, 0, 1, 1, 2),
    "NumRel": (0, 1, 1, 2, 1),
    "NumRelRet@3": (0, 0, 0, 1, 1),
    "NumNonrelJudgedRet@3": (1, 0, 0, 0, 1),
    "NumNonrelJudgedRet(negative=unjudged)@3": (1, 0, 0, 0, 0),
    "Judged@3": (1, nan, 0, 1, 1),
    "Unjudged@3": (0, 0, 1 / 3, 0, 0),
    "Unjudged(negative=unjudged)@3": (0, 0, 1 / 3, 0, 1 / 3),
    "NoAnswer": (0, nan, nan, nan, nan),
    "BinG": (0, 0, 0, 1 / 2, D2),
    # a at rank 2 has got 1 where the best ranking has 1 and the place counts 1: 1/log2(2 + 2 - 1)
    "G": (0, 0, 0, 1 / 2, D2),
    "nDCGRel": (0, 0, 0, (1 + HALF_FOUND) / 2, D2),
    # the only point is rank 1 (negative grade) or rank 2 (fewer results)
    "RnDCG": (0, 0, 0, HALF_FOUND, 0),
    "SNR(rel=1,tokens=100)@3": (
        nan,
        -52,
        -1.4,
        100 * (0.7 / 2 + 0.3 * HALF_FOUND),
        100 * (0.7 + 0.3 * D2) - 1.4,
    ),
    "Tokens(tokens=100)@3": (100, nan, 100, 100, 200),
}


@pytest.mark.parametrize("measure", EXPECTED)
def test_where_data_run_out(make_hits, measure):
    judgments = {case: docs for case, (docs, _) in CASES.items()}
    rankings = {case: found for case, (_, found) in CASES.items() if found is not None}
    found = values(make_hits(judgments, rankings), parse_measure(measure))
    assert found.tolist() == pytest.approx(list(EXPECTED[measure]), abs=1e-12, nan_ok=True)


def test_every_measure_is_worked_out():
    # FilterOK needs filters and has its own test
    covered = {parse_measure(m).spec.name for m in EXPECTED} | {"FilterOK"}
    assert covered == set(MEASURES.names())
