from collections.abc import Sequence
from typing import Any

import pytest

from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rules.latency import latency_outliers

from .making import evidence, query
from .scenes import revised


def found(took: Sequence[float | None], failed: int | None = None, **limits: Any) -> list[Finding]:
    """Diagnose one system that took so many milliseconds for each query."""
    queries = []
    for i, ms in enumerate(took):
        made = query({"a": 1}, {"bm25": ("lexical", ["a"])}, query_id=f"q{i}")
        status = "timeout" if i == failed else "ok"
        queries.append(revised(made, "bm25", latency_ms=ms, status=status))
    return list(latency_outliers(evidence(*queries, **limits)))


def test_one_slow_query() -> None:
    """The median of 20, 40, 40, 40 and 300 is 40; five times that is 200; p95 is the largest."""
    (finding,) = found([20, 40, 40, 300, 40])
    assert (finding.rule, finding.severity, finding.tag) == (
        "latency-outliers",
        "LOW",
        "RELIABILITY",
    )
    assert (finding.query_id, finding.systems) == (None, ("bm25",))
    assert finding.evidence == {
        "n_slow": 1,
        "n_queries": 5,
        "worst_query": "q3",
        "worst_ms": 300,
        "median_ms": 40,
        "p95_ms": 300,
        "limit_ms": 200.0,
    }
    assert finding.what == (
        "bm25 is slow on 1 of 5 queries: 'q3' took 300 ms where the median is 40.0 ms and the 95th "
        "percentile 300.0 ms"
    )


@pytest.mark.parametrize(("ms", "n"), [(200, 0), (200.1, 1)])
def test_times_the_median(ms: float, n: int) -> None:
    assert len(found([40, 40, ms])) == n
    assert found([40, 40, ms], slow=6) == []


@pytest.mark.parametrize(("ms", "n"), [(100, 0), (100.1, 1)])
def test_least_milliseconds(ms: float, n: int) -> None:
    """The median is 1 ms, so 5 ms would do: it takes 100 ms."""
    assert len(found([1, 1, ms])) == n


def test_failed_calls_and_unknown_times_do_not_count() -> None:
    assert found([40, 40, 900, 40], failed=2) == []
    assert found([40, 40, None]) == []
    assert found([None, None]) == []


def test_95th_percentile() -> None:
    """Of 20 values the 19th in order is the smallest that 95% do not pass."""
    (finding,) = found([10] * 18 + [150, 900])
    assert (finding.evidence["p95_ms"], finding.evidence["n_slow"]) == (150, 2)
    assert finding.evidence["worst_query"] == "q19"


def test_only_the_first_query_is_slow() -> None:
    (finding,) = found([500, 1, 1])
    assert finding.fix.startswith("Warm the system up")
    (other,) = found([1, 500, 1])
    assert other.fix.startswith("Profile")
