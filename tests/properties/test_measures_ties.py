"""Bands against every order that ties allow, one by one."""

from dataclasses import replace
from itertools import chain, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.measures.expectation import CLOSED_FORMS
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import aggregate, values
from searchmark.measures.ties import band
from searchmark.measures.view import view

MEASURES = [
    *("AP", "AP@3", "AP(rel=2)", "GMAP", "nDCG", "nDCG@3", "nDCG(dcg=log2,rel=2)@2", "DCG@3", "RR"),
    *("RR@2", "RR(rel=2)", "R@2", "R", "P@3", "P(rel=2)@2", "Success@1", "Success@3", "Rprec"),
    *("Rprec(mult=0.5)", "RelativeP@2", "IPrec@0.5", "IPrec11", "Bpref", "GMBpref", "ERR@3", "ERR"),
    *("RBP", "RBP(gain=graded)@2", "BinG", "RnDCG", "NumRelRet@2", "infAP", "G", "nDCGRel"),
    *("Judged@2", "Unjudged@2", "RBPResidual@2", "NumNonrelJudgedRet@2"),
    *("SetP", "SetR", "SetF", "SetAP", "SetRelativeP", "Utility", "NumRet@2", "NumQ", "NumRel"),
]

# ties of up to three documents, at most 36 orders; x, y and z are not judged
Ties = list[list[str]]
ties = st.lists(st.integers(1, 3), min_size=1, max_size=4).flatmap(
    lambda sizes: st.permutations(["a", "b", "c", "n", "x", "y", "z"]).map(
        lambda ids: [ids[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))]
    )
)
judgments = st.fixed_dictionaries(
    {"a": st.integers(1, 3), "b": st.integers(0, 3), "c": st.integers(0, 2), "n": st.just(0)}
)


def _tied(docs: dict[str, int], groups: Ties) -> Hits:
    run = {"q": {d: float(-i) for i, group in enumerate(groups) for d in group}}
    return find_hits(Run.from_dict(run), prepare(Qrels.from_dict({"q": docs})))


def _every_order(docs: dict[str, int], groups: Ties) -> Hits:
    """Return hits in which every order that the ties allow is a query of its own."""
    orders = [list(chain(*order)) for order in product(*map(permutations, groups))]
    run = {f"o{i}": {d: float(-r) for r, d in enumerate(ids)} for i, ids in enumerate(orders)}
    return find_hits(Run.from_dict(run), prepare(Qrels.from_dict(dict.fromkeys(run, docs))))


@settings(max_examples=25, deadline=None)
@given(judgments, ties)
def test_worst_expected_and_best_are_those_of_all_orders(docs, groups):
    tied, orders = _tied(docs, groups), _every_order(docs, groups)
    for name in MEASURES:
        measure = parse_measure(name)
        found = band(tied, measure, n_samples=20)
        every = np.array([aggregate(v, measure) for v in values(orders, measure)[:, None]])
        low, high = every.min(), every.max()
        if not measure.spec.higher_is_better:
            low, high = high, low
        if found.is_proven:
            assert (found.worst, found.best) == pytest.approx((low, high), abs=1e-12), name
        else:
            assert min(low, high) - 1e-12 <= min(found.worst, found.best), name
            assert max(found.worst, found.best) <= max(low, high) + 1e-12, name
        if found.is_exact:
            assert found.expected == pytest.approx(every.mean(), abs=1e-12), name
        assert found.n_queries == int(abs(found.best - found.worst) > 0), name


@settings(max_examples=25, deadline=None)
@given(judgments, ties)
def test_without_ties_the_band_is_the_number(docs, groups):
    hits = _tied(docs, [[d] for group in groups for d in group])
    for name in MEASURES:
        measure = parse_measure(name)
        plain = aggregate(values(hits, measure), measure)
        found = band(hits, measure)
        assert (found.worst, found.expected, found.best, found.n_queries) == (plain,) * 3 + (0,)


def test_untied_documents_beside_ties_keep_their_value_to_the_last_bit():
    # one query is tied, the other is not: its share of every closed form is what it was
    run = {"p": {f"d{i}": float(-i) for i in range(50)}, "q": {"a": 1.0, "x": 1.0}}
    docs = {f"d{i}": i % 3 for i in range(50)}
    hits = find_hits(Run.from_dict(run), prepare(Qrels.from_dict({"p": docs, "q": {"a": 1}})))
    for name in CLOSED_FORMS:
        measure = parse_measure(name if name not in {"P", "Success", "RelativeP"} else f"{name}@20")
        expected = CLOSED_FORMS[name](view(hits), measure)
        assert expected[0] == measure.spec.compute(view(hits), measure)[0], name


def _random_hits() -> Hits:
    rng = np.random.default_rng(1)
    run = {f"q{q}": {f"d{d}": float(rng.integers(3)) for d in range(30)} for q in range(40)}
    docs = {q: {f"d{d}": int(rng.integers(2)) for d in range(0, 30, 2)} for q in run}
    return find_hits(Run.from_dict(run), prepare(Qrels.from_dict(docs)))


def test_drawn_orders_come_near_the_closed_form(monkeypatch):
    hits, measure = _random_hits(), parse_measure("RR")
    exact = band(hits, measure)
    monkeypatch.delitem(CLOSED_FORMS, "RR")
    drawn = band(hits, measure, n_samples=400)
    assert (exact.is_exact, drawn.is_exact) == (True, False)
    assert drawn.expected == pytest.approx(exact.expected, abs=0.01)
    assert (drawn.worst, drawn.best) == (exact.worst, exact.best)


def test_the_seed_fixes_the_drawn_orders():
    hits, measure = _random_hits(), parse_measure("IPrec@0")
    assert band(hits, measure, seed=3) == band(hits, measure, seed=3)
    assert band(hits, measure, seed=3) != band(hits, measure, seed=4)


def test_large_ties_are_drawn_without_shuffling_them_whole():
    # one of 3,000 tied documents is relevant: BinG over orders is about the mean of 1/log2(2 + i)
    run = {"q": {f"d{i}": 1.0 for i in range(3000)}}
    hits = find_hits(Run.from_dict(run), prepare(Qrels.from_dict({"q": {"d7": 1}})))
    found = band(hits, parse_measure("BinG"), n_samples=2000)
    exact = float(np.mean(1 / np.log2(2 + np.arange(3000))))
    assert found.expected == pytest.approx(exact, rel=0.05)
    # and RR has a closed form: the mean of 1/rank
    assert band(hits, parse_measure("RR")).expected == pytest.approx(
        float(np.mean(1 / np.arange(1, 3001))), rel=1e-9
    )


def test_what_looks_at_unjudged_results_has_no_band():
    hits = _tied({"a": 2}, [["a", "x"]])
    assert band(hits, parse_measure("Tokens(tokens=1)")) is None
    assert band(hits, parse_measure("SNR(tokens=1)@2")) is None


def test_no_value_no_band():
    assert band(_tied({"a": 0}, [["a", "x"]]), parse_measure("RR", "answerable")) is None


def test_flagged_documents_decide_the_order():
    hits = _tied({"a": 3, "b": 1}, [["a", "b"]])
    flags = {"leaf": np.array([d == "b" for d in hits.judged.doc_ids])}
    hits = replace(hits, judged=replace(hits.judged, flags=flags))
    # only b counts: first at best, second at worst
    found = band(hits, parse_measure("RR(docs=leaf)"))
    assert (found.worst, found.expected, found.best) == (0.5, 0.75, 1.0)
