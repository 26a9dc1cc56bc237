"""Limits that no clock could hold are problems of the file."""

from math import inf, nan
from threading import Event
from typing import Any

import pytest
from msgspec.structs import asdict

from searchmark.project.entries import decode_systems
from searchmark.systems.pacing import Clock, Pace
from searchmark.systems.policy import RANGES, CallPolicy, policy_problems


def told(key: str, value: float) -> list[tuple[str, str]]:
    problems: list[Any] = []
    decode_systems({"s": {"use": "bm25", key: value}}, problems)
    return [(p.key, p.message) for p in problems]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("timeout_s", [0.0, -1.0, 1e-300, 0.0009, 86_401, 1e300, nan, inf, -inf]),
        ("rate_per_s", [0.0, -1.0, 1e-300, 5e-324, 100_001, 1e300, nan, inf]),
        ("concurrency", [0, -1, 257, 10**30]),
        ("retries", [-1, 21, 10**30]),
        ("stop_after", [0, 1_000_001, 10**30]),
        ("warmup", [-1, 1_000_001, 10**30]),
        ("batch", [0, 1001, 10**30]),
        ("max_error_share", [-0.01, 1.01, nan, inf]),
        ("max_partial_share", [-0.01, 1.01, nan, inf]),
    ],
)
def test_what_cannot_be_held(key: str, wrong: list[float]) -> None:
    for value in wrong:
        (problem,) = told(key, value)
        assert problem[0] == f"systems.s.{key}"
        assert " is not from " in problem[1]
        assert len(problem[1]) < 80


@pytest.mark.parametrize("key", RANGES)
def test_the_ends_of_a_range_can_be_set(key: str) -> None:
    assert [told(key, value) for value in RANGES[key]] == [[], []]


def test_every_limit_has_its_range() -> None:
    numbers = {key for key, value in asdict(CallPolicy()).items() if not isinstance(value, list)}
    assert set(RANGES) == numbers
    assert policy_problems(CallPolicy()) == []


def test_the_slowest_and_the_fastest_pace_are_waits_that_a_clock_can_make() -> None:
    waits: list[float] = []
    at = [0.0]

    def wait(_: Event, seconds: float) -> None:
        waits.append(seconds)
        at[0] += seconds

    clock = Clock(now=lambda: at[0], wait=wait)
    for rate in RANGES["rate_per_s"]:
        at[0] = 0.0
        pace = Pace(rate, clock)
        for _ in range(2):
            with pace.turn(pace.ticket()):
                pass
    assert waits == [1000.0, 0.00001]  # 1 / 0.001 and 1 / 100,000
