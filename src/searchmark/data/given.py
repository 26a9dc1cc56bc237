"""Judgments and rankings as people hold them: paths, dicts, frames of any library, tuples."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from searchmark.data.columns import Source, Wanted, typed
from searchmark.data.qrels import DOC_COLUMNS, GRADE_COLUMNS, QUERY_COLUMNS, Qrels, read_qrels
from searchmark.data.records import Records
from searchmark.data.run import SCORE_COLUMNS, Run, read_run
from searchmark.errors import InputError

_UNREADABLE = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)
"""What Polars raises for values it cannot put into a column."""

_JUDGMENTS = Source("judgments")


def as_qrels(given: Any) -> Qrels:
    """Return judgments from a path, query -> document -> grade, a table or (query, doc, grade)."""
    if isinstance(given, Qrels):
        return given
    if isinstance(given, str | Path):
        return read_qrels(Path(given))
    grade = Wanted("grade", "grade", "grade")
    frame = _frame(given, _JUDGMENTS, grade, GRADE_COLUMNS)
    if not frame.height:
        raise InputError("there are no judgments", fix="give one or more")
    # a dict has each document once; a count is far quicker than marking what is double
    pairs = frame.select("query_id", "doc_id")
    if not isinstance(given, Mapping) and pairs.n_unique() < pairs.height:
        twice = pairs.is_duplicated()
        row = frame.row(int(twice.arg_max() or 0))
        raise InputError(f"the document '{row[1]}' is judged twice for query '{row[0]}'")
    return Qrels(frame)


def as_run(given: Any, name: str) -> Run:
    """Return rankings from a path, query -> document -> score, a table or (query, doc, score).

    A table's `rank` and `tokens` are kept; without ranks only the order by score can be used. A
    query of a dict without documents was answered with nothing.
    """
    if isinstance(given, Run):
        return given
    if isinstance(given, str | Path):
        return read_run(Path(given))
    source = Source("run" if name == "run" else f"run '{name}'")
    frame = _frame(given, source, Wanted("score", "score", "number"), SCORE_COLUMNS)
    if frame["score"].is_nan().any():
        raise InputError(f"a score of the {source.what} is NaN, which cannot be ordered")
    is_dict = isinstance(given, Mapping)
    empty = tuple(q for q, found in given.items() if not found) if is_dict else ()
    return Run(frame, name, empty=empty)


def runs_by_name(run: Any) -> dict[str, Any]:
    """Return runs by name; a dict of query -> dict is one run, not several."""
    if not isinstance(run, Mapping):
        return {"run": run}
    if not run:
        raise InputError("there is no run to evaluate", fix="give at least one")
    if _is_one(run):
        return {"run": run}
    named: dict[str, Any] = {}
    for name, given in run.items():
        if not str(name).isprintable():  # half a character cannot even be shown
            raise InputError(f"the name of the run {name!a} cannot be printed", fix="rename it")
        if str(name) in named:
            raise InputError(f"two runs are called '{name}'", fix="rename one of them")
        named[str(name)] = given
    return named


def _is_one(run: Mapping[Any, Any]) -> bool:
    """Tell whether a dict is a run, query -> document -> score; {} is a query without documents."""
    dicts = [found for found in run.values() if isinstance(found, Mapping)]
    inner = [next(iter(found.values())) for found in dicts if found]
    if any(isinstance(value, Mapping) for value in inner):
        return False
    return bool(inner) or len(dicts) == len(run)


def _frame(
    given: Any, source: Source, value: Wanted, value_columns: tuple[str, ...]
) -> pl.DataFrame:
    """Return `query_id`, `doc_id` (text) and `value` columns."""
    ids = [Wanted("query_id", "query_id", "id"), Wanted("doc_id", "doc_id", "id")]
    if isinstance(given, Mapping):
        return typed(_from_dicts(given, source.what, value.name), [*ids, value], source)
    table = _table(given, source.what)
    if table is None:
        return typed(_from_tuples(given, source.what, value.name), [*ids, value], source)
    found = Records(Path(f"<{source.what}>"), {n: [] for n in table.columns}, [])
    wanted = [
        Wanted(found.require("query id", *QUERY_COLUMNS), "query_id", "id"),
        Wanted(found.require("document id", *DOC_COLUMNS), "doc_id", "id"),
        value._replace(column=found.require(value.name, *value_columns)),
    ]
    if value.name == "score":
        more = (Wanted("rank", "rank", "whole number"), Wanted("tokens", "tokens", "number"))
        wanted += [w for w in more if w.column in table.columns]
    return typed(table, wanted, source)


def _table(given: Any, what: str) -> pl.DataFrame | None:
    """Return a Polars frame of anything that is a table; None where it is none."""
    try:
        if isinstance(given, pl.DataFrame):
            return given
        if isinstance(given, pl.LazyFrame):
            return given.collect()
        if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series):
            return pl.DataFrame(given)
        if hasattr(given, "columns") and hasattr(given, "to_dict"):
            return pl.DataFrame(given.to_dict("list"), strict=False)
    # whatever library made the table, it raises errors of its own (a column twice, mixed types)
    except Exception as error:
        first = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"the {what}, of type {type(given).__name__}, is no table that can be read ({first})",
            fix="give columns of text and numbers, each name once",
        ) from error
    return None


def _from_dicts(given: Mapping[str, Any], what: str, value: str) -> pl.DataFrame:
    for query, found in given.items():
        if not isinstance(found, Mapping):
            raise InputError(f"the {what} of query '{query}' is no dict of document -> {value}")
    docs = list(chain.from_iterable(given.values()))
    numbers = list(chain.from_iterable(found.values() for found in given.values()))
    return _columns(list(given), docs, numbers, what, value, times=[*map(len, given.values())])


def _from_tuples(given: Iterable[Any], what: str, value: str) -> pl.DataFrame:
    try:
        rows = [(q, d, n) for q, d, n in given]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the {what} is of type {type(given).__name__}: no path, dict, table or tuples",
            fix=f"give (query id, document id, {value}) tuples",
        ) from error
    return _columns([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], what, value)


def _columns(
    queries: list[Any],
    docs: list[Any],
    numbers: list[Any],
    what: str,
    value: str,
    *,
    times: list[int] | None = None,
) -> pl.DataFrame:
    """Make the frame; with `times` each query id is given once, for so many rows."""
    try:
        query = pl.Series("query_id", queries, pl.String)
        if query.null_count():
            raise TypeError("None is no id")
        if times is not None:
            query = query.gather(np.repeat(np.arange(len(times)), times))
        return pl.DataFrame([query, pl.Series("doc_id", docs, pl.String), _numbers(value, numbers)])
    except _UNREADABLE as error:
        first = str(error).splitlines()[0][:200]
        raise InputError(
            f"the {what} has an id that is no text or a {value} that is no number ({first})"
        ) from error


def _numbers(name: str, numbers: list[Any]) -> pl.Series:
    """Return a column of the type that the numbers share; whole ones and others are floats."""
    try:
        return pl.Series(name, numbers, strict=True)
    except TypeError:
        return pl.Series(name, numbers, pl.Float64, strict=True)
