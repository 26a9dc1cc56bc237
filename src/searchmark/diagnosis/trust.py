"""Whether so many answers or judgments are missing that no number can be trusted."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import Finding, Tag
from searchmark.diagnosis.rollup import Group

HOLES = "holes-at-top"

UNTRUSTED: Mapping[Tag, frozenset[str]] = {
    "RELIABILITY": frozenset({"failed-or-partial"}),
    "JUDGMENTS": frozenset({HOLES, "judged-not-in-corpus"}),
}
"""Rules whose findings leave the numbers without meaning: answers or judgments are missing."""


class Missing(NamedTuple):
    """A group that has to be mended before any number means something, and the findings why."""

    group: Group
    findings: tuple[Finding, ...]


def what_is_missing(groups: Sequence[Group], setup: Evidence) -> Missing | None:
    """Return missing answers or judgments where they are many; answers come first.

    Answers that are missing from a run that is no measurement come before all.
    """
    found = _of_invalid([f for g in groups for f in g.findings], setup) or untrusted(
        [f for g in groups for f in g.findings], setup
    )
    if not found:
        return None
    return Missing(next(g for g in groups if g.tag == found[0].tag), found)


def untrusted(findings: Sequence[Finding], setup: Evidence) -> tuple[Finding, ...]:
    """Return the findings of answers, or else of judgments, that are missing where they are many.

    Empty where the numbers can be trusted. Systems whose run is no measurement are in no number, so
    what they did not answer takes no trust away.
    """
    findings = [f for f in findings if not f.systems or set(f.systems) - set(setup.invalid)]
    for tag, rules in UNTRUSTED.items():
        found = tuple(f for f in findings if f.tag == tag and f.rule in rules)
        if found and _are_many(found, setup):
            return found
    return ()


def _of_invalid(findings: Sequence[Finding], setup: Evidence) -> tuple[Finding, ...]:
    """Return the findings that tell what is missing from runs that are no measurement."""
    rules = UNTRUSTED["RELIABILITY"]
    return tuple(f for f in findings if f.rule in rules and set(f.systems) & set(setup.invalid))


def _are_many(findings: Sequence[Finding], setup: Evidence) -> bool:
    """Whether more than ``limits.holes`` is missing: of the queries, or of the results."""
    lost = {f.query_id for f in findings if f.rule != HOLES and f.query_id is not None}
    has_holes = any(f.rule == HOLES for f in findings)
    share = len(lost) / max(len(setup.queries), 1)
    limit = setup.limits.holes
    return share > limit or (has_holes and unjudged_share(setup) > limit)


def unjudged_share(setup: Evidence) -> float:
    """Return the share of results within the cutoff that nobody judged, over all systems."""
    shown = [d for q in setup.counted.queries for r in q.rankings for d in r.within(q.k)]
    return sum(d.grade is None for d in shown) / len(shown) if shown else 0.0


def what_lacks(findings: Sequence[Finding]) -> str:
    """Return what the queries of these findings have that they should not have, or lack."""
    if findings[0].tag == "RELIABILITY":
        return "no whole answer"
    rules = {f.rule for f in findings}
    holes = ["results that nobody judged"] if HOLES in rules else []
    absent = ["judged documents that the corpus does not hold"] if rules - {HOLES} else []
    return " or ".join([*holes, *absent])


def told_invalid(setup: Evidence) -> str:
    """Say which systems are in no number, and why."""
    runs = "; ".join(f"that of {name} ({why})" for name, why in setup.invalid.items())
    return f"left out of means and verdict is every run that is no measurement: {runs}"


def why_first(findings: Sequence[Finding], setup: Evidence) -> str:
    """Say why what `what_is_missing` returned comes before all else."""
    is_invalid = bool(_of_invalid(findings, setup))
    return told_invalid(setup) if is_invalid else why_untrusted(findings, setup)


def why_untrusted(findings: Sequence[Finding], setup: Evidence) -> str:
    """Say what is wrong with the numbers."""
    if any(f.rule == HOLES for f in findings):
        return (
            f"{unjudged_share(setup):.0%} of the results within {setup.k} are unjudged and count "
            "as not relevant, so every mean may be too low and no difference is sure"
        )
    return "what is missing counts as 0, so no mean tells how good the ranking is"
