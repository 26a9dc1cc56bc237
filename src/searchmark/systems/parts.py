"""Systems that are made of others of the project: the key `of`, a name or a list of names."""

from collections.abc import Mapping

from searchmark.errors import Problem, nearest
from searchmark.systems.protocol import Entry


def parts_of(config: object) -> tuple[str, ...]:
    """Return the names of the systems that one with this configuration asks itself."""
    of = getattr(config, "of", ())
    return (of,) if isinstance(of, str) else tuple(of)


def part_problem(name: str, part: str, systems: Mapping[str, Entry], key: str) -> Problem | None:
    """Report a part of the system `name` that does not exist or contains `name` itself."""
    if part not in systems:
        return Problem(key, f"no system '{part}'; {nearest(part, systems)}")
    if name in _contained(part, systems, set()):
        return Problem(key, f"'{part}' is made of '{name}' again, a circle")
    return None


def _contained(name: str, systems: Mapping[str, Entry], seen: set[str]) -> set[str]:
    """Return `name` and every system it is made of."""
    if name in seen or name not in systems:
        return seen
    seen.add(name)
    for part in parts_of(systems[name].config):
        _contained(part, systems, seen)
    return seen
