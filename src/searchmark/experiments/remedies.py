"""What findings suggest to change in a project file: only keys that its systems really have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding
from searchmark.diagnosis.rollup import fixes_of, rise_of
from searchmark.diagnosis.wording import counted, listed
from searchmark.project import Project
from searchmark.systems.parts import parts_of
from searchmark.systems.protocol import Entry

CLOSE = 10
"""The constant of reciprocal rank fusion that is tried where a hybrid loses to its best part.

With 60, rank 20 in both parts (2/80) beats rank 1 in one (1/61); with 10 it does not (2/30, 1/11).
"""

WORTH = 0.01
"""A hybrid that loses less of its mean to its best part keeps its constant."""

MOST_FIELDS = 3
"""So many fields are added at once: each one dilutes the others."""


class Change(NamedTuple):
    """A key of a system's table with its value before and after, and why.

    `before` is None where the file does not give the key; `added` are the items that are new in a
    list or table.
    """

    system: str
    key: str
    before: Any
    after: Any
    why: str
    added: tuple[str, ...] = ()


class Remark(NamedTuple):
    """What nothing in the file can mend today; `system` is the one whose table it belongs to."""

    text: str
    system: str | None = None


def remedies(project: Project, findings: Sequence[Finding], setup: Evidence) -> tuple[Change, ...]:
    """Return the changes that the findings suggest, in the order of the setup's systems."""
    found: list[Change] = []
    for system in setup.systems:
        entry = project.systems.get(system.name)
        if entry is None:
            continue
        table = project.file.systems[entry.name]
        theirs = [f for f in findings if entry.name in f.systems]
        found += _looser(entry, table, theirs, setup)
        found += _more_fields(entry, table, theirs, setup)
        found += _closer(entry, table, theirs, setup)
    return tuple(found)


def _looser(
    entry: Entry, table: Mapping[str, Any], findings: Sequence[Finding], setup: Evidence
) -> Iterator[Change]:
    """Let any word match where a strict keyword search found nothing at all."""
    config = entry.config
    strict = entry.use == "bm25" and getattr(config, "candidates", "") == "and"
    if not strict or getattr(config, "fallback", True):
        return
    touched = {f.query_id for f in findings}
    nothing = [q for q in setup.queries if q.ranking(entry.name).status == "empty"]
    n_lost = sum(q.has_answer and q.query_id in touched for q in nothing)
    if not n_lost:
        return
    n_rightly = sum(not q.has_answer for q in nothing)
    why = f"asking for every word found nothing for {counted(n_lost, 'query')} with an answer"
    if n_rightly:
        why += f"; it was right to for {n_rightly} without one, so look at these again"
    yield Change(entry.name, "fallback", table.get("fallback"), True, why)


def _more_fields(
    entry: Entry, table: Mapping[str, Any], findings: Sequence[Finding], setup: Evidence
) -> Iterator[Change]:
    """Let a system read the fields that hold the words which it does not see."""
    config = entry.config
    present = getattr(config, "fields", None)
    if entry.use not in ("bm25", "dense") or present is None:
        return
    counts = Counter(name for f in findings for name in named_fields(f))
    known = {n for item in present for n in (item if isinstance(item, list) else [item])}
    known.update(getattr(config, "substring", ()))
    texts = setup.documents.fields
    added = [n for n, _ in counts.most_common() if n in texts and n not in known][:MOST_FIELDS]
    if not added:
        return
    after = (
        {**present, **dict.fromkeys(added, 1)}
        if isinstance(present, Mapping)
        else [*present, *added]
    )
    n = sum(bool(set(named_fields(f)) & set(added)) for f in findings)
    verb = "holds" if len(added) == 1 else "hold"
    why = f"{listed(added)} {verb} words of queries whose documents were missed ({n} times)"
    yield Change(entry.name, "fields", table.get("fields"), after, why, tuple(added))


def named_fields(finding: Finding) -> tuple[str, ...]:
    """Return the fields that a finding says should be read."""
    if finding.tag != "EMBEDDING_FIELDS":
        return ()
    written = str(finding.evidence.get("fields", ""))
    return tuple(filter(None, (part.strip() for part in written.split(","))))


def _closer(
    entry: Entry, table: Mapping[str, Any], findings: Sequence[Finding], setup: Evidence
) -> Iterator[Change]:
    """Let first places count more in a fusion that falls below its best part."""
    below = [f for f in findings if f.rule == "hybrid-below-best"]
    lost = rise_of(below, setup).by_system.get(entry.name, 0.0)
    if entry.use != "hybrid" or lost < WORTH or getattr(entry.config, "k", 0) <= CLOSE:
        return
    why = (
        f"it fell below its best part on {counted(len(below), 'query')}, which costs {lost:.3f} of "
        f"its mean {setup.measure}; with a smaller constant the first places of one part weigh "
        "more than middling ones of both"
    )
    yield Change(entry.name, "k", table.get("k"), CLOSE, why)


def joining(changes: Sequence[Change], project: Project, setup: Evidence) -> Iterator[Remark]:
    """Yield a warning for each system that joins changed ones: it may well get worse by that."""
    changed = {c.system for c in changes}
    for name in (s.name for s in setup.systems):
        arms = parts_of(project.systems[name].config)
        joined = [a for a in arms if a in changed]
        if joined:
            mean = None if name in setup.invalid else setup.mean(name)
            before = "" if mean is None else f" (it was {mean:.3f})"
            yield Remark(
                f"it joins the changed {listed(joined)} now, and a part that returns more can push "
                f"right results down; look at its mean{before} before it serves",
                name,
            )


def remarks(
    findings: Sequence[Finding], changes: Sequence[Change], setup: Evidence
) -> Iterator[Remark]:
    """Yield what has to be done elsewhere: one remark for each rule that no change answers."""
    for rule in dict.fromkeys(f.rule for f in findings):
        left = [f for f in findings if f.rule == rule and not _is_answered(f, changes)]
        if not left:
            continue
        fix = fixes_of(left)[0].text.rstrip(".")
        told = f"{fix} ({counted(len(left), 'finding')} of {rule})"
        yield Remark(told, _of_one(left, setup) if rule == "no-answer-answered" else None)


_ANSWERS = {
    "fallback": frozenset({"every-system-fails", "pairwise-gap", "failed-or-partial"}),
    "fields": frozenset({"relevant-missed"}),
    "k": frozenset({"hybrid-below-best"}),
}
"""Changed key -> the rules whose findings it may mend."""


def _is_answered(finding: Finding, changes: Sequence[Change]) -> bool:
    if finding.tag == "RELIABILITY":
        return False
    return any(c.system in finding.systems and finding.rule in _ANSWERS[c.key] for c in changes)


def _of_one(findings: Sequence[Finding], setup: Evidence) -> str | None:
    """Return the system that most of the findings are about; of several the first."""
    counts = {s.name: sum(s.name in f.systems for f in findings) for s in setup.systems}
    return max(counts, key=lambda s: counts[s], default=None)
