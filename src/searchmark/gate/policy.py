"""What the gate holds a system to: the ``[gate]`` section of a project file."""

import math
import re
from collections.abc import Collection, Mapping

import msgspec

from searchmark.errors import InputError, Problem, nearest, quoted
from searchmark.measures.notation import parse_measure

CHANGEABLE = ("corpus",)
"""Inputs that may differ from the baseline's where the project allows it by name."""

DEFAULT_ALPHA = 0.05
"""The level at which sizes are reckoned where the policy asks for no significance."""

MIN_ALPHA = 0.001
"""Drawn signs give no p under 1/100,001, and Holm shares alpha among all that is tested."""

MAX_ALPHA = 0.25
"""A gate that takes one loss in four for real by chance alone tests nothing."""

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


class GatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of the gate.

    `system` is the one that serves users. Any of `measures` (all of the project's by default) may
    get worse by at most `max_drop`: a number, or a share of the baseline's mean such as "2%".
    `category_max_drop` holds single categories in the same way: ``{"exact-name" = 0.05}``. With
    `alpha`, a drop beyond its limit fails only when it is also significant at that level. No query
    of `pinned` may get worse at all. `floors` are least means, `category_floors` least means
    of a category: ``{"exact-name" = {"nDCG@10" = 0.95}}``. `allow_changed` names inputs that may
    differ from the baseline's; only "corpus" may, for live catalogs. `baseline` is a file beside
    the project file.
    """

    system: str
    max_drop: float | str = 0.02
    measures: list[str] | None = None
    alpha: float | None = None
    category_max_drop: dict[str, float | str] = {}
    pinned: list[str] = []
    floors: dict[str, float] = {}
    category_floors: dict[str, dict[str, float]] = {}
    allow_changed: list[str] = []
    baseline: str = "baseline.json"

    def gated(self, measures: Collection[str]) -> list[str]:
        """Return the measures that are held to the limits."""
        return list(measures) if self.measures is None else list(dict.fromkeys(self.measures))

    def renamed(self, names: Mapping[str, str]) -> "GatePolicy":
        """Return the policy with measures as reports write them: MRR is RR there."""
        return msgspec.structs.replace(
            self,
            measures=self.measures and [names.get(m, m) for m in self.measures],
            floors=_renamed(self.floors, names),
            category_floors={c: _renamed(f, names) for c, f in self.category_floors.items()},
        )


def _renamed(floors: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    return {names.get(m, m): floor for m, floor in floors.items()}


def share_of(drop: str) -> float | None:
    """Return the share that a text such as "2%" names; None where it is no share up to 100%."""
    found = _SHARE.fullmatch(drop)
    share = float(found[1]) / 100 if found else None
    return share if share is not None and share <= 1 else None


def limit_of(drop: float | str, baseline: float | None) -> float | None:
    """Return the largest loss that passes; None where a share has no baseline to be taken of."""
    if not isinstance(drop, str):
        return float(drop)
    share = share_of(drop)
    return None if share is None or baseline is None else share * abs(baseline)


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
    if "\0" in policy.baseline:
        found.append(Problem("gate.baseline", "is no path"))
    found += _drop_problems("gate.max_drop", policy.max_drop)
    for category, drop in policy.category_max_drop.items():
        found += _drop_problems(f"gate.category_max_drop.{category}", drop)
    if policy.alpha is not None:
        found += _alpha_problems(policy.alpha)
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


def pinned_problems(policy: GatePolicy, query_ids: Collection[str]) -> list[Problem]:
    """Report every pinned query that the query set does not hold."""
    known = set(query_ids)
    return [
        Problem(f"gate.pinned[{i}]", f"the query set has no query {quoted(query_id)}")
        for i, query_id in enumerate(policy.pinned)
        if query_id not in known
    ]


def category_problems(
    policy: GatePolicy, categories: Collection[str], of: str = "judged query"
) -> list[Problem]:
    """Report every category with a limit that no scored query belongs to.

    `of` says which queries are scored.
    """
    limits: dict[str, Collection[str]] = {
        "category_max_drop": policy.category_max_drop,
        "category_floors": policy.category_floors,
    }
    return [
        Problem(
            f"gate.{key}.{category}",
            f"no {of} is of category {quoted(category)}; {nearest(category, categories)}",
        )
        for key, limited in limits.items()
        for category in limited
        if category not in categories
    ]


def _alpha_problems(alpha: float) -> list[Problem]:
    if MIN_ALPHA <= alpha <= MAX_ALPHA:
        return []
    if alpha < MIN_ALPHA:
        return [
            Problem(
                "gate.alpha",
                f"{alpha:g} is less than {MIN_ALPHA:g}: the test's p is never under 1/100,001 and "
                "alpha is shared by all limits, so that no loss might ever fail",
            )
        ]
    return [Problem("gate.alpha", f"{alpha:g} is not between {MIN_ALPHA:g} and {MAX_ALPHA:g}")]


def _drop_problems(key: str, drop: float | str) -> list[Problem]:
    if isinstance(drop, str):
        if share_of(drop) is not None:
            return []
        if _SHARE.fullmatch(drop):
            return [
                Problem(key, f"'{drop}' is more than 100%; give a share up to that or a number")
            ]
        return [Problem(key, f"'{drop}' is neither a number nor a share such as \"2%\"")]
    if math.isfinite(drop) and drop >= 0:
        return []
    return [Problem(key, f"{drop:g} is not 0 or more")]


def _floor_problems(
    key: str, floors: Mapping[str, float], measures: Collection[str]
) -> list[Problem]:
    found = []
    for name, floor in floors.items():
        if name not in measures:
            found.append(Problem(f"{key}.{name}", _unknown_measure(name, measures)))
        if not math.isfinite(floor):
            found.append(Problem(f"{key}.{name}", f"{floor} is no limit"))
        elif name in measures and (unreachable := _unreachable(name, floor)):
            found.append(Problem(f"{key}.{name}", unreachable))
    return found


def _unreachable(name: str, floor: float) -> str | None:
    """Say why no ranking can hold a floor; a measure that cannot be read is told elsewhere."""
    try:
        spec = parse_measure(name).spec
    except InputError:
        return None
    if spec.aggregate == "sum":  # the range is that of one query
        return None
    if spec.higher_is_better and spec.high is not None and floor > spec.high:
        return f"{floor:g} is more than {name} can reach, {spec.high:g}"
    if not spec.higher_is_better and spec.low is not None and floor < spec.low:
        return f"{floor:g} is less than {name} can reach, {spec.low:g}"
    return None


def _unknown_measure(name: str, measures: Collection[str]) -> str:
    return f"'{name}' is not among the project's measures; {nearest(name, measures)}"
