"""What the gate holds a system to: the ``[gate]`` section of a project file."""

import math
from collections.abc import Collection, Mapping

import msgspec

from searchmark.errors import Problem, nearest

CHANGEABLE = ("corpus",)
"""Inputs that may differ from the baseline's where the project allows it by name."""


class GatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of the gate.

    `system` is the one that serves users. Any of `measures` (all of the project's by default) may
    fall by at most `max_drop` (absolute). `floors` are least means, `category_floors` least means
    of a category: ``{"exact-name" = {"nDCG@10" = 0.95}}``. `allow_changed` names inputs that may
    differ from the baseline's; only "corpus" may, for live catalogs. `baseline` is a file beside
    the project file.
    """

    system: str
    max_drop: float = 0.02
    measures: list[str] | None = None
    floors: dict[str, float] = {}
    category_floors: dict[str, dict[str, float]] = {}
    allow_changed: list[str] = []
    baseline: str = "baseline.json"

    def gated(self, measures: Collection[str]) -> list[str]:
        """Return the measures that are held to the limits."""
        return list(measures) if self.measures is None else list(self.measures)


def find_problems(
    policy: GatePolicy, systems: Collection[str], measures: Collection[str]
) -> list[Problem]:
    """Report every name that does not exist and every limit that cannot be."""
    found = []
    if policy.system not in systems:
        found.append(
            Problem(
                "gate.system", f"no system '{policy.system}'; {nearest(policy.system, systems)}"
            )
        )
    if not (math.isfinite(policy.max_drop) and policy.max_drop >= 0):
        found.append(Problem("gate.max_drop", f"{policy.max_drop:g} is not 0 or more"))
    found += [
        Problem(f"gate.measures[{i}]", _unknown_measure(name, measures))
        for i, name in enumerate(policy.measures or [])
        if name not in measures
    ]
    if policy.measures == []:
        found.append(Problem("gate.measures", "names no measure; leave it out to hold them all"))
    found += _floor_problems("gate.floors", policy.floors, measures)
    for category, floors in policy.category_floors.items():
        found += _floor_problems(f"gate.category_floors.{category}", floors, measures)
    found += [
        Problem(
            f"gate.allow_changed[{i}]",
            f"'{name}' may never change under a baseline; only {', '.join(CHANGEABLE)} may",
        )
        for i, name in enumerate(policy.allow_changed)
        if name not in CHANGEABLE
    ]
    return found


def _floor_problems(
    key: str, floors: Mapping[str, float], measures: Collection[str]
) -> list[Problem]:
    found = []
    for name, floor in floors.items():
        if name not in measures:
            found.append(Problem(f"{key}.{name}", _unknown_measure(name, measures)))
        if not math.isfinite(floor):
            found.append(Problem(f"{key}.{name}", f"{floor} is no limit"))
    return found


def _unknown_measure(name: str, measures: Collection[str]) -> str:
    return f"'{name}' is not among the project's measures; {nearest(name, measures)}"
