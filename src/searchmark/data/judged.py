"""The judgments, prepared once: coded queries and grades in arrays, for any number of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.data.docids import SEED, DocIds
from searchmark.data.lookup import Lookup, build
from searchmark.data.rawtext import hashes, words_at

if TYPE_CHECKING:
    import polars as pl

    from searchmark.data.corpus import Corpus
    from searchmark.data.qrels import Qrels


@dataclass(frozen=True, eq=False)  # without slots: what is derived is kept
class Judged:
    """Judged pairs in rows sorted by query; every array below has one entry a row.

    `query` holds codes: positions in `query_ids`, the queries that are evaluated. `start[c]` to
    `start[c + 1]` are the rows of code c. `complete` says that every document was judged, so that
    one without a row is a true 0. `flags` hold the corpus' true-or-false fields for measures with
    ``docs=FLAG``. `n_unknown` counts judgments of queries that are not evaluated.
    """

    query_ids: tuple[str, ...]
    query: NDArray[np.int64]
    doc_ids: DocIds
    grade: NDArray[np.int64]
    start: NDArray[np.int64]
    complete: bool = False
    flags: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    n_unknown: int = 0

    @property
    def n_queries(self) -> int:
        """How many queries are evaluated."""
        return len(self.query_ids)

    @cached_property
    def lookup(self) -> Lookup | None:
        """The judged pairs by the bytes of their ids; None where two have one hash."""
        buffer, start, length = self.doc_ids.packed
        return build(self.query, hashes(words_at(buffer), start, length), self.n_queries)

    @cached_property
    def text_lookup(self) -> Lookup | None:
        """The same by the hashes that Polars gives the ids."""
        return build(self.query, self.doc_ids.series.hash(SEED).to_numpy(), self.n_queries)

    @cached_property
    def best_first(self) -> NDArray[np.int64]:
        """The rows by query and falling grade: the best ranking there could be."""
        return np.lexsort((-self.grade, self.query))

    def n_relevant(self, rel: int) -> NDArray[np.float64]:
        """Return how many documents each query has with a grade of at least `rel`."""
        if rel not in self._n_relevant:
            counts = np.bincount(self.query[self.grade >= rel], minlength=self.n_queries)
            self._n_relevant[rel] = counts.astype(np.float64)
        return self._n_relevant[rel].copy()

    @cached_property
    def _n_relevant(self) -> dict[int, NDArray[np.float64]]:
        return {}


def prepare(
    qrels: "Qrels",
    *,
    query_ids: Sequence[str] | None = None,
    complete: bool = False,
    corpus: "Corpus | None" = None,
) -> Judged:
    """Prepare judgments for scoring.

    Without `query_ids` every query of the qrels is evaluated. With them, only those are; one that
    has no judgment at all is evaluated only where the judgments are `complete`, because then it is
    known to have no answer.
    """
    import polars as pl

    judged_ids = qrels.frame["query_id"].unique(maintain_order=True).to_list()
    if query_ids is None:
        evaluated = judged_ids
    else:
        known_ids = set(judged_ids)
        evaluated = [q for q in query_ids if complete or q in known_ids]
    frame = qrels.frame.select(coded(qrels.frame["query_id"], evaluated), "doc_id", "grade")
    known = frame.filter(pl.col("code") >= 0).sort("code", maintain_order=True)
    query = known["code"].to_numpy()
    return Judged(
        query_ids=tuple(evaluated),
        query=query,
        doc_ids=DocIds(series=known["doc_id"]),
        grade=known["grade"].to_numpy(),
        start=starts(query, len(evaluated)),
        complete=complete,
        flags={} if corpus is None else _flags(corpus, known["doc_id"]),
        n_unknown=frame.height - known.height,
    )


def starts(query: NDArray[np.int64], n_queries: int) -> NDArray[np.int64]:
    """Return where each query's rows begin in the sorted `query`, and where the last ones end."""
    return np.searchsorted(query, np.arange(n_queries + 1)).astype(np.int64)


def coded(query_ids: "pl.Series", known: Sequence[str]) -> "pl.Series":
    """Return each row's position in `known`, or -1: looked up once a stretch of equal ids."""
    import polars as pl

    n = len(query_ids)
    if n == 0:
        return pl.Series("code", [], pl.Int64)
    changes = (query_ids[1:] != query_ids[:-1]).to_numpy()
    begins = np.flatnonzero(np.concatenate([[True], changes]))
    if len(begins) > n // 4:  # shuffled rows: a join is quicker than a dict row by row
        return _coded_by_join(query_ids, known)
    code = {q: i for i, q in enumerate(known)}
    names = query_ids.gather(begins).to_list()
    codes = np.array([code.get(name, -1) for name in names], np.int64)
    return pl.Series("code", np.repeat(codes, np.diff(np.append(begins, n))))


def _coded_by_join(query_ids: "pl.Series", known: Sequence[str]) -> "pl.Series":
    import polars as pl

    table = pl.DataFrame(
        {"query_id": pl.Series(known, dtype=pl.String), "code": np.arange(len(known))}
    )
    rows = query_ids.alias("query_id").to_frame()
    joined = rows.join(table, on="query_id", how="left", maintain_order="left")
    return joined["code"].cast(pl.Int64).fill_null(-1)


def _flags(corpus: "Corpus", doc_ids: "pl.Series") -> dict[str, NDArray[np.bool_]]:
    import polars as pl

    names = [n for n, t in corpus.frame.schema.items() if t == pl.Boolean]
    if not names:
        return {}
    fields = corpus.frame.select("doc_id", *names)
    rows = pl.DataFrame({"doc_id": doc_ids}).join(
        fields, on="doc_id", how="left", maintain_order="left"
    )
    return {n: rows[n].fill_null(value=False).to_numpy() for n in names}
