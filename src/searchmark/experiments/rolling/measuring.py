"""From answers to numbers: where each sampled entry was found, and the measures of it.

Each query has one right document, the entry it was made of. Values are those of the project's own
measures, from the ranks that are recorded, so that a record can be measured again at any time.
"""

from collections.abc import Mapping, Sequence

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels
from searchmark.data.run import Run
from searchmark.experiments.journal import Call
from searchmark.experiments.rolling.texts import KnownItemQuery
from searchmark.experiments.store import run_table
from searchmark.measures.notation import parse_measures
from searchmark.measures.score import summarize
from searchmark.measures.summary import Mean, SystemScores
from searchmark.reports.rollingrecord import Group, Item, Measured, State
from searchmark.stats.means import Groups, with_intervals

MEASURES = ("nDCG@10", "RR", "R@20", "Success@1")
"""What is recorded; Success@1 is the share that is found at rank 1."""

PROFILE = "graded"
LEAST_DEPTH = 20
"""R@20 looks at so many results."""


def items_of(queries: Sequence[KnownItemQuery], calls: Sequence[Call]) -> list[Item]:
    """Return what came of every query, in their order; a failed call is no miss."""
    ranks = _ranks(queries, calls)
    found = []
    for query, call in zip(queries, calls, strict=True):
        state: State = "failed" if call.is_failure else "partial" if call.partial else "whole"
        rank = ranks.get(query.query_id) if state != "failed" else None
        found.append(Item(query.doc_id, query.kind, query.digest, state, rank))
    return found


def _ranks(queries: Sequence[KnownItemQuery], calls: Sequence[Call]) -> dict[str, int]:
    """Return query id -> rank of the queries that brought their entry back."""
    judged = prepare(Qrels.from_dict({q.query_id: {q.doc_id: 1} for q in queries}))
    hits = find_hits(Run(run_table(calls)), judged, order="rank", keep_first=True)
    found = judged.query[hits.row]
    names = (judged.query_ids[q] for q in found.tolist())
    return dict(zip(names, hits.rank.tolist(), strict=True))


def scores_of(name: str, items: Sequence[Item]) -> SystemScores:
    """Measure items, all and by kind; queries of one entry are taken together in intervals."""
    measures = parse_measures(MEASURES, PROFILE)
    kind = {i.query_id: i.kind for i in items}
    hits = hits_of(items)
    scores = summarize(name, hits, measures, [kind[q] for q in hits.judged.query_ids])
    groups = Groups(kind, {i.query_id: i.doc_id for i in items})
    return with_intervals(scores, measures, groups)


def hits_of(items: Sequence[Item]) -> Hits:
    """Return hits of rankings in which the entry stands where it was found; others fill them."""
    judged = prepare(Qrels.from_dict({i.query_id: {i.doc_id: 1} for i in items}))
    return find_hits(Run.from_dict({i.query_id: _ranking(i) for i in items}), judged)


def _ranking(item: Item) -> dict[str, float]:
    if item.rank is None:
        return {}
    others = {f"{item.doc_id} {rank}": -float(rank) for rank in range(1, item.rank)}
    return {**others, item.doc_id: -float(item.rank)}


def group_of(items: Sequence[Item]) -> Group | None:
    """Return the measures of some items; None where there are none."""
    if not items:
        return None
    scores = scores_of("now", items)
    return Group(
        n_queries=len(items),
        n_entries=len({i.doc_id for i in items}),
        n_not_found=sum(i.rank is None for i in items),
        measures=_measured(scores.means),
        by_kind={kind: _measured(means) for kind, means in scores.by_category.items()},
    )


def _measured(means: Sequence[Mean]) -> Mapping[str, Measured]:
    return {
        m.measure: Measured(m.value, m.low, m.high, m.interval, m.interval_note, m.n_queries)
        for m in means
    }
