"""An evaluation as tables: systems by measures, categories by measures, and what they rest on."""

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from searchmark.reports.table import Cell, Table, leaders, listed

if TYPE_CHECKING:
    from searchmark.measures.summary import Evaluation, Mean, Sensitivity, SystemScores


INVALID = "INVALID"
"""Stands behind the name of a system whose scores are no measurement."""


def comparison_table(evaluation: "Evaluation") -> Table:
    """Return systems by measures, with the ceilings as the last row."""
    names = list(evaluation.conventions)
    rows: list[tuple[Cell, ...]] = [
        (marked(s), *(s.mean(m).value for m in names)) for s in evaluation.systems
    ]
    counted = [i for i, s in enumerate(evaluation.systems) if s.invalid is None]
    best = leaders([rows[i] for i in counted], range(1, len(names) + 1))
    best = frozenset((counted[row], column) for row, column in best)
    ceilings = _ceilings(evaluation.systems, names)
    rules: frozenset[int] = frozenset()
    if ceilings is not None:
        rules = frozenset({len(rows)})
        rows.append(("ceiling", *ceilings))
    return Table(
        f"Systems, mean over {_queries(evaluation.n_queries)}",
        ("system", *names),
        tuple(rows),
        best,
        rules=rules,
        spans=_spans([[s.mean(n) for n in names] for s in evaluation.systems]),
    )


def marked(scores: "SystemScores") -> str:
    """Return the name of a system, with a mark where its scores are no measurement."""
    return scores.system if scores.invalid is None else f"{scores.system} {INVALID}"


