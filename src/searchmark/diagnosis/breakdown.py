"""Means by category, and every query beside every system."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import SEVERITIES, Finding, Severity


class CategoryRow(NamedTuple):
    """The queries of one category: how many, and each system's mean over them."""

    name: str
    n_queries: int
    means: Mapping[str, float | None]


class QueryRow(NamedTuple):
    """One query: each system's value, and what was found there."""

    query_id: str
    text: str
    capability: str
    category: str | None
    values: Mapping[str, float | None]
    n_findings: int
    severity: Severity | None

    @property
    def mean(self) -> float | None:
        """The mean over systems; None where the conventions leave the query out."""
        found = [v for v in self.values.values() if v is not None]
        return mean(found) if found else None


def category_rows(setup: Evidence) -> Iterator[CategoryRow]:
    """Yield the categories of the query set by name; nothing where it has none."""
    for name in sorted({q.category for q in setup.queries if q.category}):
        queries = [q for q in setup.queries if q.category == name]
        yield CategoryRow(name, len(queries), means_of(queries, setup))


def means_of(queries: Sequence[QueryEvidence], setup: Evidence) -> dict[str, float | None]:
    """Return system -> its mean over some queries; None where none of them counts."""
    found: dict[str, float | None] = {}
    for system in setup.systems:
        values = [v for q in queries if (v := q.ranking(system.name).value) is not None]
        found[system.name] = mean(values) if values else None
    return found


def query_rows(setup: Evidence, findings: Sequence[Finding]) -> list[QueryRow]:
    """Return every query, the lowest mean over systems first; those left out come last."""
    counts = Counter(f.query_id for f in findings)
    worst: dict[str | None, Severity] = {}
    for f in sorted(findings, key=lambda f: SEVERITIES.index(f.severity)):
        worst.setdefault(f.query_id, f.severity)
    rows = [
        QueryRow(
            q.query_id,
            q.text,
            q.capability.name,
            q.category,
            {r.name: r.value for r in q.rankings},
            counts[q.query_id],
            worst.get(q.query_id),
        )
        for q in setup.queries
    ]
    return sorted(rows, key=lambda r: (r.mean is None, r.mean))
