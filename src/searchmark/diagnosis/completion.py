"""Whether the setup is good enough to ship, and which of the three conditions says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from searchmark.diagnosis.capabilities import CAPABILITIES
from searchmark.diagnosis.evidence import Evidence, Kind
from searchmark.diagnosis.finding import SEVERITIES, Finding
from searchmark.diagnosis.limits import is_above
from searchmark.diagnosis.trust import told_invalid, untrusted, what_lacks, why_untrusted
from searchmark.diagnosis.wording import are, counted, told
from searchmark.diagnosis.worth import can_be_answered

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
    """The verdict. `because` are the conditions that held, or, where none did, why each did not.

    `caveat` says why the numbers, and so the verdict, cannot be trusted; None where they can.
    """

    passed: bool
    because: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    caveat: str | None = None


def complete(
    findings: Sequence[Finding], setup: Evidence, serving: str | None = None
) -> Completion:
    """Return whether the setup passes: one of three conditions is enough.

    Parameters
    ----------
    findings
        What the rules found in `setup`.
    setup
        The queries, the systems and the thresholds.
    serving
        The system that serves users, where it is known.

    Returns
    -------
    Completion
        Passed where the mean over all systems is above ``limits.mean``, or all findings are LOW
        (or there are none), or there is no HIGH finding and each capability that occurs among the
        queries is served by a system tagged for it (see `SERVED_BY`).

    Notes
    -----
    Without any query, system or value nothing was shown, and it does not pass, whatever there is
    of findings; nor where no query has an answer and some are answered. The mean has to be above
    the threshold, not at it. Where many answers or judgments are missing the conditions are asked
    all the same, and the caveat says that they are asked of numbers that cannot be trusted. Systems
    whose run is no measurement take no part; the caveat names them. Where the system that serves is
    one of them nothing passes.
    """
    if serving is not None and serving in setup.invalid:
        told = f"{serving}, which serves users, is INVALID: {setup.invalid[serving]}"
        return Completion(False, (told,))
    setup = setup.counted
    if (nothing := _nothing_shown(setup) or _no_answers(setup)) is not None:
        return Completion(False, (nothing,))
    conditions = (_by_mean(setup), _by_findings(findings, setup), _by_use_case(findings, setup))
    passed = any(c.held for c in conditions)
    # how many findings are HIGH is told by the second condition, so not by the third again
    told_before = () if passed or _unserved(setup) else conditions[2:]
    because = (c.because for c in conditions if c.held == passed and c not in told_before)
    return Completion(passed, tuple(because), conditions, _caveat(findings, setup))


def _nothing_shown(setup: Evidence) -> str | None:
    if not setup.queries:
        return "no query is judged, so nothing was measured"
    if not setup.systems:
        runs = "; ".join(f"{name} is INVALID: {why}" for name, why in setup.invalid.items())
        if runs:
            return f"no system's run is a measurement: {runs}"
        return "no system was run, so nothing was measured"
    if setup.overall is None:
        return f"no query counts for {setup.measure}, so no system has a mean"
    return None


def _caveat(findings: Sequence[Finding], setup: Evidence) -> str | None:
    invalid = told_invalid(setup) if setup.invalid else None
    missing = untrusted(findings, setup)
    if not missing:
        return invalid
    touched = len({f.query_id for f in missing})
    return (f"{invalid}; " if invalid else "") + (
        f"the numbers cannot be trusted yet: {touched} of {counted(len(setup.queries), 'query')} "
        f"{'has' if touched == 1 else 'have'} {what_lacks(missing)}; "
        f"{why_untrusted(missing, setup)}"
    )


def _no_answers(setup: Evidence) -> str | None:
    answered = sum(any(r.documents for r in q.rankings) for q in setup.queries)
    if answered and not any(can_be_answered(q, setup) for q in setup.queries):
        return (
            f"no query has an answer, and {answered} of {counted(len(setup.queries), 'query')} "
            f"{are(answered)} answered: no mean tells anything"
        )
    return None


def _by_mean(setup: Evidence) -> Condition:
    overall, least = setup.overall or 0.0, setup.limits.mean
    held = is_above(overall, least)
    over = "over all systems" if not setup.invalid else "over the systems that count"
    over = over if len(setup.systems) > 1 else f"of {setup.systems[0].name}"
    place = "above" if held else "not above"
    sentence = f"the mean {setup.measure} {over} is {told(overall, least, 4)}, {place} {least:g}"
    return Condition("mean", held, sentence)


def _by_findings(findings: Sequence[Finding], setup: Evidence) -> Condition:
    off = f" ({counted(len(setup.limits.off), 'rule')} switched off)" if setup.limits.off else ""
    if not findings:
        return Condition("findings", True, f"there are no findings{off}")
    worse = [f for f in findings if f.severity != "LOW"]
    if not worse:
        n = len(findings)
        all_of = "the only finding is" if n == 1 else f"all {counted(n, 'finding')} are"
        return Condition("findings", True, f"{all_of} LOW{off}")
    counts = (f"{n} {s}" for s in SEVERITIES[:-1] if (n := sum(f.severity == s for f in worse)))
    found = f"{len(worse)} of {counted(len(findings), 'finding')}"
    sentence = f"{found} {are(len(worse))} worse than LOW"
    return Condition("findings", False, f"{sentence}: {', '.join(counts)}")


def _by_use_case(findings: Sequence[Finding], setup: Evidence) -> Condition:
    n_high = sum(f.severity == "HIGH" for f in findings)
    unserved = _unserved(setup)
    if not n_high and not unserved:
        served = ", ".join(
            f"{c} by {' and '.join(served_by(c, setup))}" for c in capabilities(setup)
        )
        sentence = f"there is no HIGH finding, and the systems fit the queries ({served})"
        return Condition("use-case", True, sentence)
    if not unserved:
        high = f"there {are(n_high)} {counted(n_high, 'HIGH finding')}"
        return Condition("use-case", False, high)
    wanted = ", ".join(f"{c} (wants {' or '.join(SERVED_BY.get(c, _ANY))})" for c in unserved)
    untagged = [s.name for s in setup.systems if not s.kind]
    hint = f"; {', '.join(untagged)} without a tag cannot count" if untagged else ""
    sentence = f"no system is tagged for these queries: {wanted}{hint}"
    return Condition("use-case", False, sentence)


def _unserved(setup: Evidence) -> list[str]:
    return [c for c in capabilities(setup) if not served_by(c, setup)]


def capabilities(setup: Evidence) -> tuple[str, ...]:
    """Return the capabilities among the queries, in their own order, then others as they come."""
    present = dict.fromkeys(q.capability.name for q in setup.queries)
    known = [c for c in CAPABILITIES if c in present]
    return (*known, *(c for c in present if c not in CAPABILITIES))


def served_by(capability: str, setup: Evidence) -> tuple[str, ...]:
    """Return the systems that are tagged for a capability."""
    kinds = SERVED_BY.get(capability, _ANY)
    return tuple(s.name for s in setup.systems if s.kind in kinds)
