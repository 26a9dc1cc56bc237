"""Random runs and judgments against pytrec_eval: every measure that both know, to 1e-12."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.measures.trec import TrecOptions, queries, score_columns, switched
from searchmark.measures.trec_names import Column
from searchmark.measures.view import view

# ids of several lengths, cases and bytes: their order decides ties
DOCUMENTS = ["d1", "d10", "d2", "D2", "a", "é", "z-9", "日", "x", "y", "_", "d3", "d4", "0", "00"]
QUERIES = ["1", "2", "10", "é", "q"]
# few scores, so that ties occur; two that are one 32-bit float; negative ones and both zeros
SCORES = [3.0, 2.0, 1.0, 1.0000000001, 1.0000000002, 0.5, 0.0, -0.0, -1.5, 1e-5]

grades = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 4), min_size=1).filter(
    # trec_eval reads memory it does not own where a query has negative grades only
    lambda docs: max(docs.values()) >= 0
)
scores = st.one_of(st.sampled_from(SCORES), st.floats(-100, 100))
ranking = st.dictionaries(st.sampled_from(DOCUMENTS), scores, min_size=1)
cases = st.tuples(
    st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1),
    st.dictionaries(st.sampled_from([*QUERIES, "not judged"]), ranking, min_size=1),
).filter(lambda case: case[0].keys() & case[1].keys())

Dicts = dict[str, dict[str, float]]
SHARED = ("all_trec",)
ONLY_OURS = {"rbp", "rbp_resid", "unj"}


@settings(max_examples=100, deadline=None)
@given(cases, st.integers(1, 4), st.booleans(), st.booleans(), st.none() | st.integers(1, 6))
def test_every_shared_measure(case, level, judged_only, complete, depth):
    judgments, run = case
    options = TrecOptions(
        measures=SHARED, level=level, judged_only=judged_only, complete=complete, depth=depth
    )
    _compare(judgments, run, options)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(QUERIES),
        st.dictionaries(st.integers(0, 40).map("d{}".format), st.integers(0, 2), min_size=12),
        min_size=1,
    ),
    st.permutations(range(41)),
)
def test_long_rankings_with_many_relevant_documents(judgments, order):
    run = {q: {f"d{d}": float(40 - i) for i, d in enumerate(order)} for q in judgments}
    # whole numbers are the same as 32-bit floats and as doubles, so both orders agree
    for precision in ("float32", "float64"):
        _compare(judgments, run, TrecOptions(measures=SHARED), precision)


def _compare(
    judgments: dict[str, dict[str, int]],
    run: Dicts,
    options: TrecOptions,
    precision: str = "float32",
) -> None:
    judged = prepare(Qrels.from_dict(judgments))
    hits = switched(find_hits(Run.from_dict(run), judged, scores=precision), options)
    theirs = pytrec_eval.RelevanceEvaluator(
        judgments,
        pytrec_eval.supported_measures,
        relevance_level=options.level,
        judged_docs_only_flag=options.judged_only,
    ).evaluate(_first(run, options.depth))
    chosen = [judged.query_ids[c] for c in queries(hits, options)]
    seen = set()
    for column, per_query, overall in score_columns(hits, options):
        if column.measure is None or column.name.name in ONLY_OURS:
            continue
        seen.add(column.name.name)
        if "points" in dict(column.measure.params):
            per_query = _with_points_rounded_up(hits, options, column)
            overall = float(np.mean(per_query))
        expected = [
            _value(theirs.get(q), column.label, options.level, judgments[q]) for q in chosen
        ]
        ours = _logs(per_query) if column.label.startswith("gm_") else per_query
        assert ours == pytest.approx(expected, rel=1e-12, abs=1e-12), column.label
        mean = pytrec_eval.compute_aggregated_measure(column.label, expected)
        if column.label == "num_rel" and options.complete:
            mean = sum(g > 0 for docs in judgments.values() for g in docs.values())
        assert overall == pytest.approx(mean, rel=1e-12, abs=1e-12), column.label
    assert seen == {m for m in pytrec_eval.supported_measures if m not in {"runid", "relstring"}}


def _value(found: dict[str, float] | None, label: str, level: int, docs: dict[str, int]) -> float:
    """Return pytrec_eval's value, or for a query without an answer what ``-c`` makes of it."""
    if found is not None:
        # 0/0 where -J leaves nothing; a 0 with us
        return float(np.nan_to_num(found[label]))
    if label == "num_q":
        return 1.0
    if label == "num_rel":
        return float(sum(g >= level for g in docs.values()))
    return log(1e-5) if label.startswith("gm_") else 0.0


def _logs(per_query: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(per_query, 1e-5))


def _first(run: Dicts, depth: int | None) -> Dicts:
    """Return the first results of each query, as ``-M`` does: 32-bit scores, then ids, falling."""
    if depth is None:
        return run

    def place(item: tuple[str, float]) -> tuple[float, bytes]:
        return float(np.float32(item[1])), item[0].encode()

    return {
        q: dict(sorted(docs.items(), key=place, reverse=True)[:depth]) for q, docs in run.items()
    }


def _with_points_rounded_up(hits, options: TrecOptions, column: Column) -> np.ndarray:
    """Return the values under the rounding of trec_eval 9, which pytrec_eval carries."""
    params = tuple((n, "up" if n == "points" else v) for n, v in column.measure.params)
    found = column.measure.spec.compute(view(hits), replace(column.measure, params=params))
    return np.nan_to_num(found)[queries(hits, options)]
