"""A verdict as tables and sentences."""

from typing import TYPE_CHECKING

from searchmark.reports.table import Cell, Table

if TYPE_CHECKING:
    from searchmark.gate.verdict import MeasureVerdict, Verdict

MAX_TEXT = 40
"""Longer query texts are cut in tables; machine output has them whole."""


def measure_table(verdict: "Verdict") -> Table:
    """Return the gated measures: baseline, candidate, delta, limits and whether each passes."""
    return Table(
        f"{verdict.system} against its baseline",
        ("measure", "baseline", "candidate", "delta", "max drop", "floor", "better", "worse", ""),
        tuple(_measure_row(v, verdict) for v in verdict.measures),
        signed=frozenset({3}),
    )


def _measure_row(v: "MeasureVerdict", verdict: "Verdict") -> tuple[Cell, ...]:
    return (
        v.measure,
        v.baseline,
        v.candidate,
        v.delta,
        v.limit,
        v.floor,
        verdict.n_better.get(v.measure),
        verdict.n_worse.get(v.measure),
        "ok" if v.ok else "FAILED",
    )


def category_change_table(verdict: "Verdict") -> Table | None:
    """Return the categories that moved or hold a floor; None where there are none."""
    rows = tuple(
        (v.category, v.measure, v.baseline, v.candidate, v.delta, v.floor, _word(v))
        for v in verdict.categories
        if v.floor is not None or abs(v.delta or 0.0) > 1e-9
    )
    if not rows:
        return None
    return Table(
        "Categories that moved or hold a floor",
        ("category", "measure", "baseline", "candidate", "delta", "floor", ""),
        rows,
        signed=frozenset({4}),
    )


def _word(v: "MeasureVerdict") -> str:
    return "FAILED" if not v.ok else "ok" if v.floor is not None else ""


def worst_table(verdict: "Verdict") -> Table | None:
    """Return the queries that lost most; None where none lost."""
    if not verdict.worst_queries:
        return None
    return Table(
        f"The {len(verdict.worst_queries)} queries that lost most",
        ("query", "text", "measure", "baseline", "candidate", "delta"),
        tuple(
            (q.query_id, _short(q.text), q.measure, q.baseline, q.candidate, q.delta)
            for q in verdict.worst_queries
        ),
        signed=frozenset({5}),
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def tables(verdict: "Verdict") -> list[Table]:
    """Return every table that has something to show."""
    found = (measure_table(verdict), category_change_table(verdict), worst_table(verdict))
    return [t for t in found if t is not None]


def headline(verdict: "Verdict") -> str:
    """Return the verdict in a line."""
    if verdict.passed:
        return f"Gate passed: {verdict.system} holds every limit."
    n = len(verdict.because)
    return f"Gate failed: {verdict.system} breaks {n} limit{'' if n == 1 else 's'}."
