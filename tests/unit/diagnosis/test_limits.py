from typing import Any

import pytest

from searchmark.diagnosis.limits import Levels, Limits, find_problems, level_of


def problems(**limits: Any) -> list[str]:
    return [f"{p.key}: {p.message}" for p in find_problems(Limits(**limits), {})]


def level(name: str, *values: float) -> list[str]:
    return problems(levels={name: Levels(*(values or (0.9, 0.5, 0.1)))})


@pytest.mark.parametrize("name", ["nDCG", "P", "RR", "nDCG@10", "P@5"])
def test_levels_of_the_means_that_are_told_in_words(name: str) -> None:
    assert level(name) == []
    limits = Limits(levels={name: Levels(0.9, 0.5, 0.1)})
    assert level_of(name, 0.85, limits) == "acceptable"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nDGC", "did you mean 'nDCG'?"),
        ("MRR", "did you mean 'RR'?"),
        ("ndcg@10", "did you mean 'nDCG'?"),
        ("AP", "did you mean 'P'?"),
        ("nDCG@x", "did you mean 'nDCG'?"),
        ("", "known: P, RR, nDCG"),
    ],
)
def test_levels_that_would_never_apply(name: str, hint: str) -> None:
    assert level(name) == [f"diagnosis.levels.{name}: no mean is told in '{name}'; {hint}"]


def test_levels_that_cannot_be() -> None:
    assert level("P", float("inf"), 0.5, -0.1) == [
        "diagnosis.levels.P.good: inf is not from 0 to 1",
        "diagnosis.levels.P.poor: -0.1 is not from 0 to 1",
    ]
    assert level("P", float("nan"), 0.5, 0.1) == ["diagnosis.levels.P.good: nan is not from 0 to 1"]
    assert level("P", 1.0, 0.0, 0.0) == []
    assert level("P", 0.5, 0.6, 0.1) == [
        "diagnosis.levels.P: good, acceptable and poor must not rise"
    ]


@pytest.mark.parametrize("name", ["missed_grade", "top_ranks", "k"])
@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, ["0 is not 1 or more"]),
        (-3, ["-3 is not 1 or more"]),
        (1, []),
        (2**63 - 1, []),
        (2**63, ["it has more than 64 bits"]),
        (-(2**70), ["it has more than 64 bits"]),
    ],
)
def test_whole_numbers_that_cannot_be(name: str, value: int, told: list[str]) -> None:
    assert problems(**{name: value}) == [f"diagnosis.{name}: {t}" for t in told]
