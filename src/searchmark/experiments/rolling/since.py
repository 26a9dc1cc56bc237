"""A record compared with the one before it: what changed in the catalog, and in the search."""

from typing import NamedTuple

import msgspec

from searchmark.experiments.rolling.measuring import scores_of
from searchmark.reports.rollingrecord import Item, Record, State
from searchmark.reports.rollingtext import Since
from searchmark.stats.comparison import Family, Settings, compare

SHOWN: tuple[State, ...] = ("whole", "partial")


class Both(NamedTuple):
    """The items of the same queries in two records: same entry, kind and text, same state."""

    before: list[Item]
    now: list[Item]


def since(previous: Record, now: Record, settings: Settings | None = None) -> Since:
    """Return what changed since the previous record of the same API."""
    state, both = in_both(previous, now)
    ids = ({i.doc_id for i in previous.items}, {i.doc_id for i in now.items})
    return Since(
        made=previous.made,
        state=state,
        n_common=len(both.now),
        family=_family(both, settings or Settings()) if both.now else None,
        n_entries_before=previous.catalog.n_entries,
        n_entries_now=now.catalog.n_entries,
        same_catalog=previous.catalog.sha256 == now.catalog.sha256,
        n_sampled_in_both=len(ids[0] & ids[1]),
        depth=min(previous.depth, now.depth),
    )


def in_both(previous: Record, now: Record) -> tuple[State, Both]:
    """Return the queries that two records share, of whole answers, or else of partial ones.

    Both are seen to the same depth: a rank that only one of them could have is none.
    """
    depth = min(previous.depth, now.depth)
    for state in SHOWN:
        before = {(i.query_id, i.text_sha256): i for i in previous.in_state(state)}
        pairs = [
            (before[key], item)
            for item in now.in_state(state)
            if (key := (item.query_id, item.text_sha256)) in before
        ]
        if pairs:
            before_and_now = zip(*pairs, strict=True)
            return state, Both(*([_within(i, depth) for i in items] for items in before_and_now))
    return "whole", Both([], [])


def _within(item: Item, depth: int) -> Item:
    is_seen = item.rank is not None and item.rank <= depth
    return item if is_seen else msgspec.structs.replace(item, rank=None)


def _family(both: Both, settings: Settings) -> Family:
    names = ("before", "now")
    scores = {
        name: scores_of(name, items).per_query
        for name, items in zip(names, (both.before, both.now), strict=True)
    }
    clusters = {i.query_id: i.doc_id for i in both.now}
    return compare(scores, settings=settings, clusters=clusters)
