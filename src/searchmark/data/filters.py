"""Hard filters: what a field of a document must hold for the document to be right at all."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.numerals import finite_number
from searchmark.errors import InputError, nearest

Scalar = str | int | float | bool

_COMPARE: dict[str, Callable[[pl.Series, float], pl.Series]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = ("=", *_COMPARE)


@dataclass(frozen=True, slots=True)
class Filter:
    """``field op value``: equality, or a comparison of numbers."""

    field: str
    op: str
    value: Scalar

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise InputError(
                f"the filter on '{self.field}' has the unknown operator '{self.op}'",
                fix=f"known: {', '.join(OPERATORS)}",
            )
        if self.op != "=" and as_number(self.value) is None:
            raise InputError(
                f"the filter '{self.field} {self.op}' compares with {self.value!r}, no number",
                fix="give a number",
            )

    def __str__(self) -> str:
        return f"{self.field} {self.op} {self.value}"


def parse_filters(given: Mapping[str, object]) -> tuple[Filter, ...]:
    """Read ``{"network": "base", "amount": {"<=": 5}}``; a plain value asks for equality."""
    found: list[Filter] = []
    for field, wanted in given.items():
        pairs = wanted.items() if isinstance(wanted, Mapping) else [("=", wanted)]
        if not pairs:
            raise InputError(f"the filter on '{field}' is empty", fix='write {"<=": 5} or a value')
        for op, value in pairs:
            if not isinstance(value, str | int | float | bool):
                raise InputError(
                    f"the filter on '{field}' compares with {value!r}",
                    fix="give a text, a number, true or false",
                )
            found.append(Filter(field, str(op), value))
    return tuple(found)


def allowed(frame: pl.DataFrame, filters: Sequence[Filter]) -> NDArray[np.bool_]:
    """Return which rows pass every filter, one entry a row.

    Text is compared without case; in a list one element is enough; numbers and texts that are
    numbers are compared as numbers. A document without the field passes no filter on it.
    """
    passed = np.ones(frame.height, np.bool_)
    for wanted in filters:
        if wanted.field not in frame.columns:
            raise InputError(
                f"the filter '{wanted}' names no field of the corpus",
                fix=nearest(wanted.field, frame.columns),
            )
        passed &= _holds(frame[wanted.field], wanted)
    return passed


def as_number(value: Scalar) -> float | None:
    """Return a finite number, also from a text that is one; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return finite_number(value)
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def _holds(column: pl.Series, wanted: Filter) -> NDArray[np.bool_]:
    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    if isinstance(column.dtype, pl.List):
        lengths = column.list.len().fill_null(0).to_numpy()
        rows = np.repeat(np.arange(len(column)), lengths)
        passed = np.zeros(len(column), np.bool_)
        passed[rows[_holds(column.filter(pl.Series(lengths > 0)).explode(), wanted)]] = True
        return passed
    if column.dtype.is_nested() or (wanted.op != "=" and column.dtype.is_temporal()):
        raise InputError(
            f"the filter '{wanted}' cannot be applied to a field of type {column.dtype}",
            fix="keep what is filtered on in a field of texts or numbers",
        )
    found = _compared(column, wanted) if wanted.op != "=" else _equal(column, wanted.value)
    return found.fill_null(value=False).to_numpy()


def _compared(column: pl.Series, wanted: Filter) -> pl.Series:
    number = as_number(wanted.value)
    return _COMPARE[wanted.op](_numbers(column), 0.0 if number is None else number)


def _equal(column: pl.Series, value: Scalar) -> pl.Series:
    number = as_number(value)
    if column.dtype.is_numeric() and not isinstance(value, bool):
        if number is None:
            return pl.Series([False] * len(column), dtype=pl.Boolean)
        return column.cast(pl.Float64) == number
    same = column.cast(pl.String).str.to_lowercase() == str(value).lower()
    if number is None or isinstance(value, str):
        return same
    return same | (_numbers(column) == number)


def _numbers(column: pl.Series) -> pl.Series:
    """Read a column as finite numbers; what is none becomes missing.

    A NaN, or a text that says so, would pass as greater than any number.
    """
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    numbers = column.cast(pl.Float64, strict=False)
    finite = numbers.is_finite().fill_null(value=False)
    return pl.select(pl.when(finite).then(numbers)).to_series()
