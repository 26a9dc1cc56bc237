"""Scores of two systems brought together: the queries that both have a value for, in one order."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import isfinite, nan

import numpy as np

from searchmark.errors import InputError, nearest
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import GEOMETRIC_FLOOR
from searchmark.measures.spec import Aggregate
from searchmark.stats.paired import Floats
from searchmark.stats.resampling import is_alone
from searchmark.stats.rounding import differences_of
from searchmark.stats.spread import Spread, spread_of

Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""System -> measure -> query id -> value; a query without a value is not in it."""

_GREATEST = 1e150
"""The square of a value must be a number too."""


class Pair:
    """One measure of two systems, over the queries that both have a value for.

    `queries` says which of all queries these are, and is equal for pairs over the same. `labels`
    are their clusters, None where each stands alone. `n_left_out` counts queries that only one of
    the two has a value for. A measure that is not ours is a mean, and more of it is better.
    """

    def __init__(
        self, names: tuple[str, str, str], sides: tuple[Floats, Floats], labels: Sequence[object]
    ) -> None:
        self.a, self.b, self.measure = names
        here = [np.isfinite(side) for side in sides]
        both = here[0] & here[1]
        self.queries = both.tobytes()
        self.n, self.n_left_out = int(both.sum()), int((here[0] ^ here[1]).sum())
        self.values_a, self.values_b = sides[0][both], sides[1][both]
        kept = [label for label, keep in zip(labels, both.tolist(), strict=True) if keep]
        self.labels = kept if _are_shared(kept) else None
        self.aggregate, self.higher_is_better = _kind(self.measure)

    @cached_property
    def differences(self) -> Floats:
        """What each query gains, b - a; of logarithms for a geometric mean."""
        a, b = self.values_a, self.values_b
        if self.aggregate == "geometric":
            a, b = (np.log(np.maximum(values, GEOMETRIC_FLOOR)) for values in (a, b))
        return differences_of(a, b)

    def means(self) -> tuple[float, float]:
        """Return the number of each system: the mean, or what the measure has in its place."""
        sides = (self.values_a, self.values_b)
        if self.aggregate == "geometric":
            logs = [np.log(np.maximum(side, GEOMETRIC_FLOOR)).mean() for side in sides]
            return float(np.exp(logs[0])), float(np.exp(logs[1]))
        return float(sides[0].mean()) * self.scale, float(sides[1].mean()) * self.scale

    @property
    def scale(self) -> float:
        """By what a mean over the queries is multiplied to give the measure's number."""
        return float(self.n) if self.aggregate == "sum" else 1.0

    @property
    def n_clusters(self) -> int | None:
        """How many clusters the queries come in; None where each stands alone."""
        return None if self.labels is None else self.spread.n_units

    @cached_property
    def spread(self) -> Spread:
        """How much the differences scatter, and over how many queries or clusters."""
        return spread_of(self.differences, self.labels)


def _are_shared(labels: Sequence[object]) -> bool:
    given = [label for label in labels if not is_alone(label)]
    return len(set(given)) < len(given)


def _kind(measure: str) -> tuple[Aggregate, bool]:
    """Return how a measure is taken over queries, and whether more of it is better."""
    try:
        spec = parse_measure(measure).spec
    except InputError:
        return "mean", True
    return spec.aggregate, spec.higher_is_better


def pairs_of(
    scores: Scores, reference: str | None, clusters: Mapping[str, str] | None
) -> list[Pair]:
    """Return what is to be compared, by measure, then systems in the order given.

    Raises InputError where there are not two systems, the reference is none of them, or a value is
    no finite number.
    """
    by_two = _two_by_two(list(scores), reference)
    ids = sorted({q for of in scores.values() for values in of.values() for q in values})
    labels = [None if clusters is None else clusters.get(q) for q in ids]
    columns = {
        (system, measure): _column(values, ids, f"{measure} of {system}")
        for system, of in scores.items()
        for measure, values in of.items()
    }
    measures = dict.fromkeys(measure for of in scores.values() for measure in of)
    found = [
        Pair((a, b, measure), (columns[a, measure], columns[b, measure]), labels)
        for measure in measures
        for a, b in by_two
        if (a, measure) in columns and (b, measure) in columns
    ]
    if not found:
        raise InputError("the systems share no measure", fix="measure the same of each")
    return found


def _two_by_two(systems: Sequence[str], reference: str | None) -> list[tuple[str, str]]:
    if len(systems) < 2:
        have = f"there is only '{systems[0]}'" if systems else "there is none"
        raise InputError(f"a comparison needs two systems, and {have}", fix="give two or more")
    if reference is None:
        return list(combinations(systems, 2))
    if reference not in systems:
        raise InputError(
            f"the reference '{reference}' is no system compared", fix=nearest(reference, systems)
        )
    return [(reference, other) for other in systems if other != reference]


def _column(values: Mapping[str, float], ids: Iterable[str], what: str) -> Floats:
    """Return one value for each id, NaN where there is none."""
    column = np.array([values.get(q, nan) for q in ids], np.float64)
    if np.count_nonzero(np.isfinite(column)) < len(values):
        wrong = min(q for q, value in values.items() if not isfinite(value))
        raise InputError(
            f"{what} is {values[wrong]} for the query '{wrong}', which is no finite number",
            fix="leave out queries without a value",
        )
    if (np.abs(column) > _GREATEST).any():
        wrong = min(q for q, value in values.items() if abs(value) > _GREATEST)
        raise InputError(
            f"{what} is {values[wrong]:g} for the query '{wrong}', which is too great to compare",
            fix="use a smaller unit",
        )
    return column
