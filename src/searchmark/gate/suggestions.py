"""What to do next: accept an improvement, and a `max_drop` that the data can hold."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from searchmark.gate.cases import Background
from searchmark.gate.evidence import pair, smallest_loss, standard_error
from searchmark.gate.policy import DEFAULT_ALPHA, GatePolicy
from searchmark.gate.verdict import TOLERANCE, Z_POWER, MeasureVerdict, Verdict
from searchmark.measures.summary import SystemScores


def find_suggestions(verdict: Verdict, policy: GatePolicy) -> Iterator[str]:
    """Yield what a person should do about a verdict."""
    if verdict.passed:
        yield from _improvements(verdict, policy.alpha)
    sizes = detectable_sizes(verdict)
    if sizes:
        yield _max_drop_sentence(verdict, policy, sizes)


def _improvements(verdict: Verdict, alpha: float | None) -> Iterator[str]:
    """Suggest to accept what got better by more than the limit: else it can be lost unseen.

    With `alpha` only what chance does not explain: accepted noise would only raise the bar.
    """
    better = [
        f"{v.measure} by {-v.loss:.4f}"
        for v in verdict.measures
        if v.limit is not None and v.loss is not None and -v.loss > v.limit + TOLERANCE
        if alpha is None or _is_surely_better(v)
    ]
    if better:
        yield (
            f"better by more than the limit: {', '.join(better)}; keep it with "
            "'searchmark baseline accept', or a later loss of as much passes unseen"
        )


def _is_surely_better(v: MeasureVerdict) -> bool:
    """Tell whether the whole interval of the change is an improvement."""
    if v.low is None or v.high is None:
        return False
    return v.low > 0 if v.higher_is_better else v.high < 0


class Size(NamedTuple):
    """What a measure would show: the smallest loss, and the error with which a loss is measured."""

    detectable: float
    standard_error: float
    baseline: float | None


def detectable_sizes(verdict: Verdict) -> dict[str, Size]:
    """Return measure -> the smallest loss it would show, of those held to `max_drop` that moved."""
    return {
        v.measure: Size(v.detectable, v.standard_error or 0.0, v.baseline)
        for v in verdict.measures
        if v.limit is not None and v.detectable is not None
    }


def suggested_max_drop(verdict: Verdict) -> float | None:
    """Return the smallest loss that all of them would show."""
    return max((s.detectable for s in detectable_sizes(verdict).values()), default=None)


def _max_drop_sentence(verdict: Verdict, policy: GatePolicy, sizes: Mapping[str, Size]) -> str:
    limits = {v.measure: v.limit or 0.0 for v in verdict.measures}
    unseen = [m for m, size in sizes.items() if size.detectable > limits[m]]
    told = _told(sizes, policy, [v.measure for v in verdict.measures if v.limit is not None])
    if unseen:
        return (
            f"max_drop is smaller than the losses these queries reveal of {' and '.join(unseen)}: "
            f"ask more queries, or set {told}"
        )
    return f"the change seen suggests {told}"


def _told(sizes: Mapping[str, Size], policy: GatePolicy, gated: Iterable[str]) -> str:
    """Say what to set, what it would find, and of which gated measures nothing can be said."""
    share = _share(sizes, policy)
    drop = rounded_up(max(s.detectable for s in sizes.values()))
    limits = {
        m: drop if share is None else share * abs(s.baseline or 0.0) / 100 for m, s in sizes.items()
    }
    setting = f"max_drop = {drop:g}" if share is None else f'max_drop = "{share:g}%"'
    significant = _listed({m: s.detectable for m, s in sizes.items()})
    caught = _listed({m: limits[m] + Z_POWER * s.standard_error for m, s in sizes.items()})
    alpha = DEFAULT_ALPHA if policy.alpha is None else policy.alpha
    silent = [m for m in gated if m not in sizes]
    nothing = f"; nothing can be said of {' and '.join(silent)}" if silent else ""
    return (
        f"{setting} (losses found four times in five at alpha {alpha:g}: {significant}; one of "
        f"just max_drop fails one time in two, one of {caught} four times in five){nothing}"
    )


def _listed(sizes: Mapping[str, float]) -> str:
    return ", ".join(f"{m} {rounded_up(size):g}" for m, size in sizes.items())


def _share(sizes: Mapping[str, Size], policy: GatePolicy) -> float | None:
    """Return the percentage to set where the policy has one; None where a number must be set.

    A baseline near 0 has no share, up to the whole of it, that is large enough.
    """
    if not isinstance(policy.max_drop, str) or not all(s.baseline for s in sizes.values()):
        return None
    share = max(s.detectable / abs(s.baseline or 0.0) for s in sizes.values())
    return rounded_up(100 * share) if share <= 1 else None


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
    largest = {name: max(s.detectable for s in sizes.values()) for name, sizes in found.items()}
    nearest = min(found, key=lambda name: (largest[name], name))
    told = _told(found[nearest], policy, gated)
    text = f"{nothing}; the differences to {nearest} suggest {told}"
    return Suggestion(text, largest[nearest])


def _sizes_between(
    scores: SystemScores,
    other: Mapping[str, Mapping[str, float]],
    gated: list[str],
    policy: GatePolicy,
    known: Background,
) -> dict[str, Size]:
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
    sizes = {m: (smallest_loss(p, level), standard_error(p)) for m, p in pairs.items()}
    means = {m.measure: m.value for m in scores.means}
    return {
        m: Size(size, error, means[m])
        for m, (size, error) in sizes.items()
        if size is not None and error is not None
    }
