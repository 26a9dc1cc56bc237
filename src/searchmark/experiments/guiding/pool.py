"""What there is to judge: the documents near the top of any system, shuffled for each query."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from searchmark.experiments.guiding.log import Pair
from searchmark.experiments.journal import Call


class QueryPool(NamedTuple):
    """A query and the documents that some system returned for it within the cutoff."""

    query_id: str
    text: str
    doc_ids: tuple[str, ...]

    @property
    def pairs(self) -> list[Pair]:
        """The documents of this query as pairs."""
        return [Pair(self.query_id, doc_id) for doc_id in self.doc_ids]


class Item(NamedTuple):
    """The next document to judge, and how far it is: all numbers count from 1."""

    pair: Pair
    text: str
    query: int
    n_queries: int
    document: int
    n_documents: int


def pools_of(
    calls: Mapping[str, Iterable[Call]],
    queries: Sequence[tuple[str, str]],
    k: int,
    *,
    known: Container[str],
    seed: int,
) -> list[QueryPool]:
    """Return the pools of queries for which anything was returned, in the queries' order.

    Parameters
    ----------
    calls
        What each system answered.
    queries
        Id and text of each query.
    k
        How deep to look into each answer; a repeated document counts once.
    known
        Ids of the corpus: nothing else can be shown, and so judged.
    seed
        Sets the order within each query, which depends on nothing but the seed, the query's id and
        the documents.
    """
    found: dict[str, set[str]] = {}
    for call in (c for answered in calls.values() for c in answered):
        top = [*dict.fromkeys(call.doc_ids)][:k]
        found.setdefault(call.query_id, set()).update(d for d in top if d in known)
    return [
        QueryPool(query_id, text, _shuffled(found[query_id], f"{seed}:{query_id}"))
        for query_id, text in queries
        if found.get(query_id)
    ]


def _shuffled(doc_ids: Collection[str], seed: str) -> tuple[str, ...]:
    """Return ids in an order that favours no system; text as a seed gives the same everywhere."""
    order = sorted(doc_ids)
    Random(seed).shuffle(order)
    return tuple(order)


def next_item(pools: Sequence[QueryPool], decided: Container[Pair]) -> Item | None:
    """Return the first document that nothing was decided of; None where all are done."""
    return next(iter(_left(pools, decided)), None)


def n_left(pools: Sequence[QueryPool], decided: Container[Pair]) -> int:
    """Return how many documents nothing was decided of."""
    return sum(1 for _ in _left(pools, decided))


def n_pooled(pools: Sequence[QueryPool]) -> int:
    """Return how many documents there are to judge in all, judged or not."""
    return sum(len(pool.doc_ids) for pool in pools)


def _left(pools: Sequence[QueryPool], decided: Container[Pair]) -> Iterator[Item]:
    for query, pool in enumerate(pools, 1):
        for document, pair in enumerate(pool.pairs, 1):
            if pair not in decided:
                yield Item(pair, pool.text, query, len(pools), document, len(pool.doc_ids))
