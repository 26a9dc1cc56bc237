"""Rows of named fields from JSONL, JSON, CSV, TSV and Parquet: one reader for every table.

Identifiers stay text as they are written. A column takes the narrowest type that all its values
share (booleans, integers, numbers, text, lists of text); anything else is kept as JSON text.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from searchmark.data.files import check_file, kind_of, read_bytes, text_lines
from searchmark.errors import InputError, nearest

T = TypeVar("T")

RECORD_KINDS = ("jsonl", "ndjson", "json", "csv", "tsv", "parquet", "pq")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Columns as plain lists, with the line each row came from (0 where a format has no lines)."""

    path: Path
    columns: Mapping[str, list[Any]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, *names: str) -> str | None:
        """Return the first of `names` that is a column, compared without case, '-' and '_'."""
        folded = {_fold(c): c for c in self.columns}
        return next((folded[_fold(n)] for n in names if _fold(n) in folded), None)

    def require(self, what: str, *names: str) -> str:
        """Return the column that holds `what`, or say which names would have been understood."""
        found = self.find(*names)
        if found is None:
            raise InputError(
                f"no column for the {what} (looked for {', '.join(names)}; "
                f"found {', '.join(self.columns) or 'none'})",
                path=self.path,
                line=self.lines[0] if self.lines and self.lines[0] else None,
                fix="rename the column",
            )
        return found

    def texts(self, column: str, what: str) -> list[str]:
        """Return a column as text; a missing or structured value is an error."""
        values = self.columns[column]
        return [self._text(value, row, what) for row, value in enumerate(values)]

    def _text(self, value: object, row: int, what: str) -> str:
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        seen = "is missing" if value is None or value == "" else f"is {value!r}, not text"
        raise self.error(row, f"the {what} {seen}", fix=f"give every row a {what}")

    def parsed(self, column: str, parse: Callable[[str, Path, int], T]) -> list[T]:
        """Return a column whose values `parse` reads from text, as it does in a TREC file."""
        return [self._parsed(value, row, parse) for row, value in enumerate(self.columns[column])]

    def _parsed(self, value: object, row: int, parse: Callable[[str, Path, int], T]) -> T:
        try:
            return parse("" if value is None else str(value), self.path, self.lines[row])
        except InputError as error:
            raise self.error(row, error.what, fix=error.fix) from None

    def error(self, row: int, what: str, *, fix: str | None = None) -> InputError:
        """Return the error of one row: with its line, or its number where a format has no lines."""
        line = self.lines[row]
        return InputError(
            what if line else f"{what} (row {row + 1})", path=self.path, line=line or None, fix=fix
        )

    def frame(self, *, leave_out: Iterable[str] = ()) -> pl.DataFrame:
        """Return the columns as a Polars frame."""
        skip = set(leave_out)
        return pl.DataFrame([_series(n, v) for n, v in self.columns.items() if n not in skip])


def read_records(path: Path) -> Records:
    """Read a table of named fields by the kind its name ends in."""
    check_file(path)
    kind = kind_of(path)
    if kind in {"jsonl", "ndjson"}:
        return _from_json_lines(path)
    if kind == "json":
        return _from_json(path)
    if kind in {"csv", "tsv"}:
        return _from_separated(path, "\t" if kind == "tsv" else ",")
    if kind in {"parquet", "pq"}:
        return _from_parquet(path)
    raise InputError(
        f"cannot tell the format from the name (ending '.{kind}')",
        path=path,
        fix=f"{nearest(kind, RECORD_KINDS)} (.gz and .zst may follow)",
    )


def _from_json_lines(path: Path) -> Records:
    rows, lines = [], []
    for number, text in text_lines(path):
        rows.append(_json_object(text, path, number))
        lines.append(number)
    return _from_rows(path, rows, lines)


def _json_object(text: str, path: Path, line: int) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"not valid JSON ({error})", path=path, line=line, fix="one JSON object a line"
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            f"a JSON {type(value).__name__}, not an object",
            path=path,
            line=line,
            fix='one JSON object a line, such as {"_id": "a", "text": "..."}',
        )
    return value


def _from_json(path: Path) -> Records:
    try:
        value = msgspec.json.decode(read_bytes(path))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not valid JSON ({error})", path=path, fix="mend the file") from error
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise InputError("not a JSON array of objects", path=path, fix="use .jsonl for one a line")
    return _from_rows(path, value, [0] * len(value))


def _from_rows(path: Path, rows: list[dict[str, Any]], lines: list[int]) -> Records:
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return Records(path, {n: [row.get(n) for row in rows] for n in names}, lines)


def _from_separated(path: Path, separator: str) -> Records:
    numbered = text_lines(path, blank=True)  # a quoted value may hold blank lines
    at = 0

    def texts() -> Iterable[str]:
        nonlocal at
        for number, text in numbered:
            at = number
            yield text + "\n"

    reader = csv.reader(texts(), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        header = next(reader, None)
        if header is None:
            return Records(path, {}, [])
        for row in filter(None, reader):
            if len(row) != len(header):
                raise InputError(
                    f"{len(row)} columns where the header has {len(header)}",
                    path=path,
                    line=at,
                    fix="quote values that hold the separator",
                )
            rows.append(row)
            lines.append(at)
    except csv.Error as error:
        raise InputError(f"not valid {path.suffix} ({error})", path=path, line=at) from error
    names = [name.strip() for name in header]
    if len(set(names)) != len(names):
        raise InputError("a column name occurs twice", path=path, line=1, fix="rename one of them")
    columns: dict[str, list[Any]] = {
        name: [row[i] or None for row in rows] for i, name in enumerate(names)
    }
    return Records(path, columns, lines)


def _from_parquet(path: Path) -> Records:
    frame = read_parquet(path)
    return Records(path, frame.to_dict(as_series=False), [0] * frame.height)


UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""A panic is how Polars meets some damaged files; it is no Exception of Python's."""


def read_parquet(path: Path) -> pl.DataFrame:
    """Read a Parquet file, or say in one sentence that it is none."""
    check_file(path)
    try:
        return pl.read_parquet(path)
    except UNREADABLE as error:
        first = (str(error).splitlines() or ["damaged"])[0]
        raise InputError(f"not a readable Parquet file ({first})", path=path) from error


def _series(name: str, values: list[Any]) -> pl.Series:
    present = [v for v in values if v is not None]
    kinds = {type(v) for v in present}
    if kinds <= {bool}:
        return pl.Series(name, values, pl.Boolean if kinds else pl.String)
    if kinds == {int} and all(-(2**63) <= v < 2**63 for v in present):
        return pl.Series(name, values, pl.Int64)
    if kinds <= {int, float}:
        return pl.Series(name, [None if v is None else float(v) for v in values], pl.Float64)
    if kinds == {str}:
        return pl.Series(name, values, pl.String)
    if kinds == {list} and all(isinstance(x, str) for v in present for x in v):
        return pl.Series(name, values, pl.List(pl.String))
    texts = [v if v is None or isinstance(v, str) else _as_json(v) for v in values]
    return pl.Series(name, texts, pl.String)


def _as_json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _fold(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
