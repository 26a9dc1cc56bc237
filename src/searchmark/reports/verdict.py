"""A verdict as tables and sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchmark.errors import (
    InputError,
    NotComparableError,
    OutsideError,
    ProjectError,
    SearchmarkError,
)
from searchmark.reports.table import Cell, Table, listed, shortened

if TYPE_CHECKING:
    from searchmark.gate.verdict import MeasureVerdict, PinnedVerdict, Verdict

MAX_TEXT = 40
"""Longer query texts are cut in tables; machine output has them whole."""

NOTHING = 1e-9
"""Sums in another order differ by less; that is no move."""


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """That no verdict was given, and why: what a build shows where there are no numbers.

    `system` is None where the project could not be read. `comparable` is False where the baseline
    was made from other inputs, None where it did not come to that question.
    """

    system: str | None
    reasons: tuple[str, ...]
    exit_code: int
    comparable: bool | None = None


def no_verdict(system: str | None, error: SearchmarkError) -> NoVerdict:
    """Return what an error leaves to show."""
    if isinstance(error, NotComparableError):
        return NoVerdict(system, error.reasons or (str(error),), error.exit_code, comparable=False)
    if isinstance(error, ProjectError):
        problems = tuple(f"{p.key}: {p.message}" for p in error.problems)
        return NoVerdict(system, problems, error.exit_code)
    return NoVerdict(system, (" ".join(str(error).splitlines()),), error.exit_code)


def no_verdict_line(found: NoVerdict) -> str:
    """Return in a line that there is no verdict."""
    system = "" if found.system is None else f" on {found.system}"
    if found.comparable is False:
        return f"No verdict{system}: not comparable with the baseline."
    return f"No verdict{system}: {_ENDED.get(found.exit_code, 'the gate ended early')}."


_ENDED = {
    InputError.exit_code: "the input or the project file is wrong",
    OutsideError.exit_code: "the system or a service failed",
}

NOT_COMPARABLE_FIX = (
    "If that is meant, look at the scores, run 'searchmark baseline accept' and commit the new "
    "baseline."
)


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


def certainty_table(verdict: "Verdict") -> Table | None:
    """Return how sure each change is: interval, test, what would be seen; None where none moved."""
    held = [v for v in (*verdict.measures, *verdict.categories) if _is_known(v)]
    if not held:
        return None
    rows = tuple(
        (
            v.measure if v.category is None else f"{v.measure}, {v.category}",
            v.n_queries,
            # of the queries that are tested: others may count on one side only
            v.delta if v.paired_delta is None else v.paired_delta,
            v.low,
            v.high,
            v.p,
            v.p_adjusted,
            v.detectable,
        )
        for v in held
    )
    columns = ("measure", "queries", "delta", "low", "high", "p", "p (Holm)", "detectable")
    kept = [c for c in range(len(columns)) if c < 3 or any(row[c] is not None for row in rows)]
    return Table(
        f"How sure that is: 95% intervals{_tested(verdict)}",
        tuple(columns[c] for c in kept),
        tuple(tuple(row[c] for c in kept) for row in rows),
        signed=frozenset(i for i, c in enumerate(kept) if c in (2, 3, 4)),
    )


def _is_known(v: "MeasureVerdict") -> bool:
    return any(x is not None for x in (v.low, v.p, v.detectable))


def _tested(verdict: "Verdict") -> str:
    return "" if verdict.alpha is None else f", alpha {verdict.alpha:g}"


def category_change_table(verdict: "Verdict") -> Table | None:
    """Return the categories that moved or are held to a limit; None where there are none."""
    shown = [v for v in verdict.categories if is_held(v) or abs(v.delta or 0.0) > NOTHING]
    if not shown:
        return None
    columns = ("category", "measure", "baseline", "candidate", "delta", "max drop", "floor", "")
    has_limit = any(v.limit is not None for v in shown)
    rows = tuple(
        (v.category, v.measure, v.baseline, v.candidate, v.delta, v.limit, v.floor, _word(v))
        for v in shown
    )
    kept = [c for c in range(len(columns)) if has_limit or columns[c] != "max drop"]
    return Table(
        "Categories that moved or are held to a limit",
        tuple(columns[c] for c in kept),
        tuple(tuple(row[c] for c in kept) for row in rows),
        signed=frozenset({4}),
    )


def is_held(v: "MeasureVerdict") -> bool:
    """Tell whether a limit or a floor stands; one that no query counts for holds nothing."""
    if v.ok and v.baseline is None and v.candidate is None:
        return False
    return v.floor is not None or v.limit is not None


def _word(v: "MeasureVerdict") -> str:
    return "FAILED" if not v.ok else "ok" if is_held(v) else ""


def pinned_table(verdict: "Verdict") -> Table | None:
    """Return the pinned queries that moved, or that nothing holds; None without pinned queries."""
    if not verdict.pinned:
        return None
    n = len(verdict.pinned)
    return Table(
        f"Pinned queries: {sum(p.ok for p in verdict.pinned)} of {n} are no worse",
        ("query", "text", "measure", "baseline", "candidate", "delta", ""),
        tuple(row for p in verdict.pinned for row in _pinned_rows(p)),
        signed=frozenset({5}),
    )


def _pinned_rows(p: "PinnedVerdict") -> Iterator[tuple[Cell, ...]]:
    """Yield the moved measures of a pinned query; one row where none moved."""
    text = shortened(p.text, MAX_TEXT)
    moved = [c for c in p.changes if abs(c.loss) > NOTHING]
    for c in moved:
        word = "FAILED" if c.loss > 0 else "ok"
        yield (p.query_id, text, c.measure, c.baseline, c.candidate, c.delta, word)
    if not moved or (not p.ok and all(c.loss < 0 for c in moved)):
        word = "ok" if p.ok else "FAILED"
        yield (p.query_id, text, None, None, None, None, word)


def worst_table(verdict: "Verdict") -> Table | None:
    """Return the queries that lost most; None where none lost."""
    if not verdict.worst_queries:
        return None
    n = len(verdict.worst_queries)
    return Table(
        "The query that lost most" if n == 1 else f"The {n} queries that lost most",
        ("query", "text", "measure", "baseline", "candidate", "delta"),
        tuple(
            (q.query_id, shortened(q.text, MAX_TEXT), q.measure, q.baseline, q.candidate, q.delta)
            for q in verdict.worst_queries
        ),
        signed=frozenset({5}),
    )


def tables(verdict: "Verdict") -> list[Table]:
    """Return every table that has something to show."""
    found = (
        measure_table(verdict),
        certainty_table(verdict),
        category_change_table(verdict),
        pinned_table(verdict),
        worst_table(verdict),
    )
    return [t for t in found if t is not None]


def headline(verdict: "Verdict") -> str:
    """Return the verdict in a line."""
    if not verdict.passed:
        n = len(verdict.because)
        return f"Gate failed: {verdict.system} breaks {n} limit{'' if n == 1 else 's'}."
    if verdict.blind:
        unseen = list(dict.fromkeys(scope(v) for v in _blind(verdict)))
        return (
            f"Gate passed, but cannot tell: a loss of {listed(unseen)} beyond the limit may be "
            "there unseen."
        )
    return f"Gate passed: {verdict.system} holds every limit."


def _blind(verdict: "Verdict") -> list["MeasureVerdict"]:
    return [v for v in (*verdict.measures, *verdict.categories) if v.blind]


def scope(v: "MeasureVerdict") -> str:
    """Return measure and category, as a name."""
    return v.measure if v.category is None else f"{v.measure} in category {v.category}"


def sections(verdict: "Verdict") -> list[tuple[str, tuple[str, ...]]]:
    """Return the titled lists of sentences, those without a sentence too."""
    return [
        ("Why", verdict.because),
        ("What it cannot see", verdict.blind),
        ("Suggestions", verdict.suggestions),
        ("To know", verdict.notes),
    ]
