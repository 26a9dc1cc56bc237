"""Strict decoding that does not stop at the first problem: each key is converted on its own."""

import re
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from searchmark.errors import Problem, nearest

S = TypeVar("S", bound=msgspec.Struct)

_EXPECTED = re.compile(r"Expected `(.+?)`, got `(.+?)`")
_PLACE = re.compile(r" - at `\$(.*)`$")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def decode_table(
    table: Mapping[str, Any], struct: type[S], key: str, problems: list[Problem]
) -> S | None:
    """Return the struct that `table` describes, or None after adding what is wrong to `problems`.

    `key` is the path of the table in the file, "" for the file itself.
    """
    n_before = len(problems)
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
    return struct(**values) if len(problems) == n_before else None


def _value(value: Any, wanted: Any, key: str, problems: list[Problem]) -> Any:
    """Convert one value; tables inside it are decoded key by key as well."""
    inner = _struct_of(wanted)
    if inner is not None and isinstance(value, Mapping):
        return decode_table(value, inner, key, problems)
    element = next((s for s in map(_element_of, _options(wanted)) if s is not None), None)
    if element is not None and isinstance(value, list):
        return [_value(v, element, f"{key}[{i}]", problems) for i, v in enumerate(value)]
    values = next((v for v in map(_values_of, _options(wanted)) if v is not None), None)
    if values is not None and isinstance(value, Mapping):
        return {k: _value(v, values, _path(key, k), problems) for k, v in value.items()}
    try:
        return msgspec.convert(value, wanted)
    except (msgspec.ValidationError, ValueError) as error:
        problems.append(_problem(str(error), value, wanted, key))
        return None


def _options(wanted: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    return get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)


def _struct_of(wanted: Any) -> Any:
    return next(
        (t for t in _options(wanted) if isinstance(t, type) and issubclass(t, msgspec.Struct)), None
    )


def _element_of(wanted: Any) -> Any:
    if get_origin(wanted) is list:
        return _struct_of(get_args(wanted)[0])
    return None


def _values_of(wanted: Any) -> Any:
    """Return the type of a dict's values; None for anything else, and for values of any type."""
    if get_origin(wanted) is dict and get_args(wanted)[1] is not Any:
        return get_args(wanted)[1]
    return None


def _problem(message: str, value: Any, wanted: Any, key: str) -> Problem:
    """Turn the library's message into a key path and plain words."""
    place = _PLACE.search(message)
    at = key + (place[1] if place else "").replace("[...]", "")
    choices = [c for t in _options(wanted) if get_origin(t) is Literal for c in get_args(t)]
    if choices and isinstance(value, str):
        return Problem(at, f"cannot be '{value}'; {nearest(value, choices)}")
    expected = _EXPECTED.search(message)
    if expected:
        wants = " or ".join(_WORDS.get(w, w) for w in expected[1].split(" | ") if w != "null")
        return Problem(at, f"must be {wants}, not {_WORDS.get(expected[2], expected[2])}")
    return Problem(at, _PLACE.sub("", message))


def _path(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
