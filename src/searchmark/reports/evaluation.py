"""An evaluation as tables: systems by measures, categories by measures, and what they rest on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from searchmark.reports.table import Cell, Table, leaders

if TYPE_CHECKING:
    from searchmark.measures.summary import Evaluation, Mean, SystemScores


def comparison_table(evaluation: "Evaluation") -> Table:
    """Return systems by measures, with the ceilings as the last row."""
    names = list(evaluation.conventions)
    rows: list[tuple[Cell, ...]] = [
        (s.system, *(s.mean(m).value for m in names)) for s in evaluation.systems
    ]
    best = leaders(rows, range(1, len(names) + 1))
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
        f"{system} by category",
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
                scores.system,
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


def legend(comparison: Table) -> str:
    """Return what the marks of a comparison mean, of those that occur."""
    parts = []
    if comparison.best:
        parts.append("* the best of its column")
    if comparison.rules:
        parts.append("ceiling: the best mean any ranking could reach")
    if comparison.spans:
        parts.append("[low, high]: where the mean over all such queries lies, 95 times in 100")
    return "; ".join(parts)


def sensitivity_lines(evaluation: "Evaluation") -> list[str]:
    """Return what these queries can show, in a sentence or two; nothing where nobody asked."""
    overall = [s for s in evaluation.sensitivity if s.category is None]
    if not overall:
        return []
    first = overall[0]
    counted = f" in {first.n_clusters:,} clusters" if first.n_clusters else ""
    alike = [s for s in overall if s.n_queries == first.n_queries]
    sizes = _listed([f"{s.detectable:.3f} {s.measure}" for s in alike])
    basis = "the two most alike of these systems"
    if first.basis != "pairs":
        basis = "two unrelated systems like this one"
    lines = [
        f"With {_queries(first.n_queries)}{counted}, differences under {sizes} are not detectable "
        f"(by {basis}; 80% power at the 5% level)."
    ]
    if first.needed:
        takes = _listed([f"{d:g} about {n:,}" for d, n in first.needed])
        lines[0] += f" To see a difference in {first.measure} of {takes} queries are needed."
    parts = [s for s in evaluation.sensitivity if s.category and s.measure == first.measure]
    if parts:
        each = ", ".join(f"{s.category} {s.detectable:.3f} ({s.n_queries:,})" for s in parts)
        lines.append(f"The least that each category (queries) shows in {first.measure}: {each}.")
    return lines


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


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
