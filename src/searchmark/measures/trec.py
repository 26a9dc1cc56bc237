"""The report that trec_eval prints, line for line, so that a script can swap one for the other."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.measures.score import GEOMETRIC_FLOOR
from searchmark.measures.spec import Values
from searchmark.measures.trec_names import Column, parse_columns
from searchmark.measures.view import rank_within, view

if TYPE_CHECKING:
    from searchmark.data.hits import Hits


@dataclass(frozen=True, slots=True)
class TrecOptions:
    """trec_eval's switches: `measures` -m, `per_query` -q, `summary` off -n, `complete` -c.

    Also `level` -l, `depth` -M, `judged_only` -J and `n_documents` -N.
    """

    measures: tuple[str, ...] = ("official",)
    per_query: bool = False
    summary: bool = True
    complete: bool = False
    level: int = 1
    depth: int | None = None
    judged_only: bool = False
    n_documents: int = 0


class TrecColumn(NamedTuple):
    """One output column: a value a query of `queries`, and the number for all of them."""

    column: Column
    per_query: Values
    overall: float


def trec_report(hits: "Hits", options: TrecOptions, run_name: str = "run") -> list[str]:
    """Return the lines trec_eval prints: query by query where wanted, then the summary.

    Parameters
    ----------
    hits
        The run's hits, ordered by score compared as doubles, which is trec_eval 10's order.
    options
        The switches.
    run_name
        The run's tag.

    Returns
    -------
    Lines without line ends: name padded to 22 columns, tab, query id or ``all``, tab, value.

    Raises
    ------
    InputError
        For an unknown measure, a switch out of range, or where no judged query is answered.

    Notes
    -----
    Queries stand by id, as bytes. Without ``complete`` those that the run does not answer are left
    out; with it they count as 0 in everything but num_rel and num_q, as in release 10.
    """
    hits = switched(hits, options)
    columns = score_columns(hits, options)
    lines = _query_lines(hits, columns, queries(hits, options)) if options.per_query else []
    return lines + (_summary_lines(columns, run_name) if options.summary else [])


def _query_lines(hits: "Hits", columns: list[TrecColumn], chosen: list[int]) -> list[str]:
    texts = _relevance_strings(hits)
    printed = [c for c in columns if c.column.name.shown != "summary"]
    lines = []
    for i, query in enumerate(chosen):
        name = hits.judged.query_ids[query]
        for column, per_query, _ in printed:
            text = f"'{texts[query][: column.length]}'"
            if column.measure is not None:
                text = _number(column, per_query[i])
            lines.append(_line(column.label, name, text))
    return lines


def _summary_lines(columns: list[TrecColumn], run_name: str) -> list[str]:
    return [
        _line(column.label, "all", run_name if column.measure is None else _number(column, overall))
        for column, _, overall in columns
        if column.name.shown != "queries"
    ]


def queries(hits: "Hits", options: TrecOptions) -> list[int]:
    """Return the codes of the queries that are evaluated, in the order in which they stand."""
    codes = [c for c in range(hits.judged.n_queries) if options.complete or hits.answered[c]]
    if not hits.answered.any():
        raise InputError("no query is both judged and answered, so there is nothing to report")
    return sorted(codes, key=lambda c: hits.judged.query_ids[c].encode())


def score_columns(hits: "Hits", options: TrecOptions) -> list[TrecColumn]:
    """Compute every column of the report for hits that were `switched`."""
    chosen = queries(hits, options)
    columns = parse_columns(options.measures, options.level, options.n_documents)
    scored = [_scored(hits, column, chosen) for column in columns]
    if options.complete:
        # trec_eval counts anew here, and forgets -l: every grade above 0 is relevant
        n_relevant = float((hits.judged.grade > 0).sum())
        scored = [
            s._replace(overall=n_relevant) if s.column.label == "num_rel" else s for s in scored
        ]
    return scored


def _scored(hits: "Hits", column: Column, chosen: list[int]) -> TrecColumn:
    if column.measure is None:
        return TrecColumn(column, np.zeros(len(chosen)), 0.0)
    values = np.nan_to_num(column.measure.spec.compute(view(hits), column.measure))
    if not column.name.counts_missing:
        values = np.where(hits.answered, values, 0.0)
    values = values[chosen]
    return TrecColumn(column, values, _overall(values, column.measure.spec.aggregate))


def _overall(values: Values, aggregate: str) -> float:
    if aggregate == "geometric":
        logs = np.log(np.maximum(values, GEOMETRIC_FLOOR))
        return float(np.exp(_sum(logs) / len(values)))
    return _sum(values) if aggregate == "sum" else _sum(values) / len(values)


def _sum(values: Values) -> float:
    """Add one after the other, as C does; NumPy's own sum adds in pairs."""
    return float(np.add.accumulate(values)[-1])


def switched(hits: "Hits", options: TrecOptions) -> "Hits":
    """Apply ``-M`` (only the first results of each query) and ``-J`` (only judged results)."""
    if options.depth is not None:
        if options.depth < 1:
            raise InputError("-M takes a whole number above 0")
        hits = _cut(hits, options.depth)
    if options.level < 0:
        raise InputError("-l takes a grade of 0 or more")
    return _judged_only(hits) if options.judged_only else hits


def _cut(hits: "Hits", depth: int) -> "Hits":
    keep = hits.rank <= depth
    n_retrieved = np.minimum(hits.n_retrieved, depth)
    return _with(hits, keep, hits.rank[keep], n_retrieved)


def _judged_only(hits: "Hits") -> "Hits":
    keep = hits.grade >= 0
    query = hits.query[keep]
    n_retrieved = np.bincount(query, minlength=hits.judged.n_queries)
    return _with(hits, keep, rank_within(query), n_retrieved)


def _with(
    hits: "Hits", keep: NDArray[np.bool_], rank: NDArray[np.int64], n_retrieved: NDArray[np.int64]
) -> "Hits":
    """Return fewer hits; what is known of ties, tokens and filters no longer holds."""
    return replace(
        hits,
        row=hits.row[keep],
        rank=rank,
        tie_first=rank,
        tie_last=rank,
        n_retrieved=n_retrieved,
        tokens=None,
        violations=None,
        has_filters=None,
    )


def _relevance_strings(hits: "Hits") -> list[str]:
    """Return a character a result: its grade, > above 9, . in the pool but unjudged, - unjudged."""
    letters = [["-"] * n for n in hits.n_retrieved.tolist()]
    for query, rank, grade in zip(
        hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True
    ):
        letters[query][rank - 1] = "." if grade < 0 else str(grade) if grade <= 9 else ">"
    return ["".join(line) for line in letters]


def _number(column: Column, value: float) -> str:
    return str(int(value)) if column.name.is_count else f"{value:6.4f}"


def _line(label: str, query: str, text: str) -> str:
    return f"{label:<22}\t{query}\t{text}"
