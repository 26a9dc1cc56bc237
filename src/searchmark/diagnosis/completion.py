"""Whether the setup is good enough to ship, and which of the three conditions says so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from searchmark.diagnosis.capabilities import CAPABILITIES
from searchmark.diagnosis.evidence import Evidence, Kind
from searchmark.diagnosis.finding import SEVERITIES, Finding
from searchmark.diagnosis.wording import counted

SERVED_BY: Mapping[str, tuple[Kind, ...]] = {
    "semantic": ("vector", "hybrid"),
    "exact": ("lexical", "hybrid"),
    "structured": ("lexical", "hybrid"),
    "combined": ("lexical", "hybrid"),
    "autocomplete": ("lexical", "hybrid"),
    "fuzzy": ("lexical", "hybrid"),
}
"""Capability -> the kinds of system that are made for it.

A concept in other words than the document's needs meaning; names, values, prefixes and misspelled
words are matters of the letters. A hybrid has both, so it serves all of them. A system without a
tag serves none, and a capability that is not listed is served by any system with a tag.
"""

_ANY: tuple[Kind, ...] = ("lexical", "vector", "hybrid")


class Condition(NamedTuple):
    """One way to pass: whether it held, and the sentence that says so or why not."""

    name: Literal["mean", "findings", "use-case"]
    held: bool
    because: str


@dataclass(frozen=True, slots=True)
class Completion:
    """The verdict. `because` are the conditions that held, or, where none did, why each did not."""

    passed: bool
    because: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()


def complete(findings: Sequence[Finding], setup: Evidence) -> Completion:
    """Return whether the setup passes: one of three conditions is enough.

    Parameters
    ----------
    findings
        What the rules found in `setup`.
    setup
        The queries, the systems and the thresholds.

    Returns
    -------
    Completion
        Passed where the mean over all systems is above ``limits.mean``, or all findings are LOW
        (or there are none), or there is no HIGH finding and each capability that occurs among the
        queries is served by a system tagged for it (see `SERVED_BY`).

    Notes
    -----
    Without any query, system or value nothing was shown, and it does not pass, whatever there is
    of findings. The mean has to be above the threshold, not at it.
    """
    if (nothing := _nothing_shown(setup)) is not None:
        return Completion(False, (nothing,))
    conditions = (_by_mean(setup), _by_findings(findings, setup), _by_use_case(findings, setup))
    passed = any(c.held for c in conditions)
    return Completion(passed, tuple(c.because for c in conditions if c.held == passed), conditions)


def _nothing_shown(setup: Evidence) -> str | None:
    if not setup.queries:
        return "no query is judged, so nothing was measured"
    if not setup.systems:
        return "no system was run, so nothing was measured"
    if setup.overall is None:
        return f"no query counts for {setup.measure}, so no system has a mean"
    return None


def _by_mean(setup: Evidence) -> Condition:
    overall, least = setup.overall or 0.0, setup.limits.mean
    held = overall > least
    over = "over all systems" if len(setup.systems) > 1 else f"of {setup.systems[0].name}"
    place = "above" if held else "not above"
    sentence = f"the mean {setup.measure} {over} is {overall:.4f}, {place} {least:g}"
    return Condition("mean", held, sentence)


def _by_findings(findings: Sequence[Finding], setup: Evidence) -> Condition:
    off = f" ({counted(len(setup.limits.off), 'rule')} switched off)" if setup.limits.off else ""
    if not findings:
        return Condition("findings", True, f"there are no findings{off}")
    worse = [f for f in findings if f.severity != "LOW"]
    if not worse:
        return Condition("findings", True, f"all {counted(len(findings), 'finding')} are LOW{off}")
    counts = (f"{n} {s}" for s in SEVERITIES[:-1] if (n := sum(f.severity == s for f in worse)))
    sentence = f"{len(worse)} of {counted(len(findings), 'finding')} are worse than LOW"
    return Condition("findings", False, f"{sentence}: {', '.join(counts)}")


def _by_use_case(findings: Sequence[Finding], setup: Evidence) -> Condition:
    n_high = sum(f.severity == "HIGH" for f in findings)
    unserved = [c for c in capabilities(setup) if not served_by(c, setup)]
    if not n_high and not unserved:
        served = ", ".join(
            f"{c} by {' and '.join(served_by(c, setup))}" for c in capabilities(setup)
        )
        sentence = f"there is no HIGH finding, and the systems fit the queries ({served})"
        return Condition("use-case", True, sentence)
    return Condition("use-case", False, "; ".join(_misfits(n_high, unserved, setup)))


def _misfits(n_high: int, unserved: Sequence[str], setup: Evidence) -> Iterator[str]:
    if n_high:
        yield f"there {'is' if n_high == 1 else 'are'} {counted(n_high, 'HIGH finding')}"
    if unserved:
        wanted = ", ".join(f"{c} (wants {' or '.join(SERVED_BY.get(c, _ANY))})" for c in unserved)
        untagged = [s.name for s in setup.systems if not s.kind]
        hint = f"; {', '.join(untagged)} without a tag cannot count" if untagged else ""
        yield f"no system is tagged for these queries: {wanted}{hint}"


def capabilities(setup: Evidence) -> tuple[str, ...]:
    """Return the capabilities among the queries, in their own order, then others as they come."""
    present = dict.fromkeys(q.capability.name for q in setup.queries)
    known = [c for c in CAPABILITIES if c in present]
    return (*known, *(c for c in present if c not in CAPABILITIES))


def served_by(capability: str, setup: Evidence) -> tuple[str, ...]:
    """Return the systems that are tagged for a capability."""
    kinds = SERVED_BY.get(capability, _ANY)
    return tuple(s.name for s in setup.systems if s.kind in kinds)
