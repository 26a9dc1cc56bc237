"""Sentences that a reader of the table needs: what the means hide."""

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from searchmark.data import Hits
from searchmark.experiments.inputs import Inputs
from searchmark.experiments.soundness import shown
from searchmark.measures.score import ceiling, values
from searchmark.measures.spec import Measure

NEGLIGIBLE = 5e-4
"""A ceiling this near to the best possible value is not worth a sentence."""


def find_notes(
    inputs: Inputs, hits: Mapping[str, Hits], invalid: Collection[str] = ()
) -> Iterator[str]:
    """Yield what the table of these systems hides, most general first.

    Of the `invalid` systems it is told what they did, and no number.
    """
    if not hits:
        return
    counted = {system: found for system, found in hits.items() if system not in invalid}
    yield from _unjudged(inputs)
    yield from _ceilings(inputs, next(iter(hits.values())))
    if counted:
        yield from _free_points(inputs, counted)
        yield from _no_answer(counted)
    yield from _same_everywhere(inputs, counted)
    yield from _shared_inversions(inputs, counted)
    yield from _oddities(hits)


def _unjudged(inputs: Inputs) -> Iterator[str]:
    """Tell of queries without judgments, and of judgments without a query."""
    left_out = len(inputs.queries) - inputs.judged.n_queries
    if left_out:
        yield (
            f"{left_out} of {len(inputs.queries)} queries have no judgment and are left out; if an "
            "unlisted document is a true 0, set complete = true."
        )
    if inputs.judged.n_unknown:
        yield f"{inputs.judged.n_unknown} judgments are of queries outside the query set."


def _ceilings(inputs: Inputs, any_hits: Hits) -> Iterator[str]:
    """Tell of measures that no ranking can bring to 1 on these queries."""
    n = inputs.judged.n_queries
    n_empty = int(_without_answer(any_hits).sum())
    for measure in inputs.measures:
        best = ceiling(any_hits, measure)
        if best is None or np.isnan(best).all():
            continue
        mean = float(np.nanmean(best))
        if measure.spec.high is not None and mean < measure.spec.high - NEGLIGIBLE:
            why = _why_below(measure, n_empty, n)
            yield f"{measure} cannot pass {mean:.6f} on this query set{why}."


def _why_below(measure: Measure, n_empty: int, n: int) -> str:
    """Return what keeps a measure below its best, where that is plain."""
    if n_empty and dict(measure.params).get("empty") == "zero":
        return f": {n_empty} of {n} queries have no answer"
    reasons = {
        "R": f": some queries have more than {measure.cutoff} relevant documents",
        "P": f": some queries have fewer than {measure.cutoff} relevant documents",
    }
    return reasons.get(measure.spec.name, "")


def _free_points(inputs: Inputs, hits: Mapping[str, Hits]) -> Iterator[str]:
    """Tell what the means are without the queries that count 1 whatever is returned."""
    empty = _without_answer(next(iter(hits.values())))
    n_empty = int(empty.sum())
    free = [m for m in inputs.measures if dict(m.params).get("empty") == "one"]
    if not n_empty or not free or empty.all():
        return
    names = " and ".join(str(m) for m in free)
    parts = []
    for system, found in hits.items():
        rest = values(found, free[0])[~empty]
        parts.append(f"{system} {float(np.nanmean(rest)):.4f}")
    yield (
        f"{names} {'counts' if len(free) == 1 else 'count'} 1 for "
        + (f"each of the {n_empty} queries" if n_empty > 1 else "the one query")
        + " without an answer, whatever is "
        f"returned; over the other {len(empty) - n_empty}, {free[0]} is {', '.join(parts)}."
    )


def _without_answer(found: Hits) -> NDArray[np.bool_]:
    """Tell which queries have nothing relevant."""
    judged = found.judged
    counts = np.bincount(judged.query[judged.grade > 0], minlength=judged.n_queries)
    nothing: NDArray[np.bool_] = counts == 0
    return nothing


