"""The systems of a project file: each table decoded by the kind it uses."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from searchmark.errors import Problem, nearest
from searchmark.project.decode import decode_table, decode_values
from searchmark.systems import SYSTEMS
from searchmark.systems.policy import CallPolicy, policy_problems
from searchmark.systems.protocol import Entry, Kind

SYSTEM_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""What a system may be called: names stand in tables, command lines and folders."""

LIMITS = tuple(f.encode_name for f in msgspec.structs.fields(CallPolicy))
"""Keys that every kind's table may hold beside its own."""

_NAMING = "the name may hold letters, digits, '.', '_' and '-' only, at most 64, no sign first"


class Undecoded(msgspec.Struct, frozen=True):
    """Stands for a configuration that is wrong, so that its name is not called unknown as well."""


def decode_systems(tables: object, problems: list[Problem]) -> dict[str, Entry]:
    """Return each system's entry; what is wrong, alone or with the others, goes to `problems`."""
    if not isinstance(tables, Mapping):
        return {}
    found = {name: _entry(name, table, problems) for name, table in tables.items()}
    told = {problem.key for problem in problems}  # wrong values stand for their defaults below
    for entry in found.values():
        if not isinstance(entry.config, Undecoded):
            problems += [p for p in _own_problems(entry, found) if p.key not in told]
    return found


def _entry(name: str, table: object, problems: list[Problem]) -> Entry:
    key = f"systems.{name}"
    if not re.fullmatch(SYSTEM_NAME, name):
        problems.append(Problem(key, _NAMING))
    if not isinstance(table, Mapping) or (kind := _kind(table, key, problems)) is None:
        return Entry(name, "", Undecoded())
    limits = {k: v for k, v in table.items() if k in LIMITS}
    rest = {k: v for k, v in table.items() if k != "use" and k not in LIMITS}
    calls = _calls(limits, kind, key, problems)
    config = decode_table(rest, kind.config, key, problems)
    return Entry(name, table["use"], Undecoded() if config is None else config, calls)


def _calls(limits: Mapping[str, Any], kind: Kind, key: str, problems: list[Problem]) -> CallPolicy:
    """Return the limits of the kind, with those that the table sets."""
    values = decode_values(limits, CallPolicy, key, problems)
    values = {name: value for name, value in values.items() if value is not msgspec.UNSET}
    calls = msgspec.structs.replace(kind.calls, **values)
    problems += [Problem(f"{key}.{p.key}", p.message) for p in policy_problems(calls)]
    return calls


def _kind(table: Mapping[str, Any], key: str, problems: list[Problem]) -> Kind | None:
    use = table.get("use")
    if not isinstance(use, str):
        message = f"must name a kind of system: {', '.join(SYSTEMS.names())}"
        problems.append(Problem(f"{key}.use", message))
        return None
    if use not in SYSTEMS.names():
        message = f"no kind of system is called '{use}'; {nearest(use, SYSTEMS.names())}"
        problems.append(Problem(f"{key}.use", message))
        return None
    kind: Kind = SYSTEMS.load(use)
    return kind


def _own_problems(entry: Entry, systems: Mapping[str, Entry]) -> list[Problem]:
    """Ask the kind what is wrong with its configuration."""
    kind: Kind = SYSTEMS.load(entry.use)
    if kind.problems is None:
        return []
    return [
        Problem(f"systems.{entry.name}.{p.key}", p.message)
        for p in kind.problems(entry.config, entry.name, systems)
    ]
