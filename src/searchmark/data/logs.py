"""Logs of results that users really saw: rows into showings, each one list at one time."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from searchmark.data.numerals import finite_number, whole_number
from searchmark.data.records import Records, read_records
from searchmark.data.times import seconds
from searchmark.errors import InputError, cut_line, quoted

_LEAVE_OUT = "leave such rows out with 'where'"

LAST_RANK = 2**31
"""No list is longer."""

_RANKS = f"ranks are whole numbers from 0 or 1 to {LAST_RANK:,}"


class LogColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Names of a log's columns; ``a.b`` is the field b of a structured column a.

    One of `query` (the text) and `query_id`. `doc_id` holds an id, or the whole list of them, best
    first. `rank` counts from 0 or 1. Rows with the same `showing_id` are one list; without it,
    those with the same query, `time` and `session`. `tokens` is the length of what was shown.
    """

    doc_id: str
    query: str | None = None
    query_id: str | None = None
    rank: str | None = None
    time: str | None = None
    showing_id: str | None = None
    session: str | None = None
    tokens: str | None = None


class Placed(NamedTuple):
    """A document at its position in a list, from 1, and what it costs to read."""

    doc_id: str
    position: int
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Showing:
    """One list that was shown for a query, when (in seconds), and in which row of the log.

    A list with positions left out is not `whole`: the log holds only a part of what was shown.
    """

    query: str
    results: tuple[Placed, ...]
    time: float | None
    row: int

    @property
    def is_whole(self) -> bool:
        """Whether positions run from 1 without a gap."""
        return all(r.position == i for i, r in enumerate(self.results, 1))


class _Key(NamedTuple):
    query: str
    showing: str | None
    time: float | None = None
    session: str | None = None


class _Rows(NamedTuple):
    """The rows of a log that count, and what reads one column of a row."""

    records: Records
    rows: list[int]
    columns: LogColumns

    def value(self, name: str, row: int) -> Any:
        column = getattr(self.columns, name)
        return None if column is None else _field(self.records, column, row)


def read_showings(
    path: Path, columns: LogColumns, where: Mapping[str, str] | None = None, *, fold: bool = False
) -> list[Showing]:
    """Read a table whose rows are results that were shown; only rows with the values of `where`.

    A result that is logged twice at the same place of one list counts once. Two results at the
    same place are an error, with the line of the second. With `fold` queries are brought together
    that differ by case, white space and forms of Unicode.
    """
    records = read_records(path)
    log = _Rows(records, _chosen(records, where or {}), columns)
    _check_columns(log)
    offset = _first_position(log)
    found: dict[_Key, dict[int, Placed]] = {}
    last: dict[_Key, tuple[float | None, int]] = {}
    for row in log.rows:
        time = _number(log, row, "time", seconds)
        key = _key(log, row, time, fold)
        places = found.setdefault(key, {})
        last[key] = max(last.get(key, (time, row)), (time, row), key=lambda at: at[0] or 0.0)
        for placed in _results(log, row, offset):
            known = places.setdefault(placed.position, placed)
            if known.doc_id != placed.doc_id:
                raise records.error(
                    row,
                    f"{quoted(placed.doc_id)} stands at rank {placed.position - 1 + offset} of a "
                    f"list for query {quoted(key.query)}, and so does {quoted(known.doc_id)}",
                    fix="name the column that tells lists apart: columns.showing_id, time, session",
                )
    return [
        Showing(key.query, tuple(places[p] for p in sorted(places)), *last[key])
        for key, places in found.items()
    ]


def folded(text: str) -> str:
    """Return a query text without case, forms of Unicode and repeated white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _chosen(records: Records, where: Mapping[str, str]) -> list[int]:
    """Return the rows in which every field has the value asked for; ``*`` is any value."""
    found = list(range(len(records)))
    for column, wanted in where.items():
        texts = {row: _text(_field(records, column, row)) for row in found}
        found = [r for r, t in texts.items() if t is not None and wanted in ("*", t)]
    return found


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _field(records: Records, column: str, row: int) -> Any:
    """Return a value, looked up along a path where no column has the whole name."""
    if column in records.columns:
        return records.columns[column][row]
    first, *rest = column.split(".")
    value = records.columns[first][row] if first in records.columns else None
    for name in rest:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _check_columns(log: _Rows) -> None:
    """Raise where no row that counts has a value in a column that is named."""
    if not log.rows:
        raise InputError("no row of the log counts", path=log.records.path, fix="check 'where'")
    for name in log.columns.__struct_fields__:
        column = getattr(log.columns, name)
        if column is not None and all(log.value(name, row) is None for row in log.rows):
            raise InputError(
                f"no row of the log has a value in '{column}' (columns.{name}; its columns are "
                f"{', '.join(log.records.columns)})",
                path=log.records.path,
                fix="name another column, or other rows with 'where'",
            )


def _first_position(log: _Rows) -> int:
    """Return whether ranks count from 0 or 1: the log's least one tells."""
    if log.columns.rank is None:
        return 1
    ranks = [log.value("rank", row) for row in log.rows]
    return 0 if any(r in (0, "0") and not isinstance(r, bool) for r in ranks) else 1


def _key(log: _Rows, row: int, time: float | None, fold: bool) -> _Key:
    """Return what the rows of one list have in common."""
    if log.columns.query is None:
        query = _id(log, row, log.value("query_id", row), "query id")
    else:
        query = log.value("query", row)
        if not isinstance(query, str):
            raise log.records.error(row, f"the query is {_shown(query)}, not text", fix=_LEAVE_OUT)
        query = folded(query) if fold else query
    if isinstance(log.value("doc_id", row), list):
        return _Key(query, f"row {row}")
    showing, session = (_text(log.value(name, row)) for name in ("showing_id", "session"))
    if showing is not None:  # its rows may be written one after the other
        return _Key(query, f"id {showing}")
    return _Key(query, None, time, session)


def _number(log: _Rows, row: int, name: str, read: Callable[[Any], float | None]) -> float | None:
    value = log.value(name, row)
    if value is None:
        return None
    found = read(value)
    if found is None:
        raise log.records.error(row, f"the {name} {_shown(value)} is none")
    return found


def _shown(value: Any) -> str:
    return cut_line(repr(value))


def _id(log: _Rows, row: int, value: Any, what: str) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    seen = "is missing" if value in (None, "") else f"is {_shown(value)}, not text"
    raise log.records.error(row, f"the {what} {seen}", fix=_LEAVE_OUT)


def _results(log: _Rows, row: int, offset: int) -> list[Placed]:
    """Return what a row shows: one result, or a whole list."""
    value = log.value("doc_id", row)
    if isinstance(value, list):
        return [Placed(_id(log, row, v, "document id"), i, None) for i, v in enumerate(value, 1)]
    given = log.value("rank", row)
    rank = _place(given)
    if rank is None or rank < offset:
        seen = "is missing" if given is None else f"{_shown(given)} is none"
        raise log.records.error(row, f"the rank {seen}", fix=_RANKS)
    tokens = _number(log, row, "tokens", _amount)
    return [Placed(_id(log, row, value, "document id"), rank - offset + 1, tokens)]


def _place(value: Any) -> int | None:
    """Return a rank; None for what is none, or further down than any list goes."""
    rank = whole_number(value) if isinstance(value, str) else value
    if isinstance(rank, bool) or not isinstance(rank, int | float) or rank != rank:
        return None
    return int(rank) if 0 <= rank <= LAST_RANK and rank == int(rank) else None


def _amount(value: Any) -> float | None:
    if isinstance(value, str):
        value = finite_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 <= number < float("inf") else None
