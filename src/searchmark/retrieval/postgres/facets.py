"""What hard filters compare, made ready when a document is stored, and filters as SQL."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from searchmark.data.filters import Filter, as_number
from searchmark.retrieval.layout import SETTLEMENTS, UPDATED

Condition = tuple[str, dict[str, Any]]
"""A piece of SQL with named parameters, and their values."""


def facets_of(fields: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Return the values of every field that filters compare.

    ``text`` without case, ``number`` as they are, ``read`` for numbers that a text or a truth value
    can be read as. These are the rules of `searchmark.data.filters.allowed`.
    """
    found = {}
    for name, value in fields.items():
        values = value if isinstance(value, list | tuple) else [value]
        if made := _facet(values):
            found[name] = made
    return found


def _facet(values: Sequence[Any]) -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {}
    for value in values:
        if isinstance(value, bool):
            made.setdefault("text", []).append(str(value).lower())
            made.setdefault("read", []).append(float(value))
        elif isinstance(value, str):
            made.setdefault("text", []).append(value.lower())
            if (number := as_number(value)) is not None:
                made.setdefault("read", []).append(number)
        elif isinstance(value, int | float) and (number := as_number(value)) is not None:
            made.setdefault("number", []).append(number)
    return made


def conditions(filters: Sequence[Filter]) -> Condition:
    """Return ``AND ...`` over the alias ``d`` of the table document; empty without filters."""
    pieces: list[str] = []
    values: dict[str, Any] = {}
    for i, wanted in enumerate(filters):
        piece, given = _condition(wanted, f"f{i}")
        pieces.append(f"AND {piece}")
        values |= given
    return "\n".join(pieces), values


def _condition(wanted: Filter, name: str) -> Condition:
    if wanted.field == SETTLEMENTS:
        number = as_number(wanted.value)
        return f"d.settlement_count {wanted.op} %({name})s::float8", {name: number}
    if wanted.op == "=":
        return _equality(wanted, name)
    facets = _column(wanted.field)
    piece = f"""EXISTS (
        SELECT FROM jsonb_array_elements(
            coalesce({facets} -> %({name}f)s::text -> 'number', '[]')
            || coalesce({facets} -> %({name}f)s::text -> 'read', '[]')
        ) AS value WHERE value::float8 {wanted.op} %({name})s::float8
    )"""
    return piece, {f"{name}f": wanted.field, name: as_number(wanted.value)}


def _equality(wanted: Filter, name: str) -> Condition:
    number = as_number(wanted.value)
    ways: dict[str, Any] = {"text": str(wanted.value).lower()}
    if number is not None:
        ways["number"] = number
        if not isinstance(wanted.value, str):
            ways["read"] = number
    pieces: list[str] = []
    values: dict[str, Any] = {}
    for way, value in ways.items():
        key = f"{name}{way}"
        pieces.append(f"{_column(wanted.field)} @> %({key})s::jsonb")
        values[key] = _json({wanted.field: {way: [value]}})
    return f"({' OR '.join(pieces)})", values


def _column(field: str) -> str:
    """Return the column that holds what is compared: settlements change one field apart."""
    return "d.updated_facet" if field == UPDATED else "d.facets"


def _json(value: Any) -> str:
    """Return JSON that PostgreSQL can read; what no document can hold is compared as nothing."""
    text = msgspec.json.encode(value, enc_hook=str).decode("utf-8", "replace")
    return text.replace("\\u0000", "\ufffd")
