"""The accepted numbers: a JSON file in version control that changes only when a person accepts."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from searchmark.data.files import BOM, read_bytes, write_text_atomically
from searchmark.errors import InputError
from searchmark.gate.policy import GatePolicy
from searchmark.measures.notation import parse_measure
from searchmark.measures.summary import Evaluation, SystemScores
from searchmark.version import __version__

FORMAT = "searchmark/baseline/1"

CLOSE = 1e-9
"""A number and the values it is made of may differ by so much: sums round in their own order."""


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was accepted: where it comes from, means, means by category, every query's value."""

    format: str
    searchmark: str
    system: str
    inputs: dict[str, str]
    conventions: dict[str, str]
    means: dict[str, float | None]
    by_category: dict[str, dict[str, float | None]]
    per_query: dict[str, dict[str, float]]


def baseline_of(scores: SystemScores, evaluation: Evaluation) -> Baseline:
    """Return the baseline that accepting these scores makes."""
    return Baseline(
        format=FORMAT,
        searchmark=__version__,
        system=scores.system,
        inputs=dict(sorted(evaluation.digests.items())),
        conventions=dict(evaluation.conventions),
        means={m.measure: m.value for m in scores.means},
        by_category={
            c: {m.measure: m.value for m in means} for c, means in scores.by_category.items()
        },
        per_query={m: dict(values) for m, values in scores.per_query.items()},
    )


def read_baseline(path: Path) -> Baseline:
    """Read a baseline strictly."""
    if not path.exists():
        raise InputError(
            "there is no baseline yet",
            path=path,
            fix="look at the scores and accept them with 'searchmark baseline accept'",
        )
    try:
        baseline = msgspec.json.decode(read_bytes(path).removeprefix(BOM), type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"not a baseline ({error})", path=path, fix="restore it from version control"
        ) from error
    if baseline.format != FORMAT:
        raise InputError(
            f"the baseline has format '{baseline.format}', this version reads '{FORMAT}'",
            path=path,
            fix="accept a new one with 'searchmark baseline accept'",
        )
    if not set(baseline.means) == set(baseline.per_query) == set(baseline.conventions):
        raise InputError(
            "not a baseline (its means, queries and conventions are of different measures)",
            path=path,
            fix="restore it from version control",
        )
    for measure, values in baseline.per_query.items():
        _check_mean(path, measure, measure, baseline.means[measure], values)
    return baseline


def check_categories(path: Path, baseline: Baseline, category: Mapping[str, str]) -> None:
    """Raise InputError where a category's mean is not that of its queries (query id -> category).

    The file alone cannot tell: it does not say which queries belong to a category.
    """
    for name, means in baseline.by_category.items():
        for measure, mean in means.items():
            values = baseline.per_query.get(measure, {})
            within = {q: x for q, x in values.items() if category.get(q) == name}
            where = f"{measure} in category {name}"
            _check_mean(path, where, measure, mean, within)


def _check_mean(
    path: Path, where: str, measure: str, mean: float | None, values: Mapping[str, float]
) -> None:
    """Raise InputError where a mean is not that of the values it stands beside."""
    found = _aggregate(measure, list(values.values()))
    if mean is None or found is None:
        is_same = mean is found
    else:
        is_same = math.isclose(mean, found, rel_tol=CLOSE, abs_tol=CLOSE)
    if not is_same:
        raise InputError(
            f"the baseline's {where} is {'missing' if mean is None else f'{mean:.6g}'}, but "
            + ("no query has a value" if found is None else f"its queries come to {found:.6g}"),
            path=path,
            fix="restore it from version control, or accept a new one",
        )


def _aggregate(measure: str, values: list[float]) -> float | None:
    """Return what the queries' values come to; a measure that is not known is a mean."""
    if not values:
        return None
    try:
        how = parse_measure(measure).spec.aggregate
    except InputError:
        how = "mean"
    if how == "geometric":
        from searchmark.measures.score import GEOMETRIC_FLOOR  # it brings NumPy

        logs = [math.log(max(x, GEOMETRIC_FLOOR)) for x in values]
        return math.exp(sum(logs) / len(logs))
    total = sum(values)
    return total if how == "sum" else total / len(values)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline, one query a line in a stable order, so that a review shows what moved."""
    write_text_atomically(path, baseline_text(baseline))


def baseline_text(baseline: Baseline) -> str:
    """Return the file's text; numbers read back to the same doubles."""
    ordered = msgspec.structs.replace(
        baseline,
        by_category=dict(sorted(baseline.by_category.items())),
        per_query={m: _by_query(values) for m, values in baseline.per_query.items()},
    )
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2).decode() + "\n"


def _by_query(values: Mapping[str, float]) -> dict[str, float]:
    return {q: values[q] for q in sorted(values, key=natural)}


def natural(identifier: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key under which q2 comes before q10; no number is too long for it."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", identifier)
    return (
        # of two numbers without zeros in front the longer one is larger
        *((0, len(number), number) if number else (1, 0, text) for number, text in parts),
        (2, 0, identifier),
    )


def differences(baseline: Baseline, evaluation: Evaluation, policy: GatePolicy) -> list[str]:
    """Say what keeps the candidate from being compared: nothing, where the list is empty."""
    found = []
    if baseline.system != policy.system:
        found.append(f"the baseline is of system '{baseline.system}', not '{policy.system}'")
    for name in sorted(set(baseline.inputs) | set(evaluation.digests)):
        old, new = baseline.inputs.get(name, "none"), evaluation.digests.get(name, "none")
        if old != new and name not in policy.allow_changed:
            found.append(f"the {name} changed (SHA-256 {old[:12]} -> {new[:12]})")
    old_names, new_names = set(baseline.conventions), set(evaluation.conventions)
    found += [f"the measure {m} is no longer computed" for m in sorted(old_names - new_names)]
    found += [f"the measure {m} is new" for m in sorted(new_names - old_names)]
    for measure in sorted(old_names & new_names):
        before, after = baseline.conventions[measure], evaluation.conventions[measure]
        if before != after:
            found.append(f"the conventions of {measure} changed ({before} -> {after})")
    return found
