"""``searchmark.evaluate``: judgments and runs in, numbers out, with what they rest on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from searchmark.errors import InputError, nearest, quoted
from searchmark.measures.notation import parse_measure, parse_measures
from searchmark.measures.score import Column, columns_of, summarize_columns
from searchmark.measures.summary import Counts, Evaluation, SystemScores
from searchmark.stats.means import with_intervals

if TYPE_CHECKING:
    import polars as pl

    from searchmark.data.hits import Hits, Order, ScoreType
    from searchmark.data.judged import Judged
    from searchmark.measures.spec import Measure
    from searchmark.measures.ties import Band
    from searchmark.stats.comparison import Family, Settings

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@100", "AP")
PROFILE = "trec"
"""The profile of files that other tools evaluate too: trec_eval's numbers."""


@dataclass(frozen=True, eq=False)  # without slots: intervals and bands are made when asked for
class Result:
    """Measured runs: means, every query's value, conventions, counts and how far ties move them.

    Shows itself as a table, in a terminal and in a notebook.
    """

    scores: tuple[SystemScores, ...]
    measures: "tuple[Measure, ...]"
    profile: str
    hits: "Mapping[str, Hits]" = field(repr=False)
    columns: Mapping[str, Sequence[Column]] = field(repr=False)
    with_bands: bool = True

    @cached_property
    def evaluation(self) -> Evaluation:
        """Everything that reports show."""
        return Evaluation(
            systems=tuple(with_intervals(s, self.measures) for s in self.scores),
            conventions=self.conventions,
            profile=self.profile,
            n_queries=next(iter(self.hits.values())).judged.n_queries,
            categories={},
            digests={},
            counts=self.counts,
            bands=self.bands,
            notes=tuple(unanswered(self.hits)),
        )

    @cached_property
    def counts(self) -> Mapping[str, Counts]:
        """Run -> what its numbers rest on."""
        return {name: count(found) for name, found in self.hits.items()}

    @cached_property
    def bands(self) -> "Mapping[str, Mapping[str, Band]]":
        """Run -> measure -> how far ties move its mean; without the measures they do not move."""
        if not self.with_bands:
            return {}
        return {name: _bands(found, self.columns[name]) for name, found in self.hits.items()}

    @property
    def means(self) -> dict[str, dict[str, float | None]]:
        """Run -> measure -> mean."""
        return {s.system: {m.measure: m.value for m in s.means} for s in self.scores}

    @property
    def intervals(self) -> dict[str, dict[str, tuple[float | None, float | None]]]:
        """Run -> measure -> where the mean over all such queries may lie, 95 times of 100."""
        return {
            s.system: {m.measure: (m.low, m.high) for m in s.means} for s in self.evaluation.systems
        }

    @property
    def conventions(self) -> Mapping[str, str]:
        """Measure as written -> with every parameter in force."""
        return {m.written: m.full for m in self.measures}

    @property
    def per_query(self) -> "pl.DataFrame":
        """Every value: `system`, `query_id`, `measure`, `value`."""
        import polars as pl

        rows = [
            (s.system, query_id, measure, value)
            for s in self.scores
            for measure, found in s.per_query.items()
            for query_id, value in found.items()
        ]
        names = {"system": pl.String, "query_id": pl.String, "measure": pl.String}
        return pl.DataFrame(rows, schema={**names, "value": pl.Float64}, orient="row")

    def compare(
        self, reference: str | None = None, *, settings: "Settings | None" = None
    ) -> "Compared":
        """Compare all pairs of runs, or all others with the `reference`, on every measure."""
        return Compared(compare_all(self.evaluation, reference=reference, settings=settings))

    def __getitem__(self, measure: str) -> float | None:
        """Return the mean of a measure, where a single run was evaluated."""
        if len(self.scores) != 1:
            raise InputError("several runs were evaluated", fix="use .means[RUN][MEASURE]")
        known = self.scores[0].per_query
        if measure not in known and isinstance(measure, str):
            with suppress(InputError):  # another way to write one of them
                measure = parse_measure(measure, self.profile).written
        return self.scores[0].mean(measure).value

    def __repr__(self) -> str:
        """Return the table as plain text."""
        from searchmark.reports.render import evaluation_text

        return evaluation_text(self.evaluation, "terminal")

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        from searchmark.reports.evaluation import comparison_table, convention_lines
        from searchmark.reports.markup import html_table

        return html_table(comparison_table(self.evaluation), convention_lines(self.evaluation))


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Runs compared with each other; shows itself as a table and in words."""

    family: "Family"

    def __repr__(self) -> str:
        """Return the tables and sentences as plain text."""
        from searchmark.reports.render import comparison_text

        return comparison_text(self.family, "terminal")

    def _repr_html_(self) -> str:
        """Return the tables and sentences for a notebook."""
        from searchmark.reports.comparison import comparison_tables, sentences
        from searchmark.reports.markup import html_table

        tables = comparison_tables(self.family, drawn=False)
        return "".join(html_table(t) for t in tables[:-1]) + html_table(
            tables[-1], [*sentences(self.family), self.family.sentence]
        )


def compare_all(
    evaluation: Evaluation,
    *,
    reference: str | None = None,
    settings: "Settings | None" = None,
    clusters: Mapping[str, str] | None = None,
) -> "Family":
    """Compare the systems of an evaluation; see `searchmark.stats.comparison.compare`.

    Raises InputError where there are fewer than two, or none is called `reference`.
    """
    from searchmark.stats.comparison import DEFAULTS, Settings, compare

    names = [s.system for s in evaluation.systems]
    check_several(names)
    if reference is not None and reference not in names:
        raise InputError(f"no system is called '{reference}'", fix=nearest(str(reference), names))
    if not isinstance(settings or DEFAULTS, Settings):
        raise InputError(f"settings={settings!r} are none", fix="give searchmark's Settings")
    return compare(
        {s.system: s.per_query for s in evaluation.systems},
        reference=reference,
        settings=settings or DEFAULTS,
        clusters=clusters,
    )


def check_several(names: Sequence[str]) -> None:
    """Raise where there are fewer than two systems, so that none can be compared."""
    if len(names) < 2:
        raise InputError(
            f"there is nothing to compare with {names[0] if names else 'nothing'}",
            fix="give two systems or run files, or more",
        )


def evaluate(
    qrels: Any,
    run: Any,
    measures: Iterable[str] | str = DEFAULT_MEASURES,
    *,
    profile: str = PROFILE,
    order: "Order" = "score",
    scores: "ScoreType" = "float64",
) -> Result:
    """Evaluate one run, or several as a dict of name -> run.

    Parameters
    ----------
    qrels
        Judgments: a path, ``{query_id: {doc_id: grade}}``, a Polars, pandas or Arrow table with
        columns such as `query_id`, `doc_id`, `grade`, or an iterable of such tuples.
    run
        A ranking in the same forms, with a score in the place of the grade; or a dict of name ->
        ranking. A query of a dict without documents was answered with nothing.
    measures
        Notation of the measures, such as ``"nDCG@10"``, or of a single one.
    profile
        Where unstated conventions come from: trec (trec_eval's numbers), graded or answerable.
    order
        "score": by score, then document id; "rank": the given ranks are the truth.
    scores
        "float32" compares scores as pytrec_eval and ir_measures do.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        For anything that cannot be read, with the place and what to do.

    Examples
    --------
    >>> from searchmark import evaluate
    >>> result = evaluate({"q1": {"a": 1}}, {"q1": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> result["RR"], result["P@1"]
    (0.5, 0.0)
    """
    from searchmark.data.given import as_qrels, runs_by_name
    from searchmark.data.hits import Order, ScoreType
    from searchmark.data.judged import prepare

    parsed = parse_measures(measures, profile)
    _check_choice("order", order, get_args(Order))
    _check_choice("scores", scores, get_args(ScoreType))
    judged = prepare(as_qrels(qrels))
    found = {
        name: _hits(given, name, judged, order, scores) for name, given in runs_by_name(run).items()
    }
    return summarized(found, parsed, profile)


class Reading(NamedTuple):
    """How run files are read: what orders them, and what becomes of repeated documents."""

    order: "Order" = "score"
    scores: "ScoreType" = "float64"
    keep_first: bool = False


def hits_of_files(qrels: Path, runs: Sequence[Path], reading: Reading) -> "dict[str, Hits]":
    """Read judgments and run files, and reduce each run, named by its tag, to its hits.

    A run whose tag is taken has the name of its path, with a number where that is taken too.
    """
    from searchmark.data.reading import hits_in_file, judged_from_file

    judged = judged_from_file(qrels)
    found: dict[str, Hits] = {}
    for path in runs:
        name, hits = hits_in_file(
            path,
            judged,
            order=reading.order,
            scores=reading.scores,
            keep_first=reading.keep_first,
        )
        found[_free(name, path, found)] = hits
    return found


def _free(name: str, path: Path, taken: Mapping[str, object]) -> str:
    """Return the first name that no run has: its own, its path, its path with a number."""
    found, i = name, 0
    while found in taken:
        i += 1
        found = str(path) if i == 1 else f"{path} ({i})"
    return found


def evaluate_files(
    hits: "Mapping[str, Hits]",
    measures: Sequence[str],
    profile: str = PROFILE,
    *,
    complete: bool = False,
    ties: bool = True,
) -> Result:
    """Score hits by name; `complete` counts judged queries that a run does not answer as 0."""
    parsed = parse_measures(measures, profile)
    if complete:
        parsed = [_counting_missing(m) for m in parsed]
    return summarized(hits, parsed, profile, ties=ties)


def compared(
    hits: "Mapping[str, Hits]",
    measures: Sequence[str],
    *,
    systems: Sequence[str] = (),
    reference: str | None = None,
    settings: "Settings | None" = None,
) -> "Family":
    """Score hits by name and compare the runs (`systems` of them, all by default)."""
    for name in (*systems, *([reference] if reference else [])):
        if name not in hits:
            raise InputError(f"no run is called '{name}'", fix=nearest(name, hits))
    chosen = {n: h for n, h in hits.items() if not systems or n in (*systems, reference)}
    result = evaluate_files(chosen, measures, ties=False)
    family = compare_all(result.evaluation, reference=reference, settings=settings)
    return replace(family, notes=(*family.notes, *unanswered(chosen)))


def _check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Raise where an argument is none of the words that it may be."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}={value!r} is unknown", fix=nearest(str(value), known))


def _counting_missing(measure: "Measure") -> "Measure":
    params = tuple((n, "zero" if n == "missing" else v) for n, v in measure.params)
    return replace(measure, params=params)


def summarized(
    hits: "Mapping[str, Hits]", measures: "Sequence[Measure]", profile: str, *, ties: bool = True
) -> Result:
    """Score hits by name; `ties` asks for the bands of ties too."""
    columns = {name: columns_of(found, measures) for name, found in hits.items()}
    scores = (summarize_columns(name, found, columns[name]) for name, found in hits.items())
    return Result(tuple(scores), tuple(measures), profile, hits, columns, with_bands=ties)


def unanswered(hits: "Mapping[str, Hits]") -> Iterator[str]:
    """Tell of runs with none of the queries: their values, 0 by some conventions, say nothing."""
    for name, found in hits.items():
        if not found.answered.any():
            n, first = found.judged.n_queries, quoted(found.judged.query_ids[0])
            what = f"none of the {n} judged queries, such as {first}" if n > 1 else f"no {first}"
            yield f"{name} holds {what}: its values measure nothing; compare the ids of queries."


def count(hits: "Hits") -> Counts:
    """Count what a run's numbers rest on."""
    judged = hits.judged
    relevant = np.bincount(judged.query[judged.grade > 0], minlength=judged.n_queries)
    n_answered = int(hits.answered.sum())
    return Counts(
        n_queries=judged.n_queries,
        n_answered=n_answered,
        n_missing=judged.n_queries - n_answered,
        n_empty=int((relevant == 0).sum()),
        n_unjudged_queries=hits.n_unjudged_queries,
        n_retrieved=int(hits.n_retrieved.sum()),
        n_judged_retrieved=len(hits.row),
        n_duplicates=hits.n_duplicates,
        n_tied=int((hits.tie_last > hits.tie_first).sum()),
    )


def _bands(hits: "Hits", columns: "Sequence[Column]") -> "dict[str, Band]":
    """Return the bands of the measures that ties move."""
    if not (hits.tie_last > hits.tie_first).any():
        return {}
    from searchmark.measures.ties import band

    found = {c.measure.written: band(hits, c.measure, c.values) for c in columns}
    return {name: b for name, b in found.items() if b is not None and b.n_queries}


def _hits(given: Any, name: str, judged: "Judged", order: "Order", scores: "ScoreType") -> "Hits":
    from searchmark.data.given import as_run
    from searchmark.data.ordering import find_hits

    return find_hits(as_run(given, name), judged, order=order, scores=scores)
