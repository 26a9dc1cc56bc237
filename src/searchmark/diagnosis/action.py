"""The one thing to do next, with the numbers that speak for it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from searchmark.diagnosis.evidence import Evidence
from searchmark.diagnosis.finding import SEVERITIES, Finding, Severity, Tag
from searchmark.diagnosis.rollup import Group, Rise, fixes_of, rise_of
from searchmark.diagnosis.trust import HOLES, what_is_missing, why_first
from searchmark.diagnosis.wording import counted, listed

Reason = Literal["trust", "severity", "rise", "order"]

NOTHING = 0.0005
"""A rise that shows as 0.000 is none."""

N_START = 5
"""So many queries are named to start with."""

_BY_TAG: dict[Tag, str] = {
    "MODEL_SELECTION": "Take another embedding model for {system}, or put a reranker behind it",
    "INDEX_MAPPING": "Change how {system} indexes and matches: fields, analysis, synonyms, "
    "and whether every word must match",
    "QUERY_TUNING": "Tune the queries that {system} sends: weights of fields, matching, boosts",
    "SEARCH_PIPELINE": "Change how {system} joins its parts: the fusion constant, the depth, or "
    "one part alone",
    "EMBEDDING_FIELDS": "Let {system} read the fields that hold the words people use",
    "JUDGMENTS": "Complete and correct the judgments",
    "RELIABILITY": "Get {system} to answer every query completely",
}


@dataclass(frozen=True, slots=True)
class Action:
    """What to do next. `what` is an imperative sentence, `why` the sentences that speak for it.

    `system` is where to start (None: the judgments), `query_ids` the queries to look at first.
    `serving` says so where the system that serves users does not suffer. `then` is what would help
    that one, or what follows once the numbers can be trusted. `reason` tells what put this action
    first: numbers that cannot be trusted, the severity, the rise, or just the order.
    """

    what: str
    why: tuple[str, ...]
    tag: Tag
    severity: Severity
    reason: Reason
    system: str | None
    query_ids: tuple[str, ...]
    rise: Rise
    serving: str | None = None
    then: str | None = None


def recommend(
    groups: Sequence[Group], setup: Evidence, serving: str | None = None
) -> Action | None:
    """Return the one recommended next action; None where nothing was found.

    Parameters
    ----------
    groups
        The findings as `roll_up` gathers them.
    setup
        The evidence that they were found in.
    serving
        The system that serves users, where it is known.

    Notes
    -----
    First come the answers that make a run no measurement, then missing answers and missing
    judgments where more than the share ``limits.holes`` of
    the queries or of the results is missing: no other number can be trusted before. Then the
    HIGH findings of the group where these raise the mean over all systems most, or else are most;
    then the group with the largest rise, then the first.
    """
    if not groups:
        return None
    group, findings, reason = _first(groups, setup)
    system = None if group.tag == "JUDGMENTS" else _place(findings, setup, serving)
    chosen = [f for f in findings if system is None or _touches(f, system)]
    rise = rise_of(findings, setup, serving)
    unharmed = _unharmed(group, system, serving, rise) if reason != "trust" else False
    return Action(
        what=_what(group.tag, chosen, system, setup, arm_of=serving if unharmed else None),
        why=tuple(_why(group.tag, findings, rise, system, setup, is_trust=reason == "trust")),
        tag=group.tag,
        severity=group.severity,
        reason=reason,
        system=system,
        query_ids=_start(chosen, setup),
        rise=rise,
        serving=_serving_sentence(serving, rise, setup) if unharmed else None,
        then=_then(groups, setup, serving, after=group if reason == "trust" else None)
        if unharmed or reason == "trust"
        else None,
    )


def _first(groups: Sequence[Group], setup: Evidence) -> tuple[Group, tuple[Finding, ...], Reason]:
    """Return the group to begin with, those of its findings that count, and why it is first."""
    if (missing := what_is_missing(groups, setup)) is not None:
        return missing.group, missing.findings, "trust"
    if groups[0].severity == "HIGH":
        return *_worst(groups, setup), "severity"
    largest = max(groups, key=lambda g: g.rise.overall)
    if largest.rise.overall > NOTHING:
        return largest, largest.findings, "rise"
    return groups[0], groups[0].findings, "order"


def _worst(groups: Sequence[Group], setup: Evidence) -> tuple[Group, tuple[Finding, ...]]:
    """Return the group whose HIGH findings are worth most, or else are most, and these."""
    high = [(g, tuple(f for f in g.findings if f.severity == "HIGH")) for g in groups]
    rises = {g.tag: round(rise_of(found, setup).overall, 9) for g, found in high}
    return max(high, key=lambda pair: (bool(pair[1]), rises[pair[0].tag], len(pair[1])))


def _touches(finding: Finding, system: str) -> bool:
    return system in finding.systems or system in finding.repaired


def _place(findings: Sequence[Finding], setup: Evidence, serving: str | None) -> str | None:
    """Return the system to start at: the one that would ship where all of it is about that one too.

    Otherwise the one with the most to gain, or else with the most findings.
    """
    rise = rise_of(findings, setup, serving)
    if rise.best is not None and all(_touches(f, rise.best) for f in findings):
        return rise.best
    counts = {s.name: sum(_touches(f, s.name) for f in findings) for s in setup.systems}
    touched = [s for s, n in counts.items() if n]
    return max(touched, key=lambda s: (rise.by_system.get(s, 0.0), counts[s]), default=None)


def _what(
    tag: Tag, findings: Sequence[Finding], system: str | None, setup: Evidence, arm_of: str | None
) -> str:
    """Return the imperative sentence: the fix that fits most findings, or that of the tag."""
    if system is not None and tag == "INDEX_MAPPING":
        n_empty, n = _n_empty(findings, system, setup), len({f.query_id for f in findings})
        if 2 * n_empty >= n and _may_be_strict(system, setup):
            part = "" if n_empty == n else f" of {n}"
            alone = f", or let only {arm_of} serve" if arm_of else ""
            return (
                f"Loosen the matching of {system}: let any word match where no document has them "
                f"all (it returns nothing for {counted(n_empty, 'query')}{part}){alone}"
            )
    if n_holes := sum(len(f.documents) for f in findings if f.rule == HOLES):
        return (
            f"Judge the {counted(n_holes, 'result')} within {setup.k} that nobody judged, or set "
            "complete = true where what the judgments do not list is known to be irrelevant"
        )
    commonest = fixes_of(findings)[0]
    if 2 * commonest.n_findings >= len(findings) and commonest.text:
        return commonest.text[0].upper() + commonest.text[1:].rstrip(".")
    return _BY_TAG[tag].format(system=system or "the systems")


def _may_be_strict(system: str, setup: Evidence) -> bool:
    return any(s.name == system and s.is_strict is not False for s in setup.systems)


def _n_empty(findings: Sequence[Finding], system: str, setup: Evidence) -> int:
    """Return for how many of the findings' queries the system returned nothing at all."""
    touched = {f.query_id for f in findings}
    rankings = (q.ranking(system) for q in setup.queries if q.query_id in touched)
    return sum(not r.documents and not r.is_failure for r in rankings)


