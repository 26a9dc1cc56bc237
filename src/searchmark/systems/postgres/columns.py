"""Rows of a result as hits: which column is the id, the score, the count of tokens."""

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from searchmark.errors import InputError, SystemFailedError, nearest
from searchmark.systems.protocol import Hit

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

TEXTS = {25: "text", 1043: "varchar", 19: "name", 2950: "uuid"}
INTEGERS = {20: "bigint", 21: "smallint", 23: "integer", 26: "oid"}
NUMBERS = {**INTEGERS, 700: "real", 701: "double precision", 1700: "numeric"}
"""Types by their fixed numbers in every PostgreSQL."""

UNKNOWN_TYPE = 705
PADDED = 1042


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a row."""

    id: int
    score: int | None
    tokens: int | None


def find_columns(
    result: "PGresult", id: str | None, score: str | None, tokens: str | None
) -> Columns:
    """Return where the columns are; one that is missing or of a wrong type is an InputError.

    Where no name is given, the first column is the id, and a number in the second the score.
    """
    names = [(result.fname(i) or b"").decode("utf-8", "replace") for i in range(result.nfields)]
    if not names:
        raise InputError("returns no columns", fix="write one SELECT that returns ids")
    places = {key: _place(key, name, names) for key, name in (("score", score), ("tokens", tokens))}
    of_id = _place("id", id, names)
    found = Columns(0 if of_id is None else of_id, places["score"], places["tokens"])
    _check_id(result, found.id, names)
    for key, place in places.items():
        if place is not None and result.ftype(place) not in NUMBERS:
            raise InputError(f"returns a column '{names[place]}' ({key}) that is no number")
    if found.score is None and found.id == 0 and _is_number(result, 1) and found.tokens != 1:
        return Columns(0, 1, found.tokens)
    return found


def _place(key: str, name: str | None, names: list[str]) -> int | None:
    if name is None:
        return None
    if names.count(name) != 1:
        what = "two columns" if name in names else "no column"
        raise InputError(f"returns {what} called '{name}' ({key})", fix=nearest(name, names))
    return names.index(name)


def _check_id(result: "PGresult", place: int, names: list[str]) -> None:
    type_ = result.ftype(place)
    if type_ in TEXTS or type_ in INTEGERS or type_ == UNKNOWN_TYPE:
        return
    what = "is padded with blanks, character(n)" if type_ == PADDED else "is no text or integer"
    raise InputError(
        f"returns an id column '{names[place]}' that {what}",
        fix=f"write {names[place]}::text in the statement",
    )


def _is_number(result: "PGresult", place: int) -> bool:
    return place < result.nfields and result.ftype(place) in NUMBERS


def read_hit(result: "PGresult", columns: Columns, where: str) -> Hit:
    """Return the hit of a result that holds one row; `where` names the row in messages."""
    raw = result.get_value(0, columns.id)
    if not raw:
        what = "NULL" if raw is None else "empty"
        raise SystemFailedError(f"{where} has an id that is {what}")
    try:
        doc_id = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SystemFailedError(f"{where} has an id that is not UTF-8") from None
    score = _number(result, columns.score, where, "score")
    return Hit(doc_id, score, _number(result, columns.tokens, where, "tokens"))


def _number(result: "PGresult", place: int | None, where: str, key: str) -> float | None:
    raw = None if place is None else result.get_value(0, place)
    if raw is None:
        return None
    value = float(raw)
    if isnan(value):
        raise SystemFailedError(f"{where} has a {key} that is NaN")
    return value
