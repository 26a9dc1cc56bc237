"""Columns of typed tables as ids, numbers and whole numbers, or one sentence on what they hold."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from searchmark.errors import InputError

Kind = Literal["id", "number", "whole number", "grade"]

_TYPES = {
    "id": pl.String(),
    "number": pl.Float64(),
    "whole number": pl.Int64(),
    "grade": pl.Int64(),
}
_SAID = {"id": "text", "number": "number", "whole number": "integer", "grade": "integer"}
_FIX = {
    "id": "make it text, as the ids are written",
    "number": "give numbers",
    "whole number": "give whole numbers",
    "grade": "grades are whole numbers; 0 or less means not relevant",
}


class Wanted(NamedTuple):
    """A column of a table, the name it gets, and what it must hold."""

    column: str
    name: str
    kind: Kind


class Source(NamedTuple):
    """What a table is called in errors, and its file where it has one."""

    what: str
    path: Path | None = None


def fits(dtype: pl.DataType, kind: Kind) -> bool:
    """Tell whether a column of this type may hold what is wanted.

    A float is no id: 7.0 and "7" would never meet. A date is no number; true is a grade only.
    """
    if kind == "id":
        is_text = isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Binary)
        return is_text or dtype.is_integer() or dtype == pl.Null
    if dtype == pl.Boolean:
        return kind == "grade"
    return dtype.is_numeric() or isinstance(dtype, pl.String | pl.Null)


def typed(table: pl.DataFrame, wanted: Sequence[Wanted], source: Source) -> pl.DataFrame:
    """Return the wanted columns; raises InputError for a type or a value that cannot be meant."""
    return pl.DataFrame([_column(table[w.column], w, source) for w in wanted])


def _column(column: pl.Series, wanted: Wanted, source: Source) -> pl.Series:
    if not fits(column.dtype, wanted.kind):
        what = f"the column '{wanted.column}' of the {source.what} holds {_type(column.dtype)}"
        raise InputError(
            f"{what}: no {_SAID[wanted.kind]}", path=source.path, fix=_FIX[wanted.kind]
        )
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InputError(
            f"row {row + 1} of the {source.what} has no {wanted.name}", path=source.path
        )
    found = column.cast(_TYPES[wanted.kind], strict=False)
    is_wrong = found.is_null()
    if found.dtype == pl.Int64 and column.dtype.is_float():
        is_wrong |= found.cast(pl.Float64) != column
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        raise InputError(
            f"the {wanted.name} {column[row]!r} in row {row + 1} of the {source.what} is no "
            f"{_SAID[wanted.kind]}",
            path=source.path,
            fix=_FIX[wanted.kind],
        )
    return found.alias(wanted.name)


def _type(dtype: pl.DataType) -> str:
    return str(dtype).split("(", maxsplit=1)[0].lower()
