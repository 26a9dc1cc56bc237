"""A diagnosis as tables and sentences: how good, what is wrong, what to try first, what next."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from searchmark.reports.evaluation import INVALID
from searchmark.reports.table import Cell, Table, clean, shortened

if TYPE_CHECKING:
    from searchmark.diagnosis.action import Action
    from searchmark.diagnosis.diagnosis import Diagnosis
    from searchmark.diagnosis.finding import Finding, Tag
    from searchmark.diagnosis.rollup import Fix, Group

BAR = 10
_FULL, _EMPTY = "\u2588", "\u2591"

MAX_FINDINGS, MAX_FIXES = 3, 3
"""So many findings and fixes of a group are told unless all are asked for."""

TAG_WORDS: Mapping["Tag", str] = {
    "MODEL_SELECTION": "the model",
    "INDEX_MAPPING": "what is indexed, and how it matches",
    "QUERY_TUNING": "the queries that are sent",
    "SEARCH_PIPELINE": "the steps around the search",
    "EMBEDDING_FIELDS": "the fields that are read",
    "JUDGMENTS": "the judgments themselves",
    "RELIABILITY": "answers that fail or are late",
}

MAX_QUERIES = 10
MAX_TEXT = 26
MANY_SYSTEMS = 3
"""With more systems than these, tables have no room for bars."""


def bar(value: float | None) -> str:
    """Return a value from 0 to 1 as a bar; nothing where there is none."""
    if value is None:
        return ""
    n = round(min(max(value, 0.0), 1.0) * BAR)
    return _FULL * n + _EMPTY * (BAR - n)


def headline(diagnosis: "Diagnosis") -> str:
    """Return the completion verdict in a line."""
    verdict = diagnosis.completion
    word = "Good enough to ship" if verdict.passed else "Not good enough to ship yet"
    caveat = f" {_capital(verdict.caveat)}." if verdict.caveat else ""
    return f"{word}: {'; '.join(verdict.because)}.{caveat}"


def systems_table(diagnosis: "Diagnosis") -> Table:
    """Return each system with its means in numbers, bars and words."""
    setup = diagnosis.setup
    measures = [level.measure for level in next(iter(diagnosis.levels.values()), ())]
    columns = ["system", "kind"]
    for i, measure in enumerate(measures):
        columns += [measure, *([""] if i == 0 else []), ""]  # bar and word need no head
    rows = []
    for part in setup.systems:
        name = f"{part.name} {INVALID}" if part.name in setup.invalid else part.name
        cells: list[Cell] = [name, part.kind or "untagged"]
        for i, level in enumerate(diagnosis.levels[part.name]):
            cells += [level.mean, *([bar(level.mean)] if i == 0 else []), level.word or ""]
        rows.append(tuple(cells))
    best = next(iter(diagnosis.levels.values()), ())
    n_systems = len(rows)
    if any(level.ceiling < 1 - 1e-9 for level in best):
        tops = (c for i, level in enumerate(best) for c in _ceiling_cells(level.ceiling, i))
        rows.append(("best possible", "", *tops))
    return Table(
        f"How good: {_basis(diagnosis)}", tuple(columns), tuple(rows), rules=frozenset({n_systems})
    )


def _ceiling_cells(ceiling: float, place: int) -> tuple[Cell, ...]:
    return (ceiling, "", "") if place == 0 else (ceiling, "")


def _basis(diagnosis: "Diagnosis") -> str:
    setup = diagnosis.setup
    n = setup.n_queries
    parts = [f"{n} quer{'y' if n == 1 else 'ies'}"]
    if setup.n_no_answer:
        others = n - setup.n_no_answer
        parts.append(
            f"{setup.n_no_answer} of them without an answer (P and RR: the other {others})"
        )
    if setup.n_unjudged:
        verb = "has no judgment and is" if setup.n_unjudged == 1 else "have no judgment and are"
        parts.append(f"{setup.n_unjudged} more {verb} left out")
    return ", ".join(parts)


def breakdown_tables(diagnosis: "Diagnosis") -> list[Table]:
    """Return the means by capability, and by category where there are any."""
    measure = diagnosis.setup.measure
    by_capability = [(r.name, r.n_queries, r.means) for r in diagnosis.capabilities]
    by_category = [(r.name, r.n_queries, r.means) for r in diagnosis.categories]
    kinds = (("capability", by_capability), ("category", by_category))
    return [
        _means_table(f"{measure} by {what} of query", what, rows, diagnosis)
        for what, rows in kinds
        if rows
    ]


def _means_table(
    title: str,
    what: str,
    rows: "list[tuple[str, int, Mapping[str, float | None]]]",
    diagnosis: "Diagnosis",
) -> Table:
    names = _counted(diagnosis)
    has_bars = len(names) <= MANY_SYSTEMS
    columns = [what, "queries", *(c for n in names for c in ((n, "") if has_bars else (n,)))]
    cells = [
        (name, n, *(c for s in names for c in _with_bar(means[s], has_bars=has_bars)))
        for name, n, means in rows
    ]
    return Table(title, tuple(columns), tuple(cells))


def _counted(diagnosis: "Diagnosis") -> list[str]:
    """Return the systems whose numbers are measurements."""
    setup = diagnosis.setup
    return [s.name for s in setup.systems if s.name not in setup.invalid]


def _with_bar(value: float | None, *, has_bars: bool) -> tuple[Cell, ...]:
    return (value, bar(value)) if has_bars else (value,)


def queries_table(diagnosis: "Diagnosis", *, every: bool = False) -> Table | None:
    """Return queries beside systems, the worst first, with the means of all of them last."""
    rows = diagnosis.queries if every else diagnosis.queries[:MAX_QUERIES]
    if not rows:
        return None
    setup = diagnosis.setup
    names = _counted(diagnosis)
    cells: list[tuple[Cell, ...]] = [
        (r.query_id, _short(r.text), r.capability, *(r.values[n] for n in names), r.severity or "")
        for r in rows
    ]
    means = (f"all {setup.n_queries}", "mean", "", *(setup.means[n] for n in names), "")
    shown = f"the {len(rows)} worst of {setup.n_queries} queries"
    return Table(
        f"{setup.measure} of {'every query' if len(rows) == setup.n_queries else shown}",
        ("query", "text", "capability", *names, "worst"),
        (*cells, means),
        rules=frozenset({len(cells)}),
    )


def _short(text: str, most: int = MAX_TEXT) -> str:
    return shortened(" ".join(text.split()), most)


def groups_table(diagnosis: "Diagnosis") -> Table | None:
    """Return where the fixes lie, with what mending would give; None without a finding."""
    if not diagnosis.groups:
        return None
    setup = diagnosis.setup
    mean = f"mean {setup.measure}"
    return Table(
        f"What is wrong: {count_line(diagnosis)}",
        ("where the fix lies", "worst", "findings", "queries", f"{mean} if mended", "rise"),
        tuple(
            (g.tag, g.severity, g.n_findings, g.n_queries, g.rise.after, g.rise.overall)
            for g in diagnosis.groups
        ),
        signed=frozenset({5}),
    )


def count_line(diagnosis: "Diagnosis") -> str:
    """Return how many findings there are of each severity."""
    n = len(diagnosis.findings)
    if not n:
        return "nothing was found"
    totals: dict[str, int] = {}
    for finding in diagnosis.findings:
        totals[finding.severity] = totals.get(finding.severity, 0) + 1
    counts = ", ".join(f"{k} {s}" for s, k in totals.items())
    return f"{n} finding{'' if n == 1 else 's'} ({counts})"


def group_sentences(
    group: "Group", diagnosis: "Diagnosis", *, every: bool = False
) -> tuple[str, ...]:
    """Return the findings of a group, how many are not told, and what to try."""
    texts = {r.query_id: r.text for r in diagnosis.queries}
    told = group.findings if every else _first(group)
    found = [_finding_line(f, texts) for f in told]
    if left := group.n_findings - len(told):
        found.append(f"and {left} more finding{'' if left == 1 else 's'} (--all tells them)")
    fixes = group.fixes if every else _fixes(group, told)
    found += [f"Try{_for(fix.n_findings, group)}: {_sentence(fix.text)}" for fix in fixes]
    return tuple(found)


def _fixes(group: "Group", told: "tuple[Finding, ...]") -> "list[Fix]":
    """Return what is tried for the findings told, the most frequent first."""
    wanted = {f.fix for f in told}
    return [fix for fix in group.fixes if fix.text in wanted][:MAX_FIXES]


def _for(n_findings: int, group: "Group") -> str:
    """Return how many findings a fix is for, where it is not for all of them."""
    if n_findings == group.n_findings:
        return ""
    return f" ({n_findings} finding{'' if n_findings == 1 else 's'})"


def group_title(group: "Group") -> str:
    """Return a tag with what it means."""
    return f"{group.tag}: {TAG_WORDS[group.tag]}"


def _first(group: "Group") -> "tuple[Finding, ...]":
    """Return the findings told: one of each rule before a second of any, the worst first."""
    seen: dict[str, int] = {}
    order = []
    for i, f in enumerate(group.findings):
        order.append((seen.get(f.rule, 0), i))
        seen[f.rule] = seen.get(f.rule, 0) + 1
    return tuple(group.findings[i] for _, i in sorted(order)[:MAX_FINDINGS])


def _finding_line(finding: "Finding", texts: Mapping[str, str]) -> str:
    where = ""
    if finding.query_id is not None:
        text = texts.get(finding.query_id, "")
        where = f'{finding.query_id} "{_short(clean(text), 60)}": '
    return f"{finding.severity} {where}{_sentence(finding.what)}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def action_sentences(action: "Action") -> Iterator[str]:
    """Yield why the recommended action comes first, and where to start."""
    for why in action.why:
        yield _capital(_sentence(why))
    if action.query_ids:
        yield f"Start with: {', '.join(action.query_ids)}."
    if action.serving:
        yield _capital(_sentence(action.serving))
    if action.then:
        yield f"Then, {_sentence(action.then)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def step_sentences(diagnosis: "Diagnosis") -> tuple[str, ...]:
    """Return the three ways on, the advised one marked."""
    return tuple(
        f"{s.title}{' (advised)' if s.is_recommended else ''}: {s.text}" for s in diagnosis.steps
    )


FINDING_COLUMNS = (
    *("severity", "tag", "rule", "query_id", "text", "systems", "documents"),
    *("evidence", "what", "fix", "repaired"),
)


def finding_rows(diagnosis: "Diagnosis") -> Iterator[tuple[Cell, ...]]:
    """Yield each finding with everything it says, lists joined by blanks."""
    texts = {r.query_id: r.text for r in diagnosis.queries}
    for f in diagnosis.findings:
        yield (
            *(f.severity, f.tag, f.rule),
            None if f.query_id is None else clean(f.query_id),
            None if f.query_id is None else clean(texts.get(f.query_id, "")),
            " ".join(f.systems),
            clean(" ".join(f.documents)),
            clean("; ".join(f"{k}={v}" for k, v in f.evidence.items())),
            *(clean(f.what), clean(f.fix)),
            "; ".join(f"{k}={v!r}" for k, v in f.repaired.items()),
        )
