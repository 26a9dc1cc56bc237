"""Judgments and rankings as people hold them: paths, dicts, frames of any library, tuples."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from searchmark.data.qrels import DOC_COLUMNS, GRADE_COLUMNS, QUERY_COLUMNS, Qrels, read_qrels
from searchmark.data.records import Records
from searchmark.data.run import SCORE_COLUMNS, Run, read_run
from searchmark.errors import InputError


def as_qrels(given: Any) -> Qrels:
    """Return judgments from a path, query -> document -> grade, a table or (query, doc, grade)."""
    if isinstance(given, Qrels):
        return given
    if isinstance(given, str | Path):
        return read_qrels(Path(given))
    frame = _frame(given, "judgments", "grade", GRADE_COLUMNS)
    grade = frame["grade"]
    whole = grade.cast(pl.Int64, strict=False)
    if whole.null_count() or not (grade.cast(pl.Float64, strict=False) == whole).all():
        raise InputError("a grade is no integer", fix="grades are whole numbers")
    frame = frame.with_columns(whole.alias("grade"))
    # a dict has each document once; a count is far quicker than marking what is double
    pairs = frame.select("query_id", "doc_id")
    if not isinstance(given, Mapping) and pairs.n_unique() < pairs.height:
        twice = pairs.is_duplicated()
        row = frame.row(int(twice.arg_max() or 0))
        raise InputError(f"the document '{row[1]}' is judged twice for query '{row[0]}'")
    return Qrels(frame)


def as_run(given: Any, name: str) -> Run:
    """Return rankings from a path, query -> document -> score, a table or (query, doc, score).

    A table's `rank` and `tokens` are kept; without ranks only the order by score can be used.
    """
    if isinstance(given, Run):
        return given
    if isinstance(given, str | Path):
        return read_run(Path(given))
    frame = _frame(given, "run", "score", SCORE_COLUMNS)
    score = frame["score"].cast(pl.Float64, strict=False)
    if score.null_count():
        raise InputError(f"a score of '{name}' is no number")
    if score.is_nan().any():
        raise InputError(f"a score of '{name}' is NaN, which cannot be ordered")
    return Run(frame.with_columns(score.alias("score")), name)


def _frame(given: Any, what: str, value: str, value_columns: tuple[str, ...]) -> pl.DataFrame:
    """Return `query_id`, `doc_id` (text) and `value` columns."""
    if isinstance(given, Mapping):
        return _from_dicts(given, what, value)
    table = _table(given)
    if table is None:
        return _from_tuples(given, what, value)
    found = Records(Path(f"<{what}>"), {n: [] for n in table.columns}, [])
    query = found.require("query id", *QUERY_COLUMNS)
    doc = found.require("document id", *DOC_COLUMNS)
    number = found.require(value, *value_columns)
    frame = table.select(
        pl.col(query).cast(pl.String).alias("query_id"),
        pl.col(doc).cast(pl.String).alias("doc_id"),
        pl.col(number).alias(value),
        *(pl.col(n) for n in ("rank", "tokens") if value == "score" and n in table.columns),
    )
    for column in frame.get_columns():
        if column.null_count():
            raise InputError(f"the {what} has rows without a {column.name}")
    return frame


def _table(given: Any) -> pl.DataFrame | None:
    """Return a Polars frame of anything that is a table; None where it is none."""
    if isinstance(given, pl.DataFrame):
        return given
    if isinstance(given, pl.LazyFrame):
        return given.collect()
    if hasattr(given, "__arrow_c_stream__"):
        return pl.DataFrame(given)
    if hasattr(given, "columns") and hasattr(given, "to_dict"):
        return pl.DataFrame(given.to_dict("list"), strict=False)
    return None


def _from_dicts(given: Mapping[str, Any], what: str, value: str) -> pl.DataFrame:
    for query, found in given.items():
        if not isinstance(found, Mapping):
            raise InputError(f"the {what} of query '{query}' is no dict of document -> {value}")
    docs = list(chain.from_iterable(given.values()))
    numbers = list(chain.from_iterable(found.values() for found in given.values()))
    return _checked(list(given), docs, numbers, what, value, times=[*map(len, given.values())])


def _from_tuples(given: Iterable[Any], what: str, value: str) -> pl.DataFrame:
    try:
        rows = [(q, d, n) for q, d, n in given]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the {what} is of type {type(given).__name__}: no path, dict, table or tuples",
            fix=f"give (query id, document id, {value}) tuples",
        ) from error
    return _checked([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], what, value)


def _checked(
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
        if times is not None:
            query = query.gather(np.repeat(np.arange(len(times)), times))
        return pl.DataFrame(
            [
                query,
                pl.Series("doc_id", docs, pl.String),
                pl.Series(value, numbers, strict=True),
            ]
        )
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        first = str(error).splitlines()[0]
        raise InputError(
            f"the {what} has an id that is no text or a {value} that is no number ({first})"
        ) from error
