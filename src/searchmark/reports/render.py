"""One way in: a value and a format's name to the text that is printed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from searchmark.reports import comparison as comparisons
from searchmark.reports import evaluation as evaluations
from searchmark.reports import machine, markup, terminal
from searchmark.reports import verdict as verdicts
from searchmark.reports.table import PLAIN, Cell, Look, Table, clean
from searchmark.reports.verdict import NoVerdict

if TYPE_CHECKING:
    from searchmark.diagnosis.diagnosis import Diagnosis
    from searchmark.diagnosis.evidence import Evidence, QueryEvidence
    from searchmark.gate.baseline import Baseline
    from searchmark.gate.verdict import Verdict
    from searchmark.measures.summary import Evaluation, SystemScores
    from searchmark.stats.comparison import Family

MEAN_COLUMNS = (
    *("system", "category", "measure", "mean", "low", "high"),
    *("ceiling", "n_queries", "unjudged_share"),
)

CALL_COLUMNS = ("invalid", "n_failed", "n_calls", "p50_ms", "p95_ms", "p99_ms", "n_partial")
"""Further columns of a run: why a system's scores are no measurement, how its calls went."""

VERDICT_COLUMNS = (
    *("category", "measure", "baseline", "candidate", "delta", "limit", "floor", "ok"),
    *("low", "high", "p", "p_adjusted", "detectable", "n_queries", "because", "query_id"),
)

FORMATS = ("terminal", "json", "csv", "markdown")

VERDICT_FORMATS = (*FORMATS, "junit")

MARKER = "<!-- searchmark-gate -->"
"""The first line of a verdict in Markdown: by it a bot finds the comment that it wrote before."""


def evaluation_text(
    evaluation: "Evaluation",
    form: str,
    *,
    system: str | None = None,
    per_query: bool = False,
    with_calls: bool = True,
    look: Look = PLAIN,
) -> str:
    """Return an evaluation in one of `FORMATS`; `system` is the one shown by category.

    People are shown how the calls went unless `with_calls` is False.
    """
    if form == "json":
        return machine.evaluation_json(evaluation, per_query=per_query)
    if form == "csv":
        return _evaluation_csv(evaluation, per_query=per_query)
    tables = [evaluations.comparison_table(evaluation)]
    if system is not None and (by_category := evaluations.category_table(evaluation, system)):
        tables.append(by_category)
    if (ties := evaluations.ties_table(evaluation)) is not None:
        tables.append(ties)
    if (basis := evaluations.basis_table(evaluation)) is not None:
        tables.append(basis)
    elif evaluations.needs_counts(evaluation):
        tables.append(evaluations.counts_table(evaluation))
    calls = evaluations.calls_table(evaluation) if with_calls else None
    asked = tuple(evaluations.call_lines(evaluation)) if with_calls else ()
    if calls is not None:
        tables.append(calls)
    conventions = evaluations.convention_lines(evaluation)
    seen = tuple(evaluations.query_set_lines(evaluation, system))
    legend = evaluations.legend(tables[0])
    if form == "markdown":
        notes = [
            ("What the latencies are of", asked),
            ("What these queries can show", seen),
            ("What the means hide", evaluation.notes),
        ]
        return _markdown(tables, notes, conventions, look.digits)
    parts = [terminal.table_text(t, look) for t in tables]
    parts[0] += "\n" + terminal.paragraph(legend, width=look.width) + "\n" if legend else ""
    parts += [
        terminal.bullets("What the latencies are of", asked, width=look.width),
        terminal.bullets("What these queries can show", seen, width=look.width),
        terminal.bullets("What the means hide", evaluation.notes, width=look.width),
        terminal.paragraph("Conventions: " + "; ".join(conventions), width=look.width, indent="  ")
        + "\n",
    ]
    return "\n".join(filter(None, parts))


def verdict_text(verdict: "Verdict", form: str, look: Look = PLAIN) -> str:
    """Return a verdict in one of `VERDICT_FORMATS`."""
    if form == "json":
        return machine.verdict_json(verdict)
    if form == "csv":
        return markup.csv_text(VERDICT_COLUMNS, _verdict_rows(verdict))
    if form == "junit":
        from searchmark.reports.junit import verdict_junit

        return verdict_junit(verdict, look.digits)
    head = verdicts.headline(verdict)
    because, blind, *others = verdicts.sections(verdict)
    tables = verdicts.tables(verdict)
    if form == "markdown":
        first = (_heading(head), _items(because[1]), _markdown([], [blind], [], look.digits))
        return "\n".join(filter(None, [*first, _markdown(tables, others, [], look.digits)]))
    parts = [terminal.table_text(t, look) for t in tables]
    reasons = terminal.bullets("", because[1], width=look.width).lstrip("\n")
    parts += [terminal.paragraph(head, width=look.width) + "\n" + reasons]
    lists = [(title, found) for title, found in (blind, *others) if found]
    parts += [terminal.bullets(title, found, width=look.width) for title, found in lists]
    return "\n".join(parts)


