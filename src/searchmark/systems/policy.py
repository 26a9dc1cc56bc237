"""How a system is called: time limit, retries, concurrency, and when its run is given up."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from searchmark.errors import Problem


class CallPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys that the table of every system may hold; none of them changes what a query's answer is.

    `timeout_s` is the time limit of one attempt. `concurrency` is how many calls are under way at
    once, `rate_per_s` how many start a second at most. `retries` is how often a failed call is
    made again where that may help. `stop_after` failed queries in a row end the run.
    `max_error_share` is the share of queries (0 to 1) that may fail before the scores count as
    invalid, `max_partial_share` the share that may be answered in part (None: the same share).
    `warmup` calls at the start are left out of latency. `batch` queries are asked in one call by
    kinds that can. `renewed` are variables whose values may change while a run goes on.
    """

    timeout_s: float | None = None
    concurrency: int = 1
    rate_per_s: float | None = None
    retries: int = 0
    stop_after: int = 10
    max_error_share: float = 0.0
    max_partial_share: float | None = None
    warmup: int = 0
    batch: int = 1
    renewed: list[str] = []

    @property
    def partial_share(self) -> float:
        """The share of queries that may be answered in part: an arm that failed is a failure."""
        own = self.max_partial_share
        return self.max_error_share if own is None else own


RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "timeout_s": (0.001, 86_400),  # a day
        "concurrency": (1, 256),
        "rate_per_s": (0.001, 100_000),  # one in 17 minutes is the slowest
        "retries": (0, 20),
        "stop_after": (1, 1_000_000),
        "max_error_share": (0, 1),
        "max_partial_share": (0, 1),
        "warmup": (0, 1_000_000),
        "batch": (1, 1000),
    }
)
"""From where to where each limit may be set; beyond, clocks and waits do not hold it."""


def policy_problems(policy: CallPolicy) -> list[Problem]:
    """Report limits that cannot be held."""
    found = []
    for key, (low, high) in RANGES.items():
        value = getattr(policy, key)
        if value is not None and not low <= value <= high:  # NaN is in no range
            found.append(Problem(key, f"{value!s:.30} is not from {low:g} to {high:,}"))
    return found
