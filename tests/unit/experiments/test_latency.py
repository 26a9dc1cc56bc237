import pytest

from searchmark.experiments.journal import Call
from searchmark.experiments.latency import percentile, summarize_calls
from searchmark.measures.summary import Evaluation
from searchmark.reports.evaluation import calls_table
from searchmark.reports.table import PLAIN
from searchmark.reports.terminal import table_text


def ok(number: int, latency_ms: float, **keys: object) -> Call:
    return Call(f"q{number}", "ok", latency_ms, ["d"], [1.0], **keys)  # type: ignore[arg-type]


def test_a_percentile_is_a_latency_that_was_measured() -> None:
    ten = [float(i) for i in range(10, 110, 10)]  # 10, 20, ... 100
    assert percentile(ten, 0.5, least=1) == 50.0  # five of ten do not pass it
    assert percentile(ten, 0.95, least=1) == 100.0  # 9.5 of ten: the tenth
    assert percentile(ten[:3], 0.5, least=1) == 20.0
    hundred = [float(i) for i in range(1, 101)]
    assert percentile(hundred, 0.95, least=1) == 95.0
    assert percentile(hundred, 0.99, least=1) == 99.0
    assert percentile([], 0.5, least=1) is None


@pytest.mark.parametrize(
    ("n", "p50", "p95", "p99"),
    # the k-th of n rising values, k = ceil(share * n)
    [
        (0, None, None, None),
        (1, 1.0, None, None),
        (19, 10.0, None, None),
        (20, 10.0, 19.0, None),
        (99, 50.0, 95.0, None),
        (100, 50.0, 95.0, 99.0),
    ],
)
def test_few_calls_have_no_high_percentiles(
    n: int, p50: float | None, p95: float | None, p99: float | None
) -> None:
    found = summarize_calls([ok(i, float(n - i)) for i in range(n)])
    assert (found.n_counted, found.p50_ms, found.p95_ms, found.p99_ms) == (n, p50, p95, p99)


def test_what_counts_and_what_is_only_counted() -> None:
    calls = [
        ok(1, 900.0, warmup=True, size=10),
        ok(2, 10.0, attempts=3, size=30),
        ok(3, 20.0, size=20, partial=True),
        Call("q4", "empty", 30.0, size=2),
        Call("q5", "error", 5000.0, attempts=4, error="503"),
        Call("q6", "timeout", 9000.0, error="slow"),
        Call("q7", "unasked", 0.0, attempts=0),
        Call("q8", "missing", 0.0),
    ]
    found = summarize_calls(calls)
    assert found.n_counted == 3  # two answers and an empty one; failures and the warm-up are none
    assert found.p50_ms == 20.0
    assert found.n_warmup == 1
    assert found.n_retried == 2
    assert (found.n_failed, found.n_timeouts, found.n_unasked) == (3, 1, 1)
    assert (found.n_empty, found.n_partial) == (1, 1)
    assert found.median_bytes == 15.0  # of 2, 10, 20, 30


def test_the_table_has_dashes_where_calls_are_too_few() -> None:
    calls = {"api": summarize_calls([ok(i, 12.345, size=1000) for i in range(30)])}
    table = calls_table(Evaluation((), {}, "graded", 3, {}, {}, calls=calls))
    assert table is not None
    row = table_text(table, PLAIN).splitlines()[-1].split()
    assert row == ["api", "30", "12.35", "12.35", "-", "0", "0", "0", "0", "0", "1000"]
    assert calls_table(Evaluation((), {}, "graded", 3, {}, {})) is None
