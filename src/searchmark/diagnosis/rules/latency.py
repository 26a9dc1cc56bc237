"""Queries that are far slower than the others."""

from collections.abc import Iterator, Sequence
from math import ceil
from statistics import median

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.wording import counted


def latency_outliers(setup: Evidence) -> Iterator[Finding]:
    """Find systems that are far slower on some queries than they usually are.

    Parameters
    ----------
    setup
        All queries with their latencies, ``limits.slow`` and ``limits.slow_ms``.

    Yields
    ------
    Finding
        At most one for each system, LOW: queries that took more than ``limits.slow`` times the
        median and more than ``limits.slow_ms`` milliseconds. Calls that failed do not count.
    """
    for system in setup.systems:
        took = {
            q.query_id: r.latency_ms
            for q in setup.queries
            if (r := q.ranking(system.name)).latency_ms is not None and not r.is_failure
        }
        if took:
            yield from _outliers(system.name, took, setup)


def _outliers(system: str, took: dict[str, float], setup: Evidence) -> Iterator[Finding]:
    middle = median(took.values())
    least = max(setup.limits.slow * middle, setup.limits.slow_ms)
    slow = [q for q, ms in took.items() if ms > least]
    if not slow:
        return
    worst = max(slow, key=lambda q: took[q])
    high = _percentile(sorted(took.values()), 0.95)
    yield Finding(
        rule="latency-outliers",
        severity="LOW",
        tag="RELIABILITY",
        what=(
            f"{system} is slow on {len(slow)} of {counted(len(took), 'query')}: '{worst}' took "
            f"{took[worst]:,.0f} ms where the median is {middle:,.1f} ms and the 95th percentile "
            f"{high:,.1f} ms"
        ),
        fix=_fix(slow, setup),
        systems=(system,),
        evidence={
            "n_slow": len(slow),
            "n_queries": len(took),
            "worst_query": worst,
            "worst_ms": took[worst],
            "median_ms": middle,
            "p95_ms": high,
            "limit_ms": least,
        },
    )


def _fix(slow: Sequence[str], setup: Evidence) -> str:
    if list(slow) == [setup.queries[0].query_id]:
        return "Warm the system up before it serves: only the first query is slow"
    return "Profile the slow queries: long texts, rare filters, cold caches, limits of the service"


def _percentile(rising: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not pass."""
    return rising[ceil(share * len(rising)) - 1]