def no_verdict_text(found: NoVerdict, form: str) -> str:
    """Return that there is no verdict; nothing for a terminal, where the error itself is read."""
    if form == "terminal":
        return ""
    if form == "json":
        return machine.no_verdict_json(found)
    if form == "csv":
        n_left = len(VERDICT_COLUMNS) - 2
        return markup.csv_text(
            VERDICT_COLUMNS, ((None,) * n_left + (clean(r), None) for r in found.reasons)
        )
    if form == "junit":
        from searchmark.reports.junit import no_verdict_junit

        return no_verdict_junit(found)
    parts = [_heading(verdicts.no_verdict_line(found)), _items(found.reasons)]
    if found.comparable is False:
        parts.append(markup.escaped(verdicts.NOT_COMPARABLE_FIX) + "\n")
    return "\n".join(parts)


def _heading(line: str) -> str:
    return f"{MARKER}\n### {markup.escaped(line)}\n"


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"- {markup.escaped(s)}\n" for s in sentences)


def comparison_text(family: "Family", form: str, look: Look = PLAIN) -> str:
    """Return compared systems in one of `FORMATS`."""
    if form == "json":
        return machine.comparison_json(family)
    if form == "csv":
        return markup.csv_text(comparisons.TABLE_COLUMNS, comparisons.plain_rows(family))
    words = (comparisons.trusted_title(family), tuple(comparisons.sentences(family)))
    notes = ("Note", comparisons.notes(family))
    tables = comparisons.comparison_tables(family, drawn=form == "terminal")
    footing = tuple(comparisons.footing(family))
    if form == "markdown":
        return _markdown(tables, [words, ("How it was computed", footing), notes], [], look.digits)
    parts = [terminal.table_text(t, look) for t in tables]
    parts += [terminal.bullets(*words, width=look.width)]
    parts += [terminal.paragraph(line, width=look.width) + "\n" for line in footing]
    parts += [terminal.bullets(*notes, width=look.width)]
    return "\n".join(filter(None, parts))


def diagnosis_text(
    diagnosis: "Diagnosis", form: str, look: Look = PLAIN, *, every: bool = False
) -> str:
    """Return a diagnosis in one of `FORMATS`; `every` tells all findings and all queries."""
    from searchmark.reports import diagnosis as report

    if form == "json":
        return machine.diagnosis_json(diagnosis)
    if form == "csv":
        return markup.csv_text(report.FINDING_COLUMNS, report.finding_rows(diagnosis))
    tables = [report.systems_table(diagnosis), *report.breakdown_tables(diagnosis)]
    groups, worst = report.groups_table(diagnosis), report.queries_table(diagnosis, every=every)
    tables += [t for t in (worst, groups) if t is not None]
    lists: list[tuple[str, tuple[str, ...]]] = [
        (report.group_title(g), report.group_sentences(g, diagnosis, every=every))
        for g in diagnosis.groups
    ]
    if diagnosis.action is not None:
        why = tuple(report.action_sentences(diagnosis.action))
        lists.append((f"Do this next: {diagnosis.action.what}.", why))
    lists.append(("The ways on", report.step_sentences(diagnosis)))
    head = report.headline(diagnosis)
    if form == "markdown":
        return f"### {markup.escaped(head)}\n\n" + _markdown(tables, lists, [], look.digits)
    parts = [terminal.paragraph(head, width=look.width) + "\n"]
    parts += [terminal.table_text(t, look) for t in tables]
    for title, sentences in lists:
        parts.append(
            terminal.bullets(
                terminal.paragraph(title, width=look.width), sentences, width=look.width
            )
        )
    return "\n".join(parts)


def query_text(setup: "Evidence", query_ids: Sequence[str], form: str, look: Look = PLAIN) -> str:
    """Return queries seen whole in one of `FORMATS`."""
    from searchmark.reports import queryview as report

    queries = [setup.by_id[q] for q in dict.fromkeys(query_ids)]
    if form == "json":
        return machine.queries_json(queries, setup)
    if form == "csv":
        return markup.csv_text(report.COLUMNS, report.document_rows(queries, setup))
    return "\n".join(_query_part(q, setup, form, look) for q in queries)


