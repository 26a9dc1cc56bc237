"""Findings gathered by where their fix lies, and how much it would raise the means."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean
from typing import NamedTuple, get_args

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import SEVERITIES, Finding, Severity, Tag

TAGS: tuple[Tag, ...] = get_args(Tag)
"""In the order that groups alike in severity and rise are told."""


class Fix(NamedTuple):
    """One sentence of what to try, and how many findings say it."""

    text: str
    n_findings: int


@dataclass(frozen=True)  # without slots: what is derived is kept
class Rise:
    """How much means would rise if some findings were mended; all are nDCG@k, 0 or more.

    `mean` is the present mean over all systems (None without any value) and `overall` its rise.
    `means` and `by_system` are the same of each system that has a value, in the setup's order.
    `best` is the system that would ship. `by_query` is the gain of each query that gains, summed
    over the systems.
    """

    mean: float | None
    overall: float
    means: Mapping[str, float]
    by_system: Mapping[str, float]
    best: str | None
    by_query: Mapping[str, float]

    @property
    def after(self) -> float | None:
        """The mean over all systems when mended."""
        return None if self.mean is None else min(1.0, self.mean + self.overall)

    @property
    def of_best(self) -> float:
        """The rise of the system that would ship."""
        return 0.0 if self.best is None else self.by_system.get(self.best, 0.0)

    def after_of(self, system: str) -> float | None:
        """Return the mean of one system when mended."""
        present = self.means.get(system)
        return None if present is None else min(1.0, present + self.by_system[system])


@dataclass(frozen=True)  # without slots: what is derived is kept
class Group:
    """All findings of one tag. `severity` is that of the worst; `query_ids` have most gain first.

    `rise` is what mending all of them would give; the rises of groups do not add up, as one query
    can be in several groups.
    """

    tag: Tag
    severity: Severity
    findings: tuple[Finding, ...]
    query_ids: tuple[str, ...]
    systems: tuple[str, ...]
    rise: Rise

    @property
    def n_findings(self) -> int:
        """How many findings there are."""
        return len(self.findings)

    @property
    def n_queries(self) -> int:
        """How many queries they are about."""
        return len(self.query_ids)

    @cached_property
    def rules(self) -> Mapping[str, int]:
        """Rule -> its findings, the most frequent first."""
        return dict(Counter(f.rule for f in self.findings).most_common())

    @cached_property
    def severities(self) -> Mapping[Severity, int]:
        """Severity -> its findings, worst first; without those that do not occur."""
        counts = Counter(f.severity for f in self.findings)
        return {s: counts[s] for s in SEVERITIES if counts[s]}

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """What the findings say to try, the most frequent first."""
        return fixes_of(self.findings)


def roll_up(
    findings: Sequence[Finding], setup: Evidence, serving: str | None = None
) -> tuple[Group, ...]:
    """Gather findings by tag, the worst severity first, then the largest rise.

    Parameters
    ----------
    findings
        What the rules found in `setup`, in their order.
    setup
        The queries with their present values.
    serving
        The system that serves users; by default the one with the best mean.

    Returns
    -------
    tuple of Group
        One for each tag that occurs.

    Notes
    -----
    The rise is a counterfactual. For system s and query q of a group, the mended value is the
    greatest that one of the group's findings on q promises for s, and never below the present one.
    The rise of s is the sum over q of (mended - present), divided by the number of queries that
    count for s; the rise over all systems is the mean of theirs, as `Evidence.overall` is the mean
    of their means. Rises of groups do not add up: one query can be in several groups, and each is
    reckoned as if it alone were mended.
    """
    groups = [_group(tag, [f for f in findings if f.tag == tag], setup, serving) for tag in TAGS]
    found = [g for g in groups if g.findings]
    return tuple(sorted(found, key=lambda g: (SEVERITIES.index(g.severity), -g.rise.overall)))


def _group(tag: Tag, findings: Sequence[Finding], setup: Evidence, serving: str | None) -> Group:
    rise = rise_of(findings, setup, serving)
    touched = {f.query_id for f in findings}
    ids = [q.query_id for q in setup.queries if q.query_id in touched]
    blamed = {s for f in findings for s in f.systems}
    return Group(
        tag,
        min((f.severity for f in findings), key=SEVERITIES.index, default="LOW"),
        tuple(findings),
        tuple(sorted(ids, key=lambda q: -rise.by_query.get(q, 0.0))),
        tuple(s.name for s in setup.systems if s.name in blamed),
        rise,
    )


def rise_of(findings: Iterable[Finding], setup: Evidence, serving: str | None = None) -> Rise:
    """Return how much the means would rise if all of these findings were mended."""
    setup = setup.counted  # a run that is no measurement has no mean that could rise
    values = {s.name: setup.values(s.name) for s in setup.systems}
    gains = _gains(findings, values)
    present = {s: mean(found.values()) for s, found in values.items() if found}
    rises = {s: math.fsum(gains[s].values()) / len(values[s]) for s in present}
    by_query: dict[str, list[float]] = {}
    for of_system in gains.values():
        for query_id, gain in of_system.items():
            by_query.setdefault(query_id, []).append(gain)
    return Rise(
        mean=mean(present.values()) if present else None,
        overall=mean(rises.values()) if rises else 0.0,
        means=present,
        by_system=rises,
        best=serving if serving in values else best_of(present),
        by_query={q: math.fsum(found) for q, found in by_query.items()},
    )


def _gains(
    findings: Iterable[Finding], values: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Return system -> query id -> the greatest promised gain, where there is any."""
    gains: dict[str, dict[str, float]] = {s: {} for s in values}
    for finding in findings:
        query_id = finding.query_id
        for system, promised in finding.repaired.items():
            present = values.get(system, {}).get(query_id) if query_id is not None else None
            if query_id is None or present is None or not math.isfinite(promised):
                continue
            gain = min(1.0, promised) - present
            if gain > gains[system].get(query_id, 0.0):
                gains[system][query_id] = gain
    return gains


def best_of(means: Mapping[str, float]) -> str | None:
    """Return the system with the best mean, the first of several; None without any."""
    return max(means, key=lambda s: means[s], default=None)


def fixes_of(findings: Iterable[Finding]) -> tuple[Fix, ...]:
    """Return the distinct sentences of what to try, the most frequent first."""
    counts = Counter(f.fix for f in findings)
    return tuple(Fix(text, n) for text, n in counts.most_common())
