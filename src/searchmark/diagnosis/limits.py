"""Thresholds of the rules: the ``[diagnosis]`` section of a project file."""

import math
from collections.abc import Iterator, Mapping

import msgspec

from searchmark.errors import InputError, Problem, nearest

TOLERANCE = 1e-9
"""Values nearer than this are the same: 0.8 - 0.5 is not above 0.3, whatever a double says."""


def is_below(value: float, limit: float) -> bool:
    """Tell whether a value is less than a limit, by more than rounding."""
    return limit - value > TOLERANCE


def is_above(value: float, limit: float) -> bool:
    """Tell whether a value is more than a limit, by more than rounding."""
    return value - limit > TOLERANCE


class Levels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From which value on a mean is called good, acceptable and poor; below that it is bad."""

    good: float
    acceptable: float
    poor: float


DEFAULT_LEVELS = {
    "nDCG": Levels(0.70, 0.50, 0.30),
    "P": Levels(0.60, 0.40, 0.20),
    "RR": Levels(0.70, 0.50, 0.20),
}


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Thresholds of the rules; values are nDCG@k of one query unless said otherwise.

    `k` is the cutoff (that of the project's first nDCG by default). A system fails a query below
    `fail` and succeeds above `succeed`; systems without tags differ when they are more than `gap`
    apart; a hybrid loses when it is more than `hybrid_drop` below its best part. A grade-0 document
    within the first `top_ranks` counts where the value is below `top_value`. Documents graded
    `missed_grade` or more are missed when no system returns them. `stuffed` and `duplicate` are
    shares of words two documents have in common (0 to 1) from which on they are near-duplicates.
    Above the share `holes` of unjudged results within the cutoff, or of queries without a whole
    answer, a verdict is not to be trusted. A query is an outlier that takes more than `slow` times
    the median latency, and more than `slow_ms` milliseconds. The mean over all systems passes above
    `mean`. `names` are the fields of the corpus that hold a title or name. `levels` are words for
    means by measure. `off` names rules that are not asked.
    """

    k: int | None = None
    fail: float = 0.3
    succeed: float = 0.5
    gap: float = 0.3
    hybrid_drop: float = 0.15
    top_ranks: int = 2
    top_value: float = 0.8
    missed_grade: int = 2
    stuffed: float = 0.6
    duplicate: float = 0.8
    holes: float = 0.2
    slow: float = 5.0
    slow_ms: float = 100.0
    mean: float = 0.7
    names: list[str] = []
    off: list[str] = []
    levels: dict[str, Levels] = {}


_SHARES = (
    "fail",
    "succeed",
    "gap",
    "hybrid_drop",
    "top_value",
    "stuffed",
    "duplicate",
    "holes",
    "mean",
)


def find_problems(limits: Limits, rules: Mapping[str, str]) -> list[Problem]:
    """Report thresholds that cannot be, and names of rules that do not exist."""
    found = [
        Problem(f"diagnosis.{name}", f"{value:g} is not from 0 to 1")
        for name in _SHARES
        if not 0 <= (value := getattr(limits, name)) <= 1
    ]
    if limits.fail > limits.succeed:
        found.append(
            Problem("diagnosis.fail", f"{limits.fail:g} is above succeed = {limits.succeed:g}")
        )
    for name, least in (("k", 1), ("top_ranks", 1), ("missed_grade", 1)):
        value = getattr(limits, name)
        if value is not None and not least <= value < 2**63:
            is_long = abs(value) >= 2**63
            told = "it has more than 64 bits" if is_long else f"{value} is not {least} or more"
            found.append(Problem(f"diagnosis.{name}", told))
    for name, least in (("slow", 1), ("slow_ms", 0)):
        value = getattr(limits, name)
        if not (math.isfinite(value) and value >= least):
            found.append(Problem(f"diagnosis.{name}", f"{value:g} is not {least} or more"))
    for measure, levels in limits.levels.items():
        found += _level_problems(measure, levels)
    found += [
        Problem(f"diagnosis.off[{i}]", f"no rule is called '{name}'; {nearest(name, rules)}")
        for i, name in enumerate(limits.off)
        if name not in rules
    ]
    return found


def _level_problems(measure: str, levels: Levels) -> Iterator[Problem]:
    where = f"diagnosis.levels.{measure}"
    if not _has_levels(measure):
        yield Problem(
            where, f"no mean is told in '{measure}'; {nearest(_plain(measure), DEFAULT_LEVELS)}"
        )
    impossible = {n: v for n in Levels.__struct_fields__ if not 0 <= (v := getattr(levels, n)) <= 1}
    for name, value in impossible.items():
        yield Problem(f"{where}.{name}", f"{value:g} is not from 0 to 1")
    if not impossible and not levels.good >= levels.acceptable >= levels.poor:
        yield Problem(where, "good, acceptable and poor must not rise")


def _has_levels(measure: str) -> bool:
    """Whether a name is that of a measure which is told in words, with or without parameters."""
    from searchmark.measures.notation import parse_measure  # a project file needs it, others not

    if measure in DEFAULT_LEVELS:
        return True
    try:
        parse_measure(measure)
    except InputError:
        return False
    return _plain(measure) in DEFAULT_LEVELS


def _plain(measure: str) -> str:
    """Return a measure's name without its parameters and cutoff."""
    return measure.partition("@")[0].partition("(")[0]


def level_of(measure: str, mean: float | None, limits: Limits) -> str | None:
    """Return good, acceptable, poor or bad for a mean; None where the measure has no levels.

    `measure` is written with or without its parameters: nDCG@10 has the levels of nDCG.
    """
    known = {**DEFAULT_LEVELS, **limits.levels}
    levels = known.get(measure) or known.get(_plain(measure))
    if levels is None or mean is None:
        return None
    words = (("good", levels.good), ("acceptable", levels.acceptable), ("poor", levels.poor))
    return next((word for word, least in words if not is_below(mean, least)), "bad")
