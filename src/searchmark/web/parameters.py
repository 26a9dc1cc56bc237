"""The parameters of a request: what there is, how it is read, how the OpenAPI document tells it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from searchmark.data.filters import Filter
from searchmark.errors import nearest
from searchmark.web.limits import Limits
from searchmark.web.refusal import Refused

MOST_PRICE = 1e15

_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
_CURSOR = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `read` makes its value of the text, or raises ValueError with the reason."""

    name: str
    about: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    is_required: bool = False
    field: str = ""
    op: str = "="

    @property
    def document(self) -> dict[str, Any]:
        """The parameter in the OpenAPI document."""
        return {
            "name": self.name,
            "in": "query",
            "required": self.is_required,
            "description": self.about,
            "schema": dict(self.schema),
        }


def read_parameters(raw: bytes, known: Sequence[Parameter]) -> dict[str, Any]:
    """Return the values of a query string, by name; Refused with all that is wrong of the first."""
    by_name = {p.name: p for p in known}
    values: dict[str, Any] = {}
    for name, text in _pairs(raw):
        if name not in by_name:
            there = nearest(name[:_SHOWN], by_name)
            raise Refused(400, f"there is no parameter {_shown(name)} here; {there}")
        if name in values:
            raise Refused(400, f"the parameter '{name}' is given twice")
        try:
            values[name] = by_name[name].read(text)
        except ValueError as error:
            raise Refused(400, f"the parameter '{name}' {error}") from None
    for parameter in known:
        if parameter.is_required and parameter.name not in values:
            raise Refused(400, f"the parameter '{parameter.name}' is missing")
    return values


def filters_of(values: Mapping[str, Any], known: Sequence[Parameter]) -> tuple[Filter, ...]:
    """Return the filters among the values."""
    given = [p for p in known if p.field and p.name in values]
    return tuple(Filter(p.field, p.op, values[p.name]) for p in given)


def text_parameter(name: str, about: str, most: int, *, is_required: bool = False) -> Parameter:
    """Return a parameter of text, 1 to `most` characters without NUL."""

    def read(text: str) -> str:
        if not text:
            raise ValueError("is empty")
        if len(text) > most:
            raise ValueError(f"has {len(text):,} characters, {most:,} at most are read")
        if "\0" in text:
            raise ValueError("holds a NUL character")
        return text

    schema = {"type": "string", "minLength": 1, "maxLength": most, "pattern": "^[^\\u0000]*$"}
    return Parameter(name, about, schema, read, is_required)


def limit_parameter(limits: Limits) -> Parameter:
    """Return the parameter `limit`."""

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= limits.page:
            raise ValueError(f"is {_shown(text)}, no whole number from 1 to {limits.page}")
        return int(text)

    schema = {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.page,
        "default": limits.usual_page,
    }
    return Parameter("limit", "How many results come at most.", schema, read)


def price_parameter(field: str) -> Parameter:
    """Return the parameter `max_price`, which compares a field of numbers."""

    def read(text: str) -> float:
        number = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not 0 <= number <= MOST_PRICE:
            raise ValueError(f"is {_shown(text)}, no number from 0 to {MOST_PRICE:g}")
        return number

    schema = {"type": "number", "minimum": 0, "maximum": MOST_PRICE}
    about = f"Only resources whose {field} is not above this."
    return Parameter("max_price", about, schema, read, field=field, op="<=")


def cursor_parameter(limits: Limits) -> Parameter:
    """Return the parameter `cursor`; what it stands for is read later."""
    about = "The nextCursor of the page before; any other is answered with 404."
    inner = text_parameter("cursor", about, limits.cursor_chars)

    def read(text: str) -> str:
        if not _CURSOR.fullmatch(inner.read(text)):
            raise ValueError(f"is {_shown(text)}, no nextCursor of this service")
        return text

    schema = {**inner.schema, "pattern": f"^{_CURSOR.pattern}$"}
    return Parameter("cursor", about, schema, read)


def field_parameter(name: str, field: str, limits: Limits) -> Parameter:
    """Return a parameter that asks for equality with a field."""
    inner = text_parameter(name, f"Only resources with this {field}.", limits.value_chars)
    return Parameter(name, inner.about, inner.schema, inner.read, field=field)


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
        )
    except UnicodeDecodeError:
        raise Refused(400, "the parameters are not UTF-8; write them percent-encoded") from None
    except ValueError:
        raise Refused(400, "more than 100 parameters are given") from None


def _shown(text: str) -> str:
    """Return a value for a sentence: short, on one line, without what moves a terminal's cursor."""
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text[:_SHOWN])
    return f"'{shown}…'" if len(text) > _SHOWN else f"'{shown}'"
