"""One query seen whole: what was judged, what each system returned, how its nDCG comes about."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from searchmark.reports.evaluation import INVALID
from searchmark.reports.table import Cell, Table, clean, shortened

if TYPE_CHECKING:
    from searchmark.diagnosis.evidence import Evidence, Placed, QueryEvidence, Ranking

MAX_TITLE, MAX_ID = 28, 34
"""Longer ones are cut: a title at its end, an id at its front, where URLs are all alike."""

MAX_JUDGED = 10
"""So many judged documents are listed; machine output has them all."""


def heading(query: "QueryEvidence") -> str:
    """Return the query in a line."""
    return f"Query {query.query_id}: {clean(query.text)}"


def facts(query: "QueryEvidence", setup: "Evidence") -> Iterator[str]:
    """Yield what the query set and the judgments say of the query."""
    why = "given by the query set" if query.capability.is_given else query.capability.reason
    yield f"Capability: {query.capability.name} ({clean(why)})"
    if query.category:
        yield f"Category: {clean(query.category)}"
    if query.filters:
        yield "Must satisfy: " + ", ".join(clean(str(f)) for f in query.filters)
    yield _judgments(query, setup)


def _judgments(query: "QueryEvidence", setup: "Evidence") -> str:
    ranked = sorted(query.judged.items(), key=lambda pair: (-pair[1], pair[0]))
    relevant = [(d, g) for d, g in ranked if g > 0]
    n = len(ranked)
    if not relevant:
        return f"Judgments: {n}, none of them relevant: the query has no answer"
    named = [f"{_named(d, setup)} ({g})" for d, g in relevant[:MAX_JUDGED]]
    more = f", and {len(relevant) - MAX_JUDGED} more" if len(relevant) > MAX_JUDGED else ""
    return f"Judgments: {n}, relevant {len(relevant)}: {', '.join(named)}{more}"


def _named(doc_id: str, setup: "Evidence") -> str:
    title = setup.documents.title(doc_id)
    return clean(_tail(doc_id) if title == doc_id else f"{_tail(doc_id)} {_short(title)}")


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), MAX_TITLE)


def system_table(ranking: "Ranking", query: "QueryEvidence", setup: "Evidence") -> Table:
    """Return one system's documents down to k with their grades and parts of the DCG."""
    kind = f" ({ranking.system.kind})" if ranking.system.kind else ""
    took = "" if ranking.latency_ms is None else f", {ranking.latency_ms:.1f} ms"
    mark = f" {INVALID}" if ranking.name in setup.invalid else ""
    return Table(
        f"{ranking.name}{mark}{kind}: {_status(ranking)}{took}",
        ("rank", "document", "title", "score", "grade", "part of DCG"),
        tuple(_row(d, setup) for d in ranking.within(query.k)),
    )


def _status(ranking: "Ranking") -> str:
    if ranking.is_failure:
        return f"{ranking.status} ({clean(ranking.error or 'no reason given')})"
    n = len(ranking.documents)
    partial = ", partial" if ranking.partial else ""
    if ranking.status == "missing":
        return "not in the run file"
    return f"{n} document{'' if n == 1 else 's'}{partial}"


def _row(document: "Placed", setup: "Evidence") -> tuple[Cell, ...]:
    title = setup.documents.title(document.doc_id)
    return (
        document.rank,
        _tail(document.doc_id),
        None if title == document.doc_id else _short(title),
        document.score,
        "unjudged" if document.grade is None else document.grade,
        document.part,
    )


def _tail(doc_id: str) -> str:
    return doc_id if len(doc_id) <= MAX_ID else "..." + doc_id[3 - MAX_ID :]


def worked_out(ranking: "Ranking", query: "QueryEvidence", digits: int) -> str:
    """Return how the value comes about: parts, their sum, the ideal and the quotient."""
    name, k = f"DCG@{query.k}", query.k
    if not query.has_answer:
        value = "left out" if ranking.value is None else f"{ranking.value:.{digits}f}"
        return f"nDCG@{k}: nothing is relevant, so it is {value} by convention"
    if ranking.is_failure or ranking.status == "missing":
        return f"nDCG@{k}: {_value(ranking, digits)} (no answer)"
    parts = [d.part for d in ranking.within(k) if d.part > 0]
    found = _sum(parts, digits)
    best = _sum(query.ideal_parts, digits)
    return (
        f"{name} = {found}; ideal = {best}; nDCG@{k} = {sum(parts):.{digits}f} / "
        f"{query.ideal:.{digits}f} = {_value(ranking, digits)}"
    )


def _value(ranking: "Ranking", digits: int) -> str:
    return "left out" if ranking.value is None else f"{ranking.value:.{digits}f}"


def _sum(parts: "list[float] | tuple[float, ...]", digits: int) -> str:
    if not parts:
        return f"{0:.{digits}f}"
    total = f"{sum(parts):.{digits}f}"
    return (
        total if len(parts) == 1 else " + ".join(f"{p:.{digits}f}" for p in parts) + f" = {total}"
    )


def missed(query: "QueryEvidence", setup: "Evidence") -> Iterator[str]:
    """Yield the relevant documents that a system does not return within k, a line a system."""
    relevant = [d for d, g in query.judged.items() if query.gains.get(d, 0.0) > 0 and g > 0]
    relevant.sort(key=lambda d: (-query.judged[d], d))
    for ranking in query.rankings:
        gone = [d for d in relevant if ranking.rank_of.get(d, query.k + 1) > query.k]
        if gone:
            named = ", ".join(_with_place(d, ranking, query, setup) for d in gone[:MAX_JUDGED])
            more = f", and {len(gone) - MAX_JUDGED} more" if len(gone) > MAX_JUDGED else ""
            yield f"{ranking.name} misses {len(gone)} of {len(relevant)}: {named}{more}"


def _with_place(doc_id: str, ranking: "Ranking", query: "QueryEvidence", setup: "Evidence") -> str:
    rank = ranking.rank_of.get(doc_id)
    where = "not returned" if rank is None else f"rank {rank}"
    return f"{_named(doc_id, setup)} (grade {query.judged[doc_id]}, {where})"


COLUMNS = (
    *("query_id", "system", "value", "status", "rank", "doc_id", "score", "grade", "gain", "part"),
    *("invalid", "partial"),
)


def document_rows(
    queries: "Sequence[QueryEvidence]", setup: "Evidence"
) -> Iterator[tuple[Cell, ...]]:
    """Yield every returned document within k; a row without one for an empty answer."""
    for query in queries:
        for r in query.rankings:
            head = (clean(query.query_id), r.name, r.value, r.status)
            tail = (setup.invalid.get(r.name), None if r.is_failure else str(r.partial))
            for d in r.within(query.k):
                told = (d.rank, clean(d.doc_id), d.score, d.grade, d.gain, d.part)
                yield (*head, *told, *tail)
            if not r.documents:
                yield (*head, *(None,) * 6, *tail)
