"""What to do next: accept an improvement, and a `max_drop` that the data can hold."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from searchmark.gate.cases import Background
from searchmark.gate.evidence import pair, smallest_loss
from searchmark.gate.policy import DEFAULT_ALPHA, GatePolicy
from searchmark.gate.verdict import TOLERANCE, Verdict
from searchmark.measures.summary import SystemScores


def find_suggestions(verdict: Verdict, policy: GatePolicy) -> Iterator[str]:
    """Yield what a person should do about a verdict."""
    if verdict.passed:
        yield from _improvements(verdict)
    sizes = detectable_sizes(verdict)
    if sizes:
        yield _max_drop_sentence(verdict, policy, sizes)


def _improvements(verdict: Verdict) -> Iterator[str]:
    """Suggest to accept what got better by more than the limit: else it can be lost unseen."""
    better = [
        f"{v.measure} by {-v.loss:.4f}"
        for v in verdict.measures
        if v.limit is not None and v.loss is not None and -v.loss > v.limit + TOLERANCE
    ]
    if better:
        yield (
            f"better by more than the limit: {', '.join(better)}; keep it with "
            "'searchmark baseline accept', or a later loss of as much passes unseen"
        )


def detectable_sizes(verdict: Verdict) -> dict[str, float]:
    """Return measure -> the smallest loss it would show, of those held to `max_drop` that moved."""
    return {
        v.measure: v.detectable
        for v in verdict.measures
        if v.limit is not None and v.detectable is not None
    }


def suggested_max_drop(verdict: Verdict) -> float | None:
    """Return the smallest loss that all of them would show."""
    return max(detectable_sizes(verdict).values(), default=None)


def _max_drop_sentence(verdict: Verdict, policy: GatePolicy, sizes: Mapping[str, float]) -> str:
    limits = {v.measure: v.limit or 0.0 for v in verdict.measures}
    unseen = [m for m, size in sizes.items() if size > limits[m]]
    baselines = {v.measure: v.baseline for v in verdict.measures}
    told = _told(sizes, baselines, policy)
    if unseen:
        return (
            f"max_drop is smaller than the losses these queries reveal of {' and '.join(unseen)}: "
            f"ask more queries, or set {told}"
        )
    return f"the change seen suggests {told}"


def _told(
    sizes: Mapping[str, float], baselines: Mapping[str, float | None], policy: GatePolicy
) -> str:
    listed = ", ".join(f"{m} {rounded_up(size):g}" for m, size in sizes.items())
    alpha = DEFAULT_ALPHA if policy.alpha is None else policy.alpha
    return (
        f"{_setting(sizes, baselines, policy)} (the smallest loss that is found four times in five "
        f"at alpha {alpha:g}: {listed})"
    )


def _setting(
    sizes: Mapping[str, float], baselines: Mapping[str, float | None], policy: GatePolicy
) -> str:
    """Return a line for the project file, in the form that the policy has."""
    if not isinstance(policy.max_drop, str):
        return f"max_drop = {rounded_up(max(sizes.values())):g}"
    shares = [size / abs(before) for m, size in sizes.items() if (before := baselines[m])]
    return f'max_drop = "{rounded_up(100 * max(shares, default=1.0)):g}%"'


def rounded_up(size: float) -> float:
    """Return a positive number with two digits that count, not smaller than it."""
    unit = 10.0 ** (math.floor(math.log10(size)) - 1)
    return float(f"{math.ceil(size / unit - TOLERANCE) * unit:.12g}")


class Suggestion(NamedTuple):
    """A sentence, and the `max_drop` that it names; None where it names none."""

    text: str
    max_drop: float | None


def suggestion_from_others(
    scores: SystemScores,
    others: Mapping[str, Mapping[str, Mapping[str, float]]],
    policy: GatePolicy,
    known: Background,
) -> Suggestion:
    """Suggest a `max_drop` where too few queries moved, from the other systems' values by measure.

    The nearest of them stands in for a changed version of the system.
    """
    gated = policy.gated([m.measure for m in scores.means])
    found = {
        name: _sizes_between(scores, other, gated, policy, known) for name, other in others.items()
    }
    found = {name: sizes for name, sizes in found.items() if sizes}
    nothing = "too few queries changed to show how small a loss they could reveal"
    if not found:
        text = f"{nothing}; 'searchmark run' with another system gives the gate a difference to use"
        return Suggestion(text, None)
    nearest = min(found, key=lambda name: (max(found[name].values()), name))
    baselines = {m.measure: m.value for m in scores.means}
    told = _told(found[nearest], baselines, policy)
    text = f"{nothing}; the difference to {nearest}, the system most like it, suggests {told}"
    return Suggestion(text, max(found[nearest].values()))


def _sizes_between(
    scores: SystemScores,
    other: Mapping[str, Mapping[str, float]],
    gated: list[str],
    policy: GatePolicy,
    known: Background,
) -> dict[str, float]:
    pairs = {
        m: pair(
            scores.per_query.get(m, {}),
            other.get(m, {}),
            clusters=known.groups.cluster,
            aggregate=known.aggregate(m),
        )
        for m in gated
    }
    level = DEFAULT_ALPHA if policy.alpha is None else policy.alpha / max(len(gated), 1)
    sizes = {m: smallest_loss(p, level) for m, p in pairs.items() if len(p.gains)}
    return {m: size for m, size in sizes.items() if size is not None}