def _why(
    tag: Tag,
    findings: Sequence[Finding],
    rise: Rise,
    system: str | None,
    setup: Evidence,
    *,
    is_trust: bool,
) -> Iterator[str]:
    rules = ", ".join(dict.fromkeys(f.rule for f in findings))
    touched = {f.query_id for f in findings if f.query_id is not None}
    found = f"{counted(len(findings), 'finding')} of {tag} ({rules})"
    about = f" on {len(touched)} of {counted(len(setup.queries), 'query')}" if touched else ""
    yield f"{found}{about}, {_severity(findings)}"
    if is_trust:
        yield why_first(findings, setup)
    elif rise.overall <= NOTHING:
        yield f"no mean of {setup.measure} would change with it: it does not measure this fault"
    if rise.overall > NOTHING:
        yield f"mended, the mean {setup.measure} over all systems would go {_from_to(rise)}"
    if system and rise.by_system.get(system, 0.0) > NOTHING and len(rise.means) > 1:
        yield f"that of {system} would go {_from_to(rise, system)}"


def _severity(findings: Sequence[Finding]) -> str:
    counts = Counter(f.severity for f in findings)
    if len(counts) == 1:
        (severity,) = counts
        return f"{'all ' if len(findings) > 1 else ''}{severity}"
    return ", ".join(f"{counts[s]} {s}" for s in SEVERITIES if counts[s])


def _from_to(rise: Rise, system: str | None = None) -> str:
    before = rise.mean if system is None else rise.means[system]
    after = rise.after if system is None else rise.after_of(system)
    gain = rise.overall if system is None else rise.by_system[system]
    return f"from {before:.3f} to {after:.3f} (+{gain:.3f})"


def _start(findings: Sequence[Finding], setup: Evidence) -> tuple[str, ...]:
    gains = rise_of(findings, setup).by_query
    touched = {f.query_id for f in findings}
    ids = [q.query_id for q in setup.queries if q.query_id in touched]
    return tuple(sorted(ids, key=lambda q: -gains.get(q, 0.0))[:N_START])


def _unharmed(group: Group, system: str | None, serving: str | None, rise: Rise) -> bool:
    """Whether the fault lies elsewhere than in the system that serves."""
    if serving is None or system is None or system == serving or serving not in rise.means:
        return False
    return serving not in group.systems and rise.by_system[serving] <= NOTHING


def _serving_sentence(serving: str | None, rise: Rise, setup: Evidence) -> str:
    arms = next(s.arms for s in setup.systems if s.name == serving)
    present = rise.means[serving or ""]
    sentence = f"users of {serving}, which serves, do not suffer: its mean is {present:.3f}"
    if arms:
        sentence += (
            f"; it joins {listed(arms)}, and a part that returns more can push right results down, "
            "so look at its mean before the change serves"
        )
    return sentence


def _then(
    groups: Sequence[Group], setup: Evidence, serving: str | None, *, after: Group | None
) -> str | None:
    """Return what comes next: after numbers that can be trusted, or for the system that serves."""
    if after is not None:
        following = recommend([g for g in groups if g is not after], setup, serving)
        if following is None:
            return None
        return f"when the numbers can be trusted: {following.what}"
    return None if serving is None else _for_serving(groups, setup, serving)


def _for_serving(groups: Sequence[Group], setup: Evidence, serving: str) -> str:
    """Return what would help the system that serves: the group where it gains most."""
    theirs = [g for g in groups if any(_touches(f, serving) for f in g.findings)]
    if not theirs:
        return f"nothing was found in {serving}"
    group = max(theirs, key=lambda g: g.rise.by_system.get(serving, 0.0))
    findings = [f for f in group.findings if _touches(f, serving)]
    gain = group.rise.by_system.get(serving, 0.0)
    gains = f", worth +{gain:.3f}" if gain > NOTHING else ""
    what = _what(group.tag, findings, serving, setup, arm_of=None)
    return f"for {serving}: {what} ({counted(len(findings), 'finding')} of {group.tag}{gains})"
