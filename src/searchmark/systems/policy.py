"""How a system is called: time limit, retries, concurrency, and when its run is given up."""

import msgspec

from searchmark.errors import Problem


class CallPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys that the table of every system may hold; none of them changes what a query's answer is.

    `timeout_s` is the time limit of one attempt. `concurrency` is how many calls are under way at
    once, `rate_per_s` how many start a second at most. `retries` is how often a failed call is
    made again where that may help. `stop_after` failed queries in a row end the run.
    `max_error_share` is the share of queries (0 to 1) that may fail before the scores count as
    invalid. `warmup` calls at the start are left out of latency. `batch` queries are asked in one
    call by kinds that can.
    """

    timeout_s: float | None = None
    concurrency: int = 1
    rate_per_s: float | None = None
    retries: int = 0
    stop_after: int = 10
    max_error_share: float = 0.0
    warmup: int = 0
    batch: int = 1


def policy_problems(policy: CallPolicy) -> list[Problem]:
    """Report limits that cannot be held."""
    wrong = {
        "timeout_s": policy.timeout_s is not None and not 0 < policy.timeout_s < 86_400,
        "concurrency": not 1 <= policy.concurrency <= 256,
        "rate_per_s": policy.rate_per_s is not None and not 0 < policy.rate_per_s < float("inf"),
        "retries": not 0 <= policy.retries <= 20,
        "stop_after": policy.stop_after < 1,
        "max_error_share": not 0 <= policy.max_error_share <= 1,
        "warmup": policy.warmup < 0,
        "batch": not 1 <= policy.batch <= 1000,
    }
    wanted = {
        "timeout_s": "above 0 and below 86,400 (a day)",
        "concurrency": "from 1 to 256",
        "rate_per_s": "above 0",
        "retries": "from 0 to 20",
        "stop_after": "1 or more",
        "max_error_share": "from 0 to 1",
        "warmup": "0 or more",
        "batch": "from 1 to 1,000",
    }
    return [
        Problem(key, f"{getattr(policy, key):g} is not {wanted[key]}")
        for key, is_wrong in wrong.items()
        if is_wrong
    ]