def _no_answer(hits: Mapping[str, Hits]) -> Iterator[str]:
    """Tell which systems answer queries that have no answer: nDCG cannot see it."""
    empty = _without_answer(next(iter(hits.values())))
    n_empty = int(empty.sum())
    if not n_empty:
        return
    parts = []
    for system, found in hits.items():
        silent = int((empty & (found.n_retrieved == 0) & ~found.failed).sum())
        parts.append(f"{system} {silent / n_empty:.3f} ({silent} of {n_empty})")
    yield (
        "NoAnswer, the share of the queries without an answer for which nothing was returned: "
        + ", ".join(parts)
        + "."
    )


def _same_everywhere(inputs: Inputs, hits: Mapping[str, Hits]) -> Iterator[str]:
    """Tell of categories in which every system has the same value below its best."""
    if len(hits) < 2:
        return
    measure = inputs.measures[0]
    category = dict(zip(inputs.queries.query_ids, inputs.queries.categories, strict=True))
    by_system = [values(found, measure) for found in hits.values()]
    best = ceiling(next(iter(hits.values())), measure)
    names = np.array([category.get(q) or "" for q in inputs.judged.query_ids], dtype=object)
    known = by_system if best is None else [*by_system, best]
    with_value = ~np.isnan(known).any(axis=0)
    for name in sorted({n for n in names[with_value] if n}):
        means = {round(float(np.nanmean(v[names == name])), 9) for v in by_system}
        top = 1.0 if best is None else float(np.nanmean(best[names == name]))
        if len(means) == 1 and (mean := means.pop()) < top - 1e-9:
            yield f"Category {name}: {measure} is {mean:.3f} in every system."


def _shared_inversions(inputs: Inputs, hits: Mapping[str, Hits]) -> Iterator[str]:
    """Tell where every system puts the same lower-graded document above the best one."""
    if len(hits) < 2:
        return
    shared: dict[int, set[int]] | None = None
    for found in hits.values():
        here = _above_best(found)
        shared = here if shared is None else {q: here.get(q, set()) & r for q, r in shared.items()}
    wrong = {q: rows for q, rows in (shared or {}).items() if rows}
    if not wrong:
        return
    judged = inputs.judged
    code = min(wrong)
    row = min(wrong[code])
    start = int(judged.start[code])
    best = start + int(np.argmax(judged.grade[start : judged.start[code + 1]]))
    text = dict(zip(inputs.queries.query_ids, inputs.queries.texts, strict=True))
    query_id = judged.query_ids[code]
    yield (
        f"In {len(wrong)} of {judged.n_queries} queries every system puts the same lower-graded "
        f"document above the best one; for {shown(text.get(query_id, query_id))} "
        f"({shown(query_id)}) it is {shown(judged.doc_ids[row])} (grade {judged.grade[row]}) above "
        f"{shown(judged.doc_ids[best])} (grade {judged.grade[best]})."
    )


def _above_best(found: Hits) -> dict[int, set[int]]:
    """Return query -> judgments of documents that stand above the first one of the best grade."""
    judged = found.judged
    n = judged.n_queries
    best = np.full(n, np.iinfo(np.int64).min)
    np.maximum.at(best, judged.query, judged.grade)
    none = np.iinfo(np.int64).max
    first = np.full(n, none)
    is_best = found.grade == best[found.query]
    np.minimum.at(first, found.query[is_best], found.rank[is_best])
    above = (found.rank < first[found.query]) & (first[found.query] < none)
    result: dict[int, set[int]] = {}
    for query, row in zip(found.query[above].tolist(), found.row[above].tolist(), strict=True):
        result.setdefault(query, set()).add(row)
    return result


def _oddities(hits: Mapping[str, Hits]) -> Iterator[str]:
    """Tell of failed queries and of documents returned twice."""
    for system, found in hits.items():
        n_failed = int(found.failed.sum())
        if n_failed:
            n = found.judged.n_queries
            yield f"{system} failed on {n_failed} of {n} queries; they count as missing."
        if found.n_duplicates:
            yield f"{system} returned {found.n_duplicates} documents twice; the first place counts."
