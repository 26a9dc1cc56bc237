"""The keys that stand for parts of a preset: which a request needs, which it has no place for."""

from collections.abc import Iterator, Mapping, Set

import msgspec

from searchmark.errors import Problem
from searchmark.systems.http.config import Config, settle
from searchmark.systems.http.presets import PRESETS

PARTS: Mapping[str, frozenset[str]] = {
    "index": frozenset({"index"}),
    "fields": frozenset({"fields", "fields_by_comma", "fields_by_blank"}),
}
"""Key of the project file -> the placeholders it fills."""


def needed_parts(config: Config) -> list[str]:
    """Return the keys of a configuration with a preset without which its request has a gap."""
    whole = msgspec.structs.replace(config, index="x", fields=["x"])
    with_all, written = (settle(c).template.placeholders() for c in (whole, config))
    needs = PRESETS[config.preset].needs if config.preset is not None else ()
    return [key for key, names in PARTS.items() if names & (with_all if key in needs else written)]


def part_problems(config: Config, used: Set[str]) -> Iterator[Problem]:
    """Report keys that nothing of the request holds, where something else would be searched.

    `used` are the placeholders of the whole request; those of a body file are known late.
    """
    if config.preset is None:
        return
    for key, names in PARTS.items():
        is_given, is_held = getattr(config, key) is not None, bool(names & used)
        if is_given and not is_held:
            yield Problem(key, f"is used nowhere: no part of the request holds {{{key}}}")
        if is_held and not is_given and config.body_file is not None:
            yield Problem(key, "is missing: the body holds it")
    if config.base is not None and config.url is not None:
        yield Problem("base", "is used nowhere: url is the whole address")
