"""How a system's calls went: latency in percentiles, and what was retried, failed or empty."""

from collections.abc import Sequence
from math import ceil
from statistics import median

from searchmark.experiments.journal import Call
from searchmark.measures.summary import CallSummary

LEAST_P95, LEAST_P99 = 20, 100
"""From so many calls on there is a p95, and a p99: with fewer it would be the slowest call."""


def summarize_calls(calls: Sequence[Call]) -> CallSummary:
    """Return how calls went; latency is that of answers, without those of the warm-up."""
    answered = [c for c in calls if c.is_answer]
    took = sorted(c.latency_ms for c in answered if not c.warmup)
    sizes = [c.size for c in answered if c.size is not None]
    return CallSummary(
        n_counted=len(took),
        p50_ms=percentile(took, 0.50, least=1),
        p95_ms=percentile(took, 0.95, least=LEAST_P95),
        p99_ms=percentile(took, 0.99, least=LEAST_P99),
        n_warmup=len(answered) - len(took),
        n_retried=sum(c.attempts > 1 for c in calls),
        n_failed=sum(c.is_failure for c in calls),
        n_timeouts=sum(c.status == "timeout" for c in calls),
        n_unasked=sum(c.status == "unasked" for c in calls),
        n_empty=sum(c.status == "empty" for c in calls),
        n_partial=sum(c.partial for c in calls),
        median_bytes=float(median(sizes)) if sizes else None,
        batch=max((c.batch for c in calls), default=1),
    )


def percentile(rising: Sequence[float], share: float, *, least: int) -> float | None:
    """Return the nearest-rank percentile: the smallest value that `share` of them do not pass.

    It is a latency that was measured, never one between two. None with fewer than `least` values.
    """
    if len(rising) < least:
        return None
    return rising[ceil(round(share * len(rising), 9)) - 1]
