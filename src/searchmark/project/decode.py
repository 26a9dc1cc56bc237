"""Strict decoding that does not stop at the first problem: each key is converted on its own."""

import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from searchmark.errors import Problem, nearest

S = TypeVar("S", bound=msgspec.Struct)

_EXPECTED = re.compile(r"Expected `(.+?)`, got `(.+?)`")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
    "datetime": "a date and time",
    "date": "a date",
    "time": "a time",
}


def decode_table(
    table: Mapping[str, Any], struct: type[S], key: str, problems: list[Problem]
) -> S | None:
    """Return the struct that `table` describes; what is wrong with it is added to `problems`.

    `key` is the path of the table in the file, "" for the file itself. Unknown keys, and wrong
    values where there is a default, still give a struct, so that the meaning of the other keys can
    be checked too; it is None only without a required value. Look at `problems` before using it.
    """
    decoded = decode_values(table, struct, key, problems)
    values = {name: value for name, value in decoded.items() if value is not msgspec.UNSET}
    fields = msgspec.structs.fields(struct)
    return None if any(f.required and f.name not in values for f in fields) else struct(**values)


def decode_values(
    table: Mapping[str, Any], struct: type[msgspec.Struct], key: str, problems: list[Problem]
) -> dict[str, Any]:
    """Return the struct's fields that `table` gives, UNSET where the value cannot be used."""
    fields = {f.encode_name: f for f in msgspec.structs.fields(struct)}
    for name in table:
        if name not in fields:
            problems.append(Problem(_path(key, name), f"unknown key; {nearest(name, fields)}"))
    values = {}
    for name, field in fields.items():
        if name in table:
            values[field.name] = _value(table[name], field.type, _path(key, name), problems)
        elif field.required:
            problems.append(Problem(_path(key, name), "is missing"))
    return values


def _value(value: Any, wanted: Any, key: str, problems: list[Problem]) -> Any:
    """Convert one value, tables and lists key by key; UNSET where it cannot be used."""
    options = _options(wanted)
    if isinstance(value, Mapping):
        if struct := next(filter(_is_struct, options), None):
            decoded = decode_table(value, struct, key, problems)
            return msgspec.UNSET if decoded is None else decoded
        if inner := _values_of(options):
            found = {k: _value(v, inner[0], _path(key, k), problems) for k, v in value.items()}
            return msgspec.UNSET if msgspec.UNSET in found.values() else found
    elif isinstance(value, list) and (inner := _elements_of(options)):
        items = [_value(v, inner[0], f"{key}[{i}]", problems) for i, v in enumerate(value)]
        return msgspec.UNSET if msgspec.UNSET in items else items
    try:
        return msgspec.convert(value, wanted)
    except (msgspec.ValidationError, ValueError) as error:
        problems.append(_problem(str(error), value, wanted, key))
        return msgspec.UNSET


def _options(wanted: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    return get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)


def _is_struct(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, msgspec.Struct)


def _values_of(options: Iterable[Any]) -> list[Any]:
    """Return the types of dicts' values; a dict of anything needs no look inside."""
    return [get_args(t)[1] for t in options if get_origin(t) is dict and get_args(t)[1] is not Any]


def _elements_of(options: Iterable[Any]) -> list[Any]:
    """Return the types of lists' elements."""
    return [get_args(t)[0] for t in options if get_origin(t) is list]


def _problem(message: str, value: Any, wanted: Any, key: str) -> Problem:
    """Turn the library's message into a key path and plain words."""
    choices = [c for t in _options(wanted) if get_origin(t) is Literal for c in get_args(t)]
    if choices and isinstance(value, str):
        return Problem(key, f"cannot be '{value}'; {nearest(value, choices)}")
    expected = _EXPECTED.search(message)
    if expected:
        wants = " or ".join(_WORDS.get(w, w) for w in expected[1].split(" | ") if w != "null")
        return Problem(key, f"must be {wants}, not {_WORDS.get(expected[2], expected[2])}")
    return Problem(key, message)


def _path(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
