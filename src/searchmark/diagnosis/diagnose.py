"""All rules asked of all queries, in one fixed order."""

from collections.abc import Iterator, Sequence

from searchmark.diagnosis.evidence import Evidence, QueryEvidence
from searchmark.diagnosis.finding import SEVERITIES, Finding
from searchmark.diagnosis.table import (
    ABOUT_CALLS,
    COMPARING,
    EVERY_SYSTEM_FAILS,
    QUERY_RULES,
    RULES,
    SETUP_RULES,
    QueryRule,
)


def diagnose(setup: Evidence) -> tuple[Finding, ...]:
    """Return every finding: worst severity first, then by query in the order of the query set.

    Rules that other packages register are asked once for each query, like our own. Systems whose
    run is no measurement are shown to the rules about calls alone.
    """
    asked = [n for n in RULES.targets() if n not in setup.limits.off]
    by_query = [n for n in asked if n not in SETUP_RULES]
    rules: dict[str, QueryRule] = {name: RULES.load(name) for name in by_query}
    counted = setup.counted
    pairs = zip(setup.queries, counted.queries, strict=True)
    found = [f for whole, q in pairs for f in _of_query(q, counted, rules, (whole, setup))]
    for name in asked:
        if name in SETUP_RULES:
            found += RULES.load(name)(counted)
    return in_order(found)


def _of_query(
    query: QueryEvidence,
    setup: Evidence,
    rules: dict[str, QueryRule],
    whole: tuple[QueryEvidence, Evidence],
) -> Iterator[Finding]:
    failed_everywhere = False
    for name in sorted(rules, key=_place):
        if failed_everywhere and name in COMPARING:
            continue
        shown = whole if name in ABOUT_CALLS else (query, setup)
        found = list(rules[name](*shown))
        failed_everywhere |= name == EVERY_SYSTEM_FAILS and bool(found)
        yield from found


def _place(name: str) -> int:
    """Return a rule's place: the table's order, then those of other packages."""
    order = list(QUERY_RULES)
    return order.index(name) if name in QUERY_RULES else len(order)


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with the worst severity first, otherwise as they came."""
    return tuple(sorted(findings, key=lambda f: SEVERITIES.index(f.severity)))
