"""The dense arm: exact cosine in pgvector, over the vectors of one generation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from searchmark.errors import OutsideError
from searchmark.retrieval.dense import DenseIndex, Floats
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.ordering import Scored
from searchmark.retrieval.postgres.connection import Connection
from searchmark.retrieval.postgres.facets import Condition
from searchmark.retrieval.postgres.ties import columns

SLACK = 4e-6
"""How far pgvector's sums may be from ours; what lies closer is compared again here."""

_NEAREST = """
WITH scored AS MATERIALIZED (
    SELECT doc_id, text_kind, text_no, -(vector <#> %(query)s::vector) AS score
    FROM embedding WHERE generation_id = %(generation)s {allowed}
), best AS MATERIALIZED (
    SELECT doc_id, max(score) AS score FROM scored GROUP BY doc_id
), last AS (
    SELECT score FROM best ORDER BY score DESC OFFSET %(depth)s - 1 LIMIT 1
)
SELECT doc_id, text_kind, text_no, vector_send(vector), (SELECT count(*) FROM best), {ties}
FROM best
JOIN scored USING (doc_id)
JOIN embedding AS e USING (doc_id, text_kind, text_no)
JOIN document AS d USING (doc_id)
WHERE e.generation_id = %(generation)s
    AND best.score >= coalesce((SELECT score FROM last), '-infinity') - %(slack)s
    AND scored.score >= best.score - %(slack)s
ORDER BY doc_id, text_kind, text_no
"""

_ALLOWED = "AND doc_id IN (SELECT d.doc_id FROM document AS d WHERE true {filters})"


class TextKey(NamedTuple):
    """Which text of a document: its own, or the how-manyth of its synthetic queries."""

    kind: str
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Documents by meaning: scores, tie values, how many there are in all, the texts compared."""

    doc_ids: list[str]
    scored: Scored
    ties: list[tuple[Any, ...]]
    total: int
    texts: list[TextKey]
    index: DenseIndex | None
    query: Floats

    def best(self, doc_ids: Sequence[str]) -> dict[str, TextKey]:
        """Return which text gave each of some documents its score."""
        if self.index is None:
            return {}
        row = {doc_id: i for i, doc_id in enumerate(self.doc_ids)}
        places = {d: self.index.best_text(self.query, row[d]) for d in doc_ids if d in row}
        return {d: self.texts[place] for d, place in places.items() if place is not None}


def find_near(
    connection: Connection,
    query: Floats,
    generation_id: int,
    layout: Layout,
    filters: Condition,
    *,
    depth: int,
) -> Near:
    """Return at least the `depth` documents next to a vector, each by its best text.

    pgvector finds them, comparing the query with every vector. It adds in another order than
    `DenseIndex`, so what it finds is scored again by `DenseIndex`: the same bits, the same ties.
    """
    condition, values = filters
    ties, names = columns(layout.ties)
    allowed = _ALLOWED.format(filters=condition) if condition else ""
    statement = _NEAREST.format(allowed=allowed, ties=ties)
    given = {
        "query": vector_text(query),
        "generation": generation_id,
        "depth": depth,
        "slack": SLACK,
    }
    if not query.any():
        return Near([], Scored(np.empty(0, np.int64), np.empty(0)), [], 0, [], None, query)
    rows = connection.execute(statement.encode(), given | values | names, binary=True).fetchall()
    return _scored_again(rows, query)


def _scored_again(rows: list[tuple[Any, ...]], query: Floats) -> Near:
    doc_ids = list(dict.fromkeys(row[0] for row in rows))
    place = {doc_id: i for i, doc_id in enumerate(doc_ids)}
    owner = np.array([place[row[0]] for row in rows], np.int64)
    vectors = read_vectors([row[3] for row in rows], len(query))
    index = DenseIndex(vectors, owner, len(doc_ids))
    with np.errstate(over="ignore", invalid="ignore"):
        scored = index.scores(query)
    if not np.isfinite(scored.scores).all():
        raise OutsideError("the model's vectors have no finite cosine with the query's")
    texts = [TextKey(row[1], row[2]) for row in rows]
    ties = {row[0]: row[5:] for row in rows}
    total = int(rows[0][4]) if rows else 0
    return Near(doc_ids, scored, [ties[d] for d in doc_ids], total, texts, index, query)


def vector_text(vector: Floats) -> str:
    """Return a vector as pgvector reads it, with all digits of its 32-bit floats."""
    return "[" + ",".join(map(str, vector)) + "]"


def read_vectors(sent: Sequence[bytes], dimension: int) -> Floats:
    """Return what ``vector_send`` gave as rows of one array."""
    rows = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), 4 + 4 * dimension)
    return np.ascontiguousarray(rows[:, 4:]).view(">f4").astype(np.float32)
