"""A rolling evaluation for people, machines and spreadsheets; an upper bound, and called so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from searchmark.reports import markup, terminal
from searchmark.reports.comparison import p_text, sentences
from searchmark.reports.rollingrecord import LABEL, Group, Measured, Record, State
from searchmark.reports.table import PLAIN, Cell, Look, Table, clean, listed

if TYPE_CHECKING:
    from searchmark.stats.comparison import Family

HEADS = {"Success@1": "found at rank 1"}
"""What a measure is called where people read it."""

CSV_COLUMNS = (
    *("label", "api", "made", "n_catalog", "n_sample", "n_failed", "answers", "kind"),
    *("measure", "mean", "low", "high", "n_queries"),
)

WHY = (
    f"Every number is a {LABEL}: entries are asked for by words of their own, which people who "
    "search do not have before them. A fall is a fault; a high value is no proof of a good search."
)

BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 40


class Since(NamedTuple):
    """What changed since the record before; `family` is None where the two share no query."""

    made: str
    state: State
    n_common: int
    family: "Family | None"
    n_entries_before: int
    n_entries_now: int
    same_catalog: bool
    n_sampled_in_both: int
    depth: int


class RollingReport(NamedTuple):
    """A record, what changed since the one before, and the history it is the last of."""

    record: Record
    since: Since | None
    history: Sequence[Record]
    floors: Sequence[str] = ()


def rolling_text(report: RollingReport, form: str, look: Look = PLAIN) -> str:
    """Return a rolling evaluation in one of the formats; JSON is the record itself."""
    if form == "json":
        raw = msgspec.json.encode(report.record)
        return msgspec.json.format(raw, indent=2).decode() + "\n"
    if form == "csv":
        return markup.csv_text(CSV_COLUMNS, _rows(report.record))
    tables = [_table(report.record, state, group) for state, group in _groups(report.record)]
    if report.since is not None and report.since.family is not None:
        tables.append(_since_table(report.since, report.since.family))
    lists = [
        ("What it rests on", tuple(_basis(report.record))),
        (f"Since the record before ({LABEL})", tuple(_changes(report.since))),
        ("Floors that are not held", tuple(report.floors)),
    ]
    drawing = _drawing(report.history)
    if form == "markdown":
        parts = [f"{markup.escaped(WHY)}\n"]
        parts += [markup.markdown_table(table, look.digits) for table in tables]
        for title, found in lists:
            items = "".join(f"- {markup.escaped(line)}\n" for line in found)
            parts += [f"**{title}**\n\n{items}"] if found else []
        return "\n".join([*parts, *([f"{markup.escaped(drawing)}\n"] if drawing else [])])
    parts = [terminal.table_text(table, look) for table in tables]
    parts += [terminal.paragraph(WHY, width=look.width) + "\n"]
    parts += [terminal.bullets(*entry, width=look.width) for entry in lists]
    parts += [drawing + "\n" if drawing else ""]
    return "\n".join(filter(None, parts))


def _groups(record: Record) -> Iterator[tuple[State, Group]]:
    if record.whole is not None:
        yield "whole", record.whole
    if record.partial is not None:
        yield "partial", record.partial


def _table(record: Record, state: State, group: Group) -> Table:
    names = list(group.measures)
    rows: list[tuple[Cell, ...]] = []
    spans: dict[tuple[int, int], tuple[float, float]] = {}
    scopes = [*group.by_kind.items()] if len(group.by_kind) > 1 else []
    for r, (kind, means) in enumerate([*scopes, ("all", group.measures)]):
        rows.append((kind, means[names[0]].n_queries, *(means[name].mean for name in names)))
        spans |= {(r, c): span for c, name in enumerate(names, 2) if (span := _span(means[name]))}
    partly = "" if state == "whole" else "; only answers that were partial"
    return Table(
        f"{record.api}: {LABEL}{partly}",
        ("asked by", "queries", *map(_head, names)),
        tuple(rows),
        rules=frozenset({len(scopes)}) if scopes else frozenset(),
        spans=spans,
    )


def _head(measure: str) -> str:
    return HEADS.get(measure, measure)


def _since_table(since: Since, family: "Family") -> Table:
    found = family.comparisons
    return Table(
        f"{LABEL}: now beside {since.made}, the {since.n_common:,} queries that both asked",
        ("measure", "before", "now", "delta", "p", "verdict"),
        tuple(
            (_head(c.measure), c.mean_a, c.mean_b, c.delta, p_text(c.p_adjusted), c.words)
            for c in found
        ),
        signed=frozenset({3}),
        spans={
            (r, 3): (c.low, c.high)
            for r, c in enumerate(found)
            if c.low is not None and c.high is not None
        },
    )


def _span(measured: Measured) -> tuple[float, float] | None:
    if measured.low is None or measured.high is None:
        return None
    return measured.low, measured.high


def _basis(record: Record) -> Iterator[str]:
    """Tell what was asked, and what is in none of the means."""
    sample, n = record.sample, len(record.items)
    yield (
        f"{sample.n_entries:,} of {record.catalog.n_entries:,} entries (seed {sample.seed}), each "
        f"asked for by {listed(record.texts)}: {n:,} queries, the first {record.depth} results of "
        "each; RR and found at rank 1 know no more of it"
    )
    lacking = [f"{kind} ({count:,})" for kind, count in sample.n_without_text.items() if count]
    if lacking:
        yield f"entries without a text to be asked for by: {listed(lacking)}"
    group = record.shown[1]
    if group is not None and group.n_not_found:
        yield (
            f"queries that did not bring their entry back: {group.n_not_found:,} of "
            f"{group.n_queries:,}"
        )
    if record.partial is not None:
        yield (
            f"answers that were partial, and are measured apart: {record.partial.n_queries:,}; a "
            "part of the search did not take part in them"
        )
    if record.n_failed:
        yield (
            f"searches that failed, and are in none of the means: {record.n_failed:,}; "
            f"{record.errors[0] if record.errors else 'nobody knows why'}"
        )
    if record.catalog.n_repeated:
        yield f"entries that were listed again, and count once: {record.catalog.n_repeated:,}"
    latency = _latency(record.calls)
    if latency:
        yield latency


def _latency(calls: Mapping[str, object]) -> str:
    parts = [f"{n[:-3]} {v:,.1f} ms" for n in ("p50_ms", "p95_ms") if (v := calls.get(n))]
    return f"latency of {calls.get('n_counted', 0)} answers: {listed(parts)}" if parts else ""


def _changes(since: Since | None) -> Iterator[str]:
    """Say in plain words what changed."""
    if since is None:
        yield "this is the first record of this API here, so there is nothing to compare with"
        return
    if since.same_catalog:
        yield f"the catalog holds the same {since.n_entries_now:,} entries as at {since.made}"
    else:
        yield (
            f"the catalog has changed since {since.made}: {since.n_entries_before:,} entries then, "
            f"{since.n_entries_now:,} now; {since.n_sampled_in_both:,} sampled entries are in both"
        )
    if since.family is None:
        yield "the two records share no query, so that nothing can be said of the search itself"
        return
    kind = "" if since.state == "whole" else ", all with partial answers"
    yield (
        f"compared over the {since.n_common:,} queries that both asked, word by word{kind}, to a "
        f"depth of {since.depth}"
    )
    yield from sentences(since.family)


def _drawing(history: Sequence[Record]) -> str:
    """Return nDCG@10 of the last records as a row of bars from 0 to 1."""
    groups = [record.whole for record in history[-MOST_BARS:]]
    values = [None if g is None else g.measures["nDCG@10"].mean for g in groups]
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return ""
    bars = "".join(
        " " if v is None else BARS[min(int(v * len(BARS)), len(BARS) - 1)] for v in values
    )
    return (
        f"nDCG@10 ({LABEL}) of the last {len(values)} records: {bars}  "
        f"{min(known):.3f} to {max(known):.3f}"
    )


def _rows(record: Record) -> Iterator[tuple[Cell, ...]]:
    head = (LABEL, clean(record.api), record.made, record.catalog.n_entries)
    for state, group in _groups(record):
        for kind, means in (("all", group.measures), *group.by_kind.items()):
            for name, m in means.items():
                yield (
                    *(*head, record.sample.n_entries, record.n_failed, state, kind),
                    *(name, m.mean, m.low, m.high, m.n_queries),
                )