def _spans(
    rows: "Sequence[Sequence[Mean]]", first: int = 1
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the intervals of a table's cells, the first of which stands in column `first`."""
    return {
        (r, c): (mean.low, mean.high)
        for r, means in enumerate(rows)
        for c, mean in enumerate(means, first)
        if mean.low is not None and mean.high is not None
    }


def category_table(evaluation: "Evaluation", system: str) -> Table | None:
    """Return one system's categories by measures, with ceilings; None where there are none."""
    scores = next(s for s in evaluation.systems if s.system == system)
    if not scores.by_category:
        return None
    names = list(evaluation.conventions)
    rows: list[tuple[Cell, ...]] = []
    sure: list[Sequence[Mean]] = []  # the means of each row, whose intervals stand under it
    for category, means in scores.by_category.items():
        by_name = {m.measure: m for m in means}
        cells = [by_name[n] for n in names]
        rows.append((category, evaluation.categories.get(category), *(c.value for c in cells)))
        sure.append(cells[:1])  # the first measure's interval; all of them would be too wide
        if any(_below_one(c) for c in cells):
            rows.append(("  ceiling", None, *(c.ceiling if _below_one(c) else None for c in cells)))
            sure.append([])
    sure.append([scores.mean(names[0])])
    rows.append(("all", evaluation.n_queries, *(scores.mean(n).value for n in names)))
    return Table(
        f"{marked(scores)} by category",
        ("category", "queries", *names),
        tuple(rows),
        rules=frozenset({len(rows) - 1}),
        spans=_spans(sure, first=2),
    )


def counts_table(evaluation: "Evaluation") -> Table:
    """Return what each system's numbers rest on."""
    rows = []
    for scores in evaluation.systems:
        first = scores.means[0]
        rows.append(
            (
                marked(scores),
                first.n_queries,
                first.n_missing,
                scores.n_failed,
                first.n_skipped,
                first.unjudged_share,
            )
        )
    measure = next(iter(evaluation.conventions))
    return Table(
        f"What {measure} rests on",
        ("system", "queries", "missing", "failed", "left out", "unjudged results"),
        tuple(rows),
    )


def calls_table(evaluation: "Evaluation") -> Table | None:
    """Return how asking each system went; None where nobody was asked."""
    if not evaluation.calls:
        return None
    names = {s.system: marked(s) for s in evaluation.systems}
    rows: list[tuple[Cell, ...]] = [
        (
            *(names.get(system, system), c.n_counted, c.p50_ms, c.p95_ms, c.p99_ms, c.n_warmup),
            *(c.n_retried, c.n_failed, c.n_timeouts, c.n_empty, c.median_bytes),
        )
        for system, c in evaluation.calls.items()
    ]
    return Table(
        "Calls: latency in ms of those that were answered, without warm-up",
        (
            *("system", "calls", "p50", "p95", "p99", "warm-up"),
            *("retried", "failed", "timeouts", "empty", "bytes"),
        ),
        tuple(rows),
        decimals={**dict.fromkeys((2, 3, 4), 2), 10: 0},
    )


def call_lines(evaluation: "Evaluation") -> list[str]:
    """Return what the latencies cannot be read without."""
    found = []
    for system, c in evaluation.calls.items():
        if c.batch > 1:
            found.append(
                f"{system} was asked up to {c.batch} queries a call: its latencies are of whole "
                "calls."
            )
        if c.n_unasked:
            found.append(f"{system}: {c.n_unasked} of the failed queries were not asked.")
    return found


def legend(comparison: Table) -> str:
    """Return what the marks of a comparison mean, of those that occur."""
    parts = []
    if any(str(row[0]).endswith(f" {INVALID}") for row in comparison.rows):
        parts.append(f"{INVALID}: a run with too much missing, so these numbers are no measurement")
    if comparison.best:
        parts.append("* the best of its column")
    if comparison.rules:
        parts.append("ceiling: the best mean any ranking could reach")
    if comparison.spans:
        parts.append("[low, high]: where the mean over all such queries lies, 95 times in 100")
    return "; ".join(parts)


def query_set_lines(evaluation: "Evaluation", system: str | None = None) -> list[str]:
    """Return what these queries can show, and which means have no interval, or a rough one.

    With a `system` that of the first measure by category is told too.
    """
    told = _interval_notes(evaluation, system)
    return sensitivity_lines(evaluation) + (["; ".join(told) + "."] if told else [])


def _interval_notes(evaluation: "Evaluation", system: str | None) -> list[str]:
    """Return each note of an interval in the tables once, with the names of all it is about."""
    told: dict[tuple[str, bool], dict[str, None]] = {}
    for scores in evaluation.systems:
        for mean in scores.means:
            if mean.interval_note:
                key = (mean.interval_note, mean.low is None)
                told.setdefault(key, {})[mean.measure] = None
        for category, means in scores.by_category.items() if scores.system == system else ():
            for mean in means[:1]:
                key = (mean.interval_note or "", mean.low is None)
                if mean.interval_note and mean.measure not in told.get(key, ()):
                    told.setdefault(key, {})[f"{mean.measure} of {category}"] = None
    return [noted(list(names), note, is_none) for (note, is_none), names in told.items()]


def noted(names: Sequence[str], note: str, is_none: bool) -> str:
    """Return a note of an interval behind what it is about."""
    if not is_none:
        return f"{listed(names)}: {note}"
    return f"{listed(names)} {'has' if len(names) == 1 else 'have'} no interval: {note}"


def sensitivity_lines(evaluation: "Evaluation") -> list[str]:
    """Return what these queries can show, in a sentence or two; nothing where nobody asked."""
    overall = [s for s in evaluation.sensitivity if s.category is None]
    if not overall:
        return []
    first = overall[0]
    pairs = {s.pair for s in overall}
    over: dict[tuple[int, int | None], list[Sensitivity]] = {}
    for s in overall:
        over.setdefault((s.n_queries, s.n_clusters), []).append(s)
    parts = [
        f"with {_over(*basis)} under {_sizes(alike, named=len(pairs) > 1)}"
        for basis, alike in over.items()
    ]
    head = parts[0].replace("with", "With", 1).replace(" under", ", differences under", 1)
    rest = f", {', '.join([*parts[1:-1], 'and ' + parts[-1]])}," if parts[1:] else ""
    lines = [
        f"{head}{rest} are not detectable (by {_basis(evaluation, first, pairs)}; 80% power at the "
        "5% level)."
    ]
    if first.needed:
        takes = listed([f"{d:g} about {n:,}" for d, n in first.needed])
        lines[0] += f" To see a difference in {first.measure} of {takes} queries are needed."
    by_category = [s for s in evaluation.sensitivity if s.category and s.measure == first.measure]
    if by_category:
        means = [s.means[0] for s in evaluation.systems if s.invalid is None and s.means]
        top = max((m.value or 0.0 for m in means), default=1.0)
        each = ", ".join(_least(s, top) for s in by_category)
        lines.append(f"The least that each category (queries) shows in {first.measure}: {each}.")
    return lines


def _least(s: "Sensitivity", top: float) -> str:
    """Return the least that a category shows; a share cannot differ by more than 1."""
    size = "nothing" if top <= 1 <= s.detectable else f"{s.detectable:.3f}"
    return f"{s.category} {size} ({s.n_queries:,})"


def _over(n_queries: int, n_clusters: int | None) -> str:
    return _queries(n_queries) + (f" in {n_clusters:,} clusters" if n_clusters else "")


def _sizes(alike: "Sequence[Sensitivity]", *, named: bool) -> str:
    """Return the least differences that are seen; those of one pair stand together."""
    by_pair: dict[tuple[str, str] | None, list[str]] = {}
    for s in alike:
        by_pair.setdefault(s.pair, []).append(f"{s.detectable:.3f} {s.measure}")
    return listed(
        [
            listed(sizes) + (f" ({' and '.join(pair)})" if named and pair else "")
            for pair, sizes in by_pair.items()
        ]
    )


def _basis(
    evaluation: "Evaluation", first: "Sensitivity", pairs: "Set[tuple[str, str] | None]"
) -> str:
    """Return whose differences the sizes are of."""
    if first.basis != "pairs":
        return "two unrelated systems like this one"
    if len(pairs) > 1:
        return "the differences of the pairs named"
    return f"the differences between {' and '.join(first.pair or ('two of these', 'systems'))}"


def ties_table(evaluation: "Evaluation") -> Table | None:
    """Return what the means could be in other orders of tied documents; None where none moves."""
    rows: list[tuple[Cell, ...]] = []
    for scores in evaluation.systems:
        for measure, band in evaluation.bands.get(scores.system, {}).items():
            value = scores.mean(measure).value
            expected: Cell = band.expected if band.is_exact else f"~{band.expected:.4f}"
            row = (scores.system, measure, band.worst, expected, value, band.best, band.n_queries)
            rows.append(row)
    if not rows:
        return None
    return Table(
        "Ties: what these means could be in another order of equal scores",
        ("system", "measure", "worst", "expected", "as ordered", "best", "queries"),
        tuple(rows),
    )


def basis_table(evaluation: "Evaluation") -> Table | None:
    """Return the counts of each run; None where nobody counted."""
    if not evaluation.counts:
        return None
    return Table(
        "What the numbers rest on",
        (
            "system",
            "judged",
            "answered",
            "missing",
            "no relevant",
            "not judged",
            "retrieved",
            "tied",
            "duplicates",
        ),
        tuple(
            (
                name,
                c.n_queries,
                c.n_answered,
                c.n_missing,
                c.n_empty,
                c.n_unjudged_queries,
                c.n_retrieved,
                c.n_tied,
                c.n_duplicates,
            )
            for name, c in evaluation.counts.items()
        ),
    )


def needs_counts(evaluation: "Evaluation") -> bool:
    """Tell whether any query is missing, left out or rests on unjudged results."""
    return any(
        m.n_missing or m.n_skipped or (m.unjudged_share or 0) > 0
        for s in evaluation.systems
        for m in s.means[:1]
    )


def convention_lines(evaluation: "Evaluation") -> list[str]:
    """Return the conventions in force, one line a measure."""
    return [f"profile {evaluation.profile}", *evaluation.conventions.values()]


def _ceilings(systems: "Sequence[SystemScores]", names: Sequence[str]) -> list[Cell] | None:
    if not systems:
        return None
    found: list[Cell] = [systems[0].mean(n).ceiling for n in names]
    return found if any(c is not None for c in found) else None


def _below_one(mean: "Mean") -> bool:
    return mean.ceiling is not None and mean.ceiling < 1 - 1e-9


def _queries(n: int) -> str:
    return f"{n:,} quer{'y' if n == 1 else 'ies'}"
