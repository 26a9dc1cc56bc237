"""Hits to numbers: values a query, means over them, ceilings, and what each number rests on."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from searchmark.measures.coverage import results_within
from searchmark.measures.notation import parse_measure
from searchmark.measures.spec import Measure, Values
from searchmark.measures.summary import Mean, SystemScores
from searchmark.measures.view import View, ideal, view

if TYPE_CHECKING:
    from searchmark.data.hits import Hits

GEOMETRIC_FLOOR = 1e-5
"""What a value counts as at least in a geometric mean, as in trec_eval; a 0 would end all."""


def values(hits: "Hits", measure: Measure) -> Values:
    """Return one value a query, in the order of the judged queries; NaN where it is left out."""
    shown = view(hits, docs_flag(measure))
    return settle(measure.spec.compute(shown, measure), hits, measure)


def ceiling(hits: "Hits", measure: Measure, ideals: "Ideals | None" = None) -> Values | None:
    """Return the best value any ranking could reach for each query, or None where there is none."""
    if not measure.spec.has_ceiling:
        return None
    best = (ideals or Ideals(hits)).of(measure)
    return settle(measure.spec.compute(best, measure), best.hits, measure)


def summarize(
    system: str,
    hits: "Hits",
    measures: Sequence[Measure],
    categories: Sequence[str | None] = (),
) -> SystemScores:
    """Score one system: means, the same by category, and every query's value.

    `categories` has one entry a judged query, in their order, or none at all.
    """
    return summarize_columns(system, hits, columns_of(hits, measures), categories)


def summarize_columns(
    system: str,
    hits: "Hits",
    columns: "Sequence[Column]",
    categories: Sequence[str | None] = (),
) -> SystemScores:
    """Sum up what `columns_of` computed."""
    named = np.array([c or "" for c in categories], dtype=object)
    names = sorted({c for c in categories if c})
    everyone = np.ones(hits.judged.n_queries, np.bool_)
    return SystemScores(
        system=system,
        means=tuple(c.mean(everyone) for c in columns),
        by_category={n: tuple(c.mean(named == n) for c in columns) for n in names},
        per_query={c.measure.written: c.by_query() for c in columns},
        n_failed=int(hits.failed.sum()),
    )


def columns_of(hits: "Hits", measures: Sequence[Measure]) -> "list[Column]":
    """Compute measures of one system."""
    ideals = Ideals(hits)
    return [Column(hits, measure, ideals) for measure in measures]


class Ideals:
    """The best rankings there could be: each made once, for all measures that ask for it."""

    def __init__(self, hits: "Hits") -> None:
        self._hits = hits
        self._made: dict[tuple[str | None, int], View] = {}

    def of(self, measure: Measure) -> View:
        """Return the best ranking in the eyes of a measure."""
        rel = int(str(dict(measure.params).get("rel") or 1))
        key = (docs_flag(measure), rel)
        if key not in self._made:
            self._made[key] = ideal(view(self._hits, key[0]), rel)
        return self._made[key]


class Column:
    """One measure of one system: its values, its ceiling and the results it rests on."""

    def __init__(self, hits: "Hits", measure: Measure, ideals: Ideals) -> None:
        self.hits, self.measure = hits, measure
        raw = measure.spec.compute(view(hits, docs_flag(measure)), measure)
        self.values, self.is_empty = settle(raw, hits, measure), np.isnan(raw)
        self.best = ceiling(hits, measure, ideals)
        shown = view(hits)
        self.n_results = results_within(shown, measure.cutoff)
        self.n_judged = _n_judged(shown, measure.cutoff)

    def by_query(self) -> dict[str, float]:
        """Return query id -> value of the queries that have one."""
        ids = self.hits.judged.query_ids
        numbers = self.values.tolist()
        # a number that is not equal to itself is NaN
        return {q: x for q, x in zip(ids, numbers, strict=True) if x == x}

    def mean(self, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Mean:
        """Return the mean over the chosen queries."""
        kept = chosen & ~np.isnan(self.values)
        missing = chosen & ~self.hits.answered
        n_results = float(self.n_results[chosen].sum())
        return Mean(
            measure=self.measure.written,
            value=aggregate(self.values[chosen], self.measure),
            ceiling=None if self.best is None else aggregate(self.best[chosen], self.measure),
            n_queries=int(kept.sum()),
            n_missing=int(missing.sum()),
            n_skipped=int((chosen & np.isnan(self.values)).sum()),
            unjudged_share=(
                float(1 - self.n_judged[chosen].sum() / n_results) if n_results else None
            ),
            n_empty=int((kept & self.is_empty).sum()),
        )


def aggregate(per_query: Values, measure: Measure) -> float | None:
    """Return one number for many queries: the mean of those that have a value; None without any.

    Counts are summed instead, and GMAP and its like take the geometric mean.
    """
    kept = per_query[~np.isnan(per_query)]
    if not len(kept):
        return None
    if measure.spec.aggregate == "sum":
        return float(kept.sum())
    if measure.spec.aggregate == "geometric":
        return float(np.exp(np.log(np.maximum(kept, GEOMETRIC_FLOOR)).mean()))
    return float(kept.mean())


def _n_judged(shown: View, cutoff: int | None) -> Values:
    if shown.hits.judged.complete:
        return results_within(shown, cutoff)
    return shown.count(shown.query[shown.within(cutoff)])


def docs_flag(measure: Measure) -> str | None:
    """Return the corpus field that says which documents can be right, if any."""
    docs = dict(measure.params).get("docs")
    return None if docs is None else str(docs)


def settle(raw: Values, hits: "Hits", measure: Measure) -> Values:
    """Apply `empty` and `missing`. NaN goes in for undefined and comes out for left out."""
    params = dict(measure.params)
    settled = raw
    if "empty" in params:
        fill = {"one": 1.0, "zero": 0.0, "skip": np.nan}[str(params["empty"])]
        settled = np.where(np.isnan(raw), fill, raw)
    if params.get("missing", "keep") != "keep":
        fill = {"zero": 0.0, "skip": np.nan}[str(params["missing"])]
        settled = np.where(~hits.answered & ~np.isnan(settled), fill, settled)
    return settled


def score_dicts(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    measure: str,
    profile: str = "graded",
) -> dict[str, float]:
    """Score one run given as dicts by one measure: query id -> value."""
    # here, because they bring Polars, which numbers alone do not need
    from searchmark.data.judged import prepare
    from searchmark.data.ordering import find_hits
    from searchmark.data.qrels import Qrels
    from searchmark.data.run import Run

    hits = find_hits(Run.from_dict(run), prepare(Qrels.from_dict(qrels)))
    parsed = parse_measure(measure, profile)
    return dict(summarize("run", hits, [parsed]).per_query[parsed.written])
