"""Scores made of values a query: means and categories follow from them."""

from collections.abc import Callable, Mapping

import pytest

from searchmark.gate.baseline import Baseline, baseline_of
from searchmark.measures.summary import Evaluation, Mean, SystemScores

Values = Mapping[str, Mapping[str, float]]
"""Measure -> query id -> value."""

MakeScores = Callable[..., SystemScores]
MakeBaseline = Callable[..., Baseline]


def mean(measure: str, values: Mapping[str, float]) -> Mean:
    value = sum(values.values()) / len(values) if values else None
    return Mean(measure, value, 1.0, len(values), 0, 0, 0.0)


@pytest.fixture
def scored() -> MakeScores:
    """Return scores of values a query and, for some, its category."""

    def make(values: Values, categories: Mapping[str, str] | None = None) -> SystemScores:
        of = categories or {}
        return SystemScores(
            system="s",
            means=tuple(mean(m, v) for m, v in values.items()),
            by_category={
                name: tuple(
                    mean(m, {q: x for q, x in v.items() if of.get(q) == name})
                    for m, v in values.items()
                )
                for name in sorted(set(of.values()))
            },
            per_query=values,
        )

    return make


@pytest.fixture
def accepted(scored: MakeScores) -> MakeBaseline:
    """Return the baseline that accepting such scores makes."""

    def make(values: Values, categories: Mapping[str, str] | None = None) -> Baseline:
        made = scored(values, categories)
        conventions = {m: m for m in values}
        return baseline_of(made, Evaluation((made,), conventions, "graded", 1, {}, {}))

    return make
