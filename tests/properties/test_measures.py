"""What holds for every measure of the registry, or for all but those named here with the reason."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import ceiling, values
from searchmark.measures.spec import Measure, Spec
from searchmark.measures.table import MEASURES, PROFILES

NAMES = [name for name in MEASURES.names() if name != "FilterOK"]  # needs filters
SAMPLE_POINT = {"IPrec": "@0.4"}
SAMPLE_PARAMS = {"SNR": "(tokens=60,rel=1)", "Tokens": "(tokens=60)"}

DOCUMENTS = [f"d{i}" for i in range(12)]
Docs = dict[str, int]

# grades from negative to the top of the scale
judgments = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 4), min_size=3)
rankings = st.lists(st.sampled_from([*DOCUMENTS, "x", "y", "z"]), min_size=2, unique=True)


def _measure(name: str, profile: str = "graded") -> Measure:
    spec: Spec = MEASURES.load(name)
    cutoff = "" if spec.cutoff == "none" else "@4"
    return parse_measure(
        name + SAMPLE_PARAMS.get(name, "") + SAMPLE_POINT.get(name, cutoff), profile
    )


def _hits(docs: Docs, *orders: list[str]) -> Hits:
    """Return hits of one query for each ranking, all with the same judgments."""
    run = {f"q{i}": {d: float(-r) for r, d in enumerate(ids)} for i, ids in enumerate(orders)}
    judged = prepare(Qrels.from_dict({f"q{i}": docs for i in range(len(orders))}))
    return find_hits(Run.from_dict(run), judged)


def test_all_profiles_and_measures_are_tried():
    assert {_measure(name, p).spec.name for name in NAMES for p in PROFILES} == set(NAMES)


@settings(max_examples=60, deadline=None)
@given(judgments, rankings, st.sampled_from(sorted(PROFILES)))
def test_values_stay_within_the_range_and_under_the_ceiling(docs, ranking, profile):
    hits = _hits(docs, ranking)
    for name in NAMES:
        measure = _measure(name, profile)
        value, spec = values(hits, measure)[0], measure.spec
        if np.isnan(value):
            continue
        assert spec.low is None or value >= spec.low - 1e-12, name
        assert spec.high is None or value <= spec.high + 1e-12, name
        best = ceiling(hits, measure)
        assert best is None or value <= best[0] + 1e-12, name


@settings(max_examples=60, deadline=None)
@given(judgments, st.sampled_from(sorted(PROFILES)))
def test_the_best_ranking_reaches_the_ceiling(docs, profile):
    relevant = [d for d in docs if docs[d] > 0]
    best = sorted(relevant, key=docs.__getitem__, reverse=True)
    hits = _hits(docs, best or ["none"])
    for name in NAMES:
        measure = _measure(name, profile)
        top = ceiling(hits, measure)
        if top is not None and best:
            assert values(hits, measure)[0] == pytest.approx(top[0], abs=1e-12, nan_ok=True), name


def _improved(docs: Docs, ranking: list[str]) -> list[list[str]]:
    """Return the rankings in which one document and a worse one just above it changed places."""
    # unjudged and negative ones are as good as a judged 0 here
    grades = [max(docs.get(d, 0), 0) for d in ranking]
    up = [at for at in range(1, len(ranking)) if grades[at] > grades[at - 1]]
    return [[*ranking[: a - 1], ranking[a], ranking[a - 1], *ranking[a + 1 :]] for a in up]


@settings(max_examples=60, deadline=None)
@given(judgments, rankings)
def test_moving_a_better_document_up_never_lowers(docs, ranking):
    improved = _improved(docs, ranking)
    assume(improved)
    hits = _hits(docs, ranking, *improved)
    for name in NAMES:
        measure = _measure(name)
        if measure.spec.ties == "better-first":
            before, *after = values(hits, measure)
            assert min(after) >= before - 1e-12, name


SEE_THE_END = {
    **dict.fromkeys(("SetP", "SetAP", "SetF", "SetRelativeP"), "the set grows"),
    **dict.fromkeys(("Utility", "NumRet", "Tokens", "SNR"), "each result costs or counts"),
    **dict.fromkeys(("Judged", "Unjudged"), "their share is what is asked"),
    "RnDCG": "a tail of two and more is a point of its own, as in trec_eval",
    "NoAnswer": "it asks whether there are results at all",
}
"""Measures that unjudged results at the end may change, and why."""


@settings(max_examples=60, deadline=None)
@given(judgments, rankings, st.integers(1, 5))
def test_unjudged_results_at_the_end_change_nothing(docs, ranking, n):
    hits = _hits(docs, ranking, [*ranking, *(f"new{i}" for i in range(n))])
    for name in NAMES:
        before, after = values(hits, _measure(name))
        if name not in SEE_THE_END:
            assert before == after or (np.isnan(before) and np.isnan(after)), name


@settings(max_examples=40, deadline=None)
@given(judgments, rankings, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(docs, ranking, random):
    scores = {d: float(i // 2) for i, d in enumerate(ranking)}
    rows, grades = list(scores.items()), list(docs.items())
    one = find_hits(Run.from_dict({"q": scores}), prepare(Qrels.from_dict({"q": docs})))
    random.shuffle(rows)
    random.shuffle(grades)
    other = find_hits(
        Run.from_dict({"q": dict(rows)}), prepare(Qrels.from_dict({"q": dict(grades)}))
    )
    for name in NAMES:
        np.testing.assert_array_equal(
            values(one, _measure(name)), values(other, _measure(name)), name
        )


@settings(max_examples=40, deadline=None)
@given(judgments, rankings)
def test_other_names_in_the_same_order_change_nothing(docs, ranking):
    scores = {d: float(i // 2) for i, d in enumerate(ranking)}

    def renamed(d: str) -> str:
        return f"https://example.org/é/{d}"

    one = find_hits(Run.from_dict({"q": scores}), prepare(Qrels.from_dict({"q": docs})))
    other = find_hits(
        Run.from_dict({"other": {renamed(d): s for d, s in scores.items()}}),
        prepare(Qrels.from_dict({"other": {renamed(d): g for d, g in docs.items()}})),
    )
    for name in NAMES:
        np.testing.assert_array_equal(
            values(one, _measure(name)), values(other, _measure(name)), name
        )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(judgments, rankings), min_size=2, max_size=4))
def test_a_query_s_value_does_not_depend_on_the_other_queries(queries):
    docs = {f"q{i}": d for i, (d, _) in enumerate(queries)}
    run = {f"q{i}": {d: float(-r) for r, d in enumerate(ids)} for i, (_, ids) in enumerate(queries)}
    together = find_hits(Run.from_dict(run), prepare(Qrels.from_dict(docs)))
    alone = [_hits(d, ids) for d, ids in queries]
    for name in NAMES:
        measure = _measure(name)
        expected = [values(hits, measure)[0] for hits in alone]
        np.testing.assert_array_equal(values(together, measure), expected, name)
