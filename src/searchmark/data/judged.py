"""The judgments, prepared once: coded queries and grades in arrays, for any number of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from searchmark.data.corpus import Corpus
from searchmark.data.qrels import Qrels


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Judged pairs in rows sorted by query; every array below has one entry a row.

    `query` holds codes: positions in `query_ids`, the queries that are evaluated. `start[c]` to
    `start[c + 1]` are the rows of code c. `complete` says that every document was judged, so that
    one without a row is a true 0. `flags` hold the corpus' true-or-false fields for measures with
    ``docs=FLAG``. `n_unknown` counts judgments of queries that are not evaluated.
    """

    query_ids: tuple[str, ...]
    query: NDArray[np.int64]
    doc_ids: pl.Series
    grade: NDArray[np.int64]
    start: NDArray[np.int64]
    complete: bool = False
    flags: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    n_unknown: int = 0

    @property
    def n_queries(self) -> int:
        """How many queries are evaluated."""
        return len(self.query_ids)


def prepare(
    qrels: Qrels,
    *,
    query_ids: Sequence[str] | None = None,
    complete: bool = False,
    corpus: Corpus | None = None,
) -> Judged:
    """Prepare judgments for scoring.

    Without `query_ids` every query of the qrels is evaluated. With them, only those are; one that
    has no judgment at all is evaluated only where the judgments are `complete`, because then it is
    known to have no answer.
    """
    judged_ids = dict.fromkeys(qrels.frame["query_id"].to_list())
    if query_ids is None:
        evaluated = list(judged_ids)
    else:
        evaluated = [q for q in query_ids if complete or q in judged_ids]
    frame = qrels.frame.select(coded(qrels.frame["query_id"], evaluated), "doc_id", "grade")
    known = frame.filter(pl.col("code") >= 0).sort("code", maintain_order=True)
    query = known["code"].to_numpy()
    return Judged(
        query_ids=tuple(evaluated),
        query=query,
        doc_ids=known["doc_id"],
        grade=known["grade"].to_numpy(),
        start=np.searchsorted(query, np.arange(len(evaluated) + 1)).astype(np.int64),
        complete=complete,
        flags={} if corpus is None else _flags(corpus, known["doc_id"]),
        n_unknown=frame.height - known.height,
    )


def coded(query_ids: pl.Series, known: Sequence[str]) -> pl.Series:
    """Return each row's position in `known`, or -1: looked up once a stretch of equal ids."""
    code = {q: i for i, q in enumerate(known)}
    n = len(query_ids)
    if n == 0:
        return pl.Series("code", [], pl.Int64)
    starts = np.flatnonzero(np.concatenate([[True], (query_ids[1:] != query_ids[:-1]).to_numpy()]))
    names = query_ids.gather(starts).to_list()
    lengths = np.diff(np.append(starts, n))
    codes = np.array([code.get(name, -1) for name in names], np.int64)
    return pl.Series("code", np.repeat(codes, lengths))


def _flags(corpus: Corpus, doc_ids: pl.Series) -> dict[str, NDArray[np.bool_]]:
    names = [n for n, t in corpus.frame.schema.items() if t == pl.Boolean]
    if not names:
        return {}
    fields = corpus.frame.select("doc_id", *names)
    rows = pl.DataFrame({"doc_id": doc_ids}).join(
        fields, on="doc_id", how="left", maintain_order="left"
    )
    return {n: rows[n].fill_null(value=False).to_numpy() for n in names}