def _query_part(query: "QueryEvidence", setup: "Evidence", form: str, look: Look) -> str:
    from searchmark.reports import queryview as report

    gone = tuple(report.missed(query, setup))
    head, facts = report.heading(query), tuple(report.facts(query, setup))
    if form == "markdown":
        parts = [f"### {markup.escaped(head)}\n\n{_items(facts)}"]
        for ranking in query.rankings:
            table = report.system_table(ranking, query, setup)
            shown = markup.markdown_table(table, look.digits)
            worked = report.worked_out(ranking, query, look.digits)
            parts.append(f"{shown}\n{markup.escaped(worked)}\n")
        return "\n".join([*parts, _markdown([], [("Missed", gone)], [], look.digits)])
    lines = (terminal.paragraph(f, width=look.width, indent="  ") for f in (head, *facts))
    parts = ["\n".join(lines) + "\n"]
    for ranking in query.rankings:
        table = report.system_table(ranking, query, setup)
        shown = terminal.table_text(table, look) if table.rows else table.title + "\n"
        worked = report.worked_out(ranking, query, look.digits)
        parts.append(shown + " " + terminal.paragraph(worked, width=look.width, indent="  ") + "\n")
    return "\n".join([*parts, terminal.bullets("Missed", gone, width=look.width)])


def baseline_text(baseline: "Baseline", form: str, look: Look = PLAIN) -> str:
    """Return an accepted baseline in one of `FORMATS`."""
    if form == "json":
        from searchmark.gate.baseline import baseline_text as file_text

        return file_text(baseline)
    return table_text(_baseline_table(baseline), form, look)


def table_text(table: Table, form: str, look: Look = PLAIN) -> str:
    """Return one table in one of `FORMATS`; as JSON it is a list of objects."""
    if form == "json":
        return machine.table_json(table)
    if form == "csv":
        return markup.csv_text(table.columns, table.rows)
    if form == "markdown":
        return markup.markdown_table(table, look.digits)
    return terminal.table_text(table, look)


def _baseline_table(baseline: "Baseline") -> Table:
    names = list(baseline.means)
    scopes = (*baseline.by_category.items(), ("all", baseline.means))
    return Table(
        f"The accepted baseline of {baseline.system}",
        ("category", *names),
        tuple((category, *(means.get(n) for n in names)) for category, means in scopes),
        rules=frozenset({len(baseline.by_category)}),
    )


def _markdown(
    tables: list[Table],
    lists: list[tuple[str, tuple[str, ...]]],
    conventions: list[str],
    digits: int,
) -> str:
    parts = [markup.markdown_table(t, digits) for t in tables]
    for title, sentences in lists:
        if sentences:
            parts.append(f"**{title}**\n\n{_items(sentences)}")
    if conventions:
        parts.append("Conventions: " + "; ".join(f"`{c}`" for c in conventions) + "\n")
    return "\n".join(parts)


def _evaluation_csv(evaluation: "Evaluation", *, per_query: bool) -> str:
    asked = bool(evaluation.calls)
    if per_query:
        return markup.csv_text(
            ("system", "query_id", "measure", "value", *(("invalid",) if asked else ())),
            (
                (s.system, query_id, measure, value, *((s.invalid,) if asked else ()))
                for s in evaluation.systems
                for measure, values in s.per_query.items()
                for query_id, value in values.items()
            ),
        )
    return markup.csv_text(
        (*MEAN_COLUMNS, *(CALL_COLUMNS if asked else ())),
        _mean_rows(evaluation),
    )


def _mean_rows(evaluation: "Evaluation") -> Iterator[tuple[Cell, ...]]:
    for s in evaluation.systems:
        for category, means in ((None, s.means), *s.by_category.items()):
            for m in means:
                yield (
                    s.system,
                    category,
                    m.measure,
                    m.value,
                    m.low,
                    m.high,
                    m.ceiling,
                    m.n_queries,
                    m.unjudged_share,
                    *(_call_cells(s, evaluation) if evaluation.calls else ()),
                )


def _call_cells(scores: "SystemScores", evaluation: "Evaluation") -> tuple[Cell, ...]:
    """Return the cells of `CALL_COLUMNS`, the same in every row of a system."""
    c = evaluation.calls.get(scores.system)
    if c is None:
        return (scores.invalid, *(None,) * (len(CALL_COLUMNS) - 1))
    return (scores.invalid, c.n_failed, c.n_counted, c.p50_ms, c.p95_ms, c.p99_ms, c.n_partial)


def _verdict_rows(verdict: "Verdict") -> Iterator[tuple[Cell, ...]]:
    """Yield a row a measure of all and of each category, then one a pinned query."""
    for v in (*verdict.measures, *verdict.categories):
        yield (
            *(v.category, v.measure, v.baseline, v.candidate, v.delta, v.limit, v.floor),
            *(str(v.ok), v.low, v.high, v.p, v.p_adjusted, v.detectable, v.n_queries),
            *(v.because and clean(v.because), None),
        )
    for p in verdict.pinned:
        why = p.because and clean(p.because)
        yield (*(None,) * 7, str(p.ok), *(None,) * 6, why, clean(p.query_id))
