"""A verdict as JUnit XML, which build servers show as tests: a test for everything that is held."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from searchmark.errors import InputError, NotComparableError, OutsideError
from searchmark.reports import terminal
from searchmark.reports import verdict as verdicts
from searchmark.reports.table import Look, clean, shown

if TYPE_CHECKING:
    from searchmark.gate.verdict import MeasureVerdict, PinnedVerdict, Verdict

SUITE = "searchmark gate"
"""The suite's name, with the system's behind it."""

CLASS = "searchmark.gate"
"""What build servers group the tests by, with the system's name behind it."""

NOT_A_TEST = {
    InputError.exit_code: "the input can be used",
    OutsideError.exit_code: "the system answers",
    NotComparableError.exit_code: "comparable with the baseline",
}
"""Exit code -> name of the test that stands for a verdict that could not be given."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test: `outcome` is failure, error or skipped, None for a pass; `message` says why."""

    name: str
    outcome: str | None
    message: str
    details: str


def verdict_junit(verdict: "Verdict", digits: int = 4) -> str:
    """Return a verdict as one test suite.

    A check that fails is a failure; one that passes only because it cannot see is skipped. Names
    hold no numbers: build servers follow a test from build to build by its name.
    """
    worst = verdicts.worst_table(verdict)
    lost = "" if worst is None else "\n" + terminal.table_text(worst, Look(digits=digits))
    held = [v for v in verdict.categories if verdicts.is_held(v) or not v.ok]
    cases = [_measure_case(v, lost, digits) for v in verdict.measures]
    # which of the queries that lost most belong to a category is not known here
    cases += [_measure_case(v, "", digits) for v in held]
    cases += [_pinned_case(p, digits) for p in verdict.pinned]
    return _text(verdict.system, cases, _properties(verdict), verdict.caveats)


def no_verdict_junit(found: verdicts.NoVerdict) -> str:
    """Return that there is no verdict, as a suite with one test that ends in an error."""
    name = NOT_A_TEST.get(found.exit_code, "a verdict is given")
    details = "".join(f"{clean(r)}\n" for r in found.reasons)
    if found.comparable is False:
        details += verdicts.NOT_COMPARABLE_FIX + "\n"
    message = " ".join((verdicts.no_verdict_line(found), "; ".join(found.reasons)))
    case = Case(name, "error", message, details)
    return _text(found.system or "unknown", [case], ())


def _measure_case(v: "MeasureVerdict", lost: str, digits: int) -> Case:
    only_floor = v.floor is not None and v.limit is None
    name = verdicts.scope(v) + (" (floor)" if only_floor else "")
    numbers = _numbers(v, digits)
    if v.because is not None:
        return Case(name, "failure", v.because, f"{clean(v.because)}\n{numbers}\n{lost}")
    if v.blind is not None:
        return Case(name, "skipped", v.blind, f"{clean(v.blind)}\n{numbers}\n")
    return Case(name, None, "", numbers + "\n")


def _numbers(v: "MeasureVerdict", digits: int) -> str:
    parts = [
        f"baseline {shown(v.baseline, digits=digits)}",
        f"candidate {shown(v.candidate, digits=digits)}",
        f"delta {shown(v.delta, signed=True, digits=digits)}",
    ]
    parts += [f"max drop {shown(v.limit, digits=digits)}"] if v.limit is not None else []
    parts += [f"floor {shown(v.floor, digits=digits)}"] if v.floor is not None else []
    return ", ".join(parts)


def _pinned_case(p: "PinnedVerdict", digits: int) -> Case:
    name = f"pinned query {p.query_id}" + (f": {p.text}" if p.text else "")
    details = "".join(
        f"{clean(c.measure)}: {shown(c.baseline, digits=digits)} -> "
        f"{shown(c.candidate, digits=digits)} ({shown(c.delta, signed=True, digits=digits)})\n"
        for c in p.changes
    )
    if p.because is None:
        return Case(name, None, "", details)
    return Case(name, "failure", p.because, f"{clean(p.because)}\n{details}")


def _properties(verdict: "Verdict") -> Iterator[tuple[str, str]]:
    """Yield each gated mean in full precision, as name and value."""
    for v in verdict.measures:
        numbers = (("baseline", v.baseline), ("candidate", v.candidate), ("delta", v.delta))
        for name, value in numbers:
            if value is not None:
                yield f"{v.measure} {name}", repr(value)


def _text(
    system: str,
    cases: list[Case],
    properties: Iterable[tuple[str, str]],
    caveats: Sequence[str] = (),
) -> str:
    counts = {
        "tests": str(len(cases)),
        "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"),
        "time": "0",
    }
    root = ET.Element("testsuites", {"name": SUITE, **counts})
    counts["skipped"] = _count(cases, "skipped")  # which Jenkins' schema forbids on the root
    suite = ET.SubElement(root, "testsuite", {"name": f"{SUITE}: {clean(system)}", **counts})
    listed = list(properties)
    if listed:
        parent = ET.SubElement(suite, "properties")
        for name, value in listed:
            ET.SubElement(parent, "property", {"name": clean(name), "value": value})
    for case in cases:
        _add(suite, case, f"{CLASS}.{clean(system)}")
    if caveats:
        ET.SubElement(suite, "system-out").text = "".join(f"{clean(c)}\n" for c in caveats)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _count(cases: list[Case], outcome: str) -> str:
    return str(sum(c.outcome == outcome for c in cases))


def _add(suite: ET.Element, case: Case, group: str) -> None:
    """Add a test; what `clean` lets through is allowed in XML, control characters are not."""
    names = {"classname": group, "name": clean(case.name), "time": "0"}
    element = ET.SubElement(suite, "testcase", names)
    if case.outcome is not None:
        why = {"message": clean(case.message), "type": case.outcome}
        # some servers show only the text, others only the attribute
        ET.SubElement(element, case.outcome, why).text = case.details
    elif case.details:
        ET.SubElement(element, "system-out").text = case.details
