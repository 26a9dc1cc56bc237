"""Retrieved documents that break the hard filters their query states."""

from dataclasses import replace

import numpy as np
import polars as pl

from searchmark.data.corpus import Corpus
from searchmark.data.filters import allowed
from searchmark.data.hits import Hits
from searchmark.data.queries import Queries


def with_violations(hits: Hits, ranked: pl.DataFrame, queries: Queries, corpus: Corpus) -> Hits:
    """Return `hits` knowing which results break a filter.

    `ranked` has `query_id`, `doc_id`, `rank`, each document once in its query. A document that is
    not in the corpus satisfies nothing.
    """
    if not queries.filters:
        return hits
    code = {q: i for i, q in enumerate(hits.judged.query_ids)}
    has_filters = np.array([q in queries.filters for q in hits.judged.query_ids], np.bool_)
    found_query: list[int] = []
    found_rank: list[int] = []
    results = ranked.filter(pl.col("query_id").is_in(list(queries.filters)))
    for (query_id,), rows in results.group_by("query_id", maintain_order=True):
        if query_id not in code:
            continue
        right = corpus.frame["doc_id"].filter(
            pl.Series(allowed(corpus.frame, queries.filters[str(query_id)]))
        )
        wrong = rows.filter(~pl.col("doc_id").is_in(right.to_list()))["rank"].to_list()
        found_query += [code[str(query_id)]] * len(wrong)
        found_rank += wrong
    pairs = (np.array(found_query, np.int64), np.array(found_rank, np.int64))
    return replace(hits, has_filters=has_filters, violations=pairs)
