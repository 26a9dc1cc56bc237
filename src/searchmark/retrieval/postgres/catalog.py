"""The catalog in PostgreSQL behind the interface that the service and the evaluation ask."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from searchmark.data.filters import Filter
from searchmark.errors import failure_text
from searchmark.retrieval.catalogs import DEPTH, Found, Health, Mode, Page
from searchmark.retrieval.constraints import extract
from searchmark.retrieval.encoders import Encoder, encode_query
from searchmark.retrieval.fusion import reciprocal_rank_fusion
from searchmark.retrieval.layout import SETTLEMENTS, Layout
from searchmark.retrieval.ordering import Scored, priority, top
from searchmark.retrieval.postgres import ties
from searchmark.retrieval.postgres.connection import Connection, Database, told
from searchmark.retrieval.postgres.documents import claim_layout
from searchmark.retrieval.postgres.facets import Condition, conditions
from searchmark.retrieval.postgres.generations import current_id, current_key, find
from searchmark.retrieval.postgres.lexical import Candidates, find_by_words
from searchmark.retrieval.postgres.migrating import check_migrated
from searchmark.retrieval.postgres.nearest import Near, TextKey, find_near
from searchmark.retrieval.postgres.words import is_storable

_log = logging.getLogger(__name__)

_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

_STATE = """
SELECT (SELECT count(*) FROM document),
    count(*) FILTER (WHERE status IN ('waiting', 'claimed')),
    count(*) FILTER (WHERE status = 'dead'),
    (SELECT count(*) FROM embedding WHERE generation_id = %(generation)s)
FROM embedding_job WHERE generation_id = %(generation)s
"""

_GAPS = """
SELECT EXISTS (SELECT FROM embedding WHERE generation_id = %(generation)s),
    EXISTS (SELECT FROM embedding_job
        WHERE generation_id = %(generation)s AND status IN ('waiting', 'claimed'))
"""

_DOCUMENTS = """
SELECT doc_id, fields, settlement_count, updated_as FROM document WHERE doc_id = ANY(%s)
"""

_TEXTS = """
SELECT t.doc_id, t.text FROM unnest(%s::text[], %s::text[], %s::int[])
    AS given (doc_id, text_kind, text_no)
JOIN document_text AS t USING (doc_id, text_kind, text_no)
"""

_BROWSE = """
SELECT d.doc_id, d.fields, d.settlement_count, d.updated_as FROM document AS d
WHERE d.doc_id > %(after)s {filters} ORDER BY d.doc_id LIMIT %(limit)s
"""

_COUNT = "SELECT count(*) FROM document AS d WHERE true {filters}"

NO_MODEL = "there is no embedding model"
NO_GENERATION = "nothing was embedded yet"
OTHER_MODEL = "the model is not the one that made the catalog's vectors"
NO_VECTORS = "the catalog has no vectors"
WAITING = "documents wait to be embedded"


class Ranked(NamedTuple):
    """A ranking, best first, of `total` documents that were found; None where an arm was cut."""

    doc_ids: list[str]
    scores: list[float]
    total: int | None


@dataclass(frozen=True, slots=True)
class Understood:
    """A search that was understood: the text without its filters, the filters as SQL."""

    text: str
    condition: Condition
    depth: int


class PostgresCatalog:
    """The documents of one schema; see `CatalogSearch`.

    The schema has the newest tables and was filled with the same layout. Without an encoder, or
    with one whose vectors are not comparable with the stored ones, there is no dense arm.
    """

    def __init__(self, database: Database, layout: Layout, encoder: Encoder | None = None) -> None:
        self.database, self.layout, self.encoder = database, layout, encoder
        with database.connection() as connection:
            check_migrated(connection, database.schema)
            claim_layout(connection, layout, store=False)

    def search(
        self,
        text: str,
        limit: int,
        offset: int = 0,
        *,
        mode: Mode = "fused",
        filters: tuple[Filter, ...] = (),
    ) -> Page:
        """Return the documents at the places `offset` to `offset + limit`; see `CatalogSearch`."""
        wanted = extract(text, self.layout.constraints)
        condition = conditions((*filters, *wanted.filters))
        asked = Understood(wanted.text, condition, offset + limit)
        with self._snapshot() as connection:
            if mode == "bm25":
                words = self._by_words(connection, asked, relax=self.layout.relax)
                return self._page(connection, self._ranked(words, asked.depth), offset)
            return self._with_vectors(connection, asked, offset, mode)

    def _with_vectors(
        self, connection: Connection, asked: Understood, offset: int, mode: Mode
    ) -> Page:
        near, why = self._near(connection, asked, mode)
        if near is None:
            words = self._by_words(connection, asked)
            return self._page(connection, self._ranked(words, asked.depth), offset, why=why)
        if mode == "dense":
            ranked = self._ranked(near, asked.depth)
        else:
            words = self._by_words(connection, asked)
            ranked = self._fused([words, near], asked.depth)
        best = near.best(ranked.doc_ids[offset:])
        return self._page(connection, ranked, offset, best, why)

    def browse(self, filters: tuple[Filter, ...], limit: int, after: str | None = None) -> Page:
        """Return documents by ascending id, those behind the id `after`; see `CatalogSearch`."""
        condition, values = conditions(filters)
        start = after if after is not None and is_storable(after) else ""
        given = values | {"after": start, "limit": limit}
        with self._snapshot() as connection:
            rows = connection.execute(_BROWSE.format(filters=condition).encode(), given).fetchall()
            total = connection.execute(_COUNT.format(filters=condition).encode(), values).fetchone()
        found = tuple(Found(row[0], None, _fields(row, self.layout)) for row in rows)
        return Page(found, total=total[0] if total else None)

    def health(self) -> Health:
        """Return how the catalog is; see `CatalogSearch`."""
        with self._snapshot() as connection:
            current = current_id(connection)
            row = connection.execute(_STATE, {"generation": current}).fetchone() or (0, 0, 0, 0)
            key = current_key(connection) or ""
            why = self._unfit(connection, current)
        n_documents, n_waiting, n_dead, n_vectors = row
        dense = why or ("ok" if n_vectors else NO_VECTORS)
        return Health(n_documents, n_waiting, n_dead, n_vectors, key, dense)

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        """Lend a connection on which every statement sees the same moment."""
        with self.database.connection() as connection, connection.transaction():
            connection.execute(_SNAPSHOT)
            yield connection

    def _unfit(self, connection: Connection, current: int | None) -> str:
        """Say why no query can be compared with the stored vectors; "" where it can."""
        if self.encoder is None:
            return NO_MODEL
        if current is None:
            return NO_GENERATION
        return "" if find(connection, self.encoder.generation) == current else OTHER_MODEL

    def _near(
        self, connection: Connection, asked: Understood, mode: Mode
    ) -> tuple[Near | None, str]:
        """Return what the dense arm found, and why that is not all; None where it failed."""
        current = current_id(connection)
        why = self._unfit(connection, current)
        if why or current is None or self.encoder is None:
            return None, why
        given = {"generation": current}
        has_vectors, is_waiting = connection.execute(_GAPS, given).fetchone() or (False, False)
        if not has_vectors:
            return None, WAITING if is_waiting else NO_VECTORS
        depth = asked.depth if mode == "dense" else DEPTH
        try:
            vector = encode_query(self.encoder, asked.text)
            with told(), connection.transaction():  # what fails in it leaves the snapshot usable
                near = find_near(
                    connection, vector, current, self.layout, asked.condition, depth=depth
                )
        except Exception as error:
            if connection.broken:
                raise
            why = failure_text(error)
            _log.warning("the dense arm failed: %s", why)
            return None, why
        return near, WAITING if is_waiting else ""

    def _by_words(
        self, connection: Connection, asked: Understood, *, relax: bool = False
    ) -> Candidates:
        return find_by_words(connection, asked.text, self.layout, asked.condition, relax=relax)

    def _ranked(self, arm: Candidates | Near, depth: int) -> Ranked:
        order = priority(arm.doc_ids, *ties.keys(arm.ties, self.layout.ties))
        return _named(top(arm.scored, order, depth), arm.doc_ids, arm.total)

    def _fused(self, arms: Sequence[Candidates | Near], depth: int) -> Ranked:
        values: dict[str, tuple[Any, ...]] = {}
        for arm in arms:
            values |= zip(arm.doc_ids, arm.ties, strict=True)
        doc_ids = list(values)
        row = {doc_id: i for i, doc_id in enumerate(doc_ids)}
        rankings = [[row[d] for d in _by_id_alone(arm, DEPTH)] for arm in arms]
        fused = reciprocal_rank_fusion(rankings)
        order = priority(doc_ids, *ties.keys(list(values.values()), self.layout.ties))
        is_cut = any(arm.total > DEPTH for arm in arms)
        return _named(top(fused, order, depth), doc_ids, None if is_cut else len(fused.rows))

    def _page(
        self,
        connection: Connection,
        ranked: Ranked,
        offset: int,
        best: Mapping[str, TextKey] | None = None,
        why: str = "",
    ) -> Page:
        doc_ids = ranked.doc_ids[offset:]
        rows = connection.execute(_DOCUMENTS, (doc_ids,)).fetchall()
        fields = {row[0]: _fields(row, self.layout) for row in rows}
        texts = _best_texts(connection, doc_ids, best or {})
        found = tuple(
            Found(doc_id, score, fields[doc_id], texts.get(doc_id))
            for doc_id, score in zip(doc_ids, ranked.scores[offset:], strict=True)
        )
        return Page(found, bool(why), ranked.total, why, bool(why) and best is None)


def _by_id_alone(arm: Candidates | Near, depth: int) -> list[str]:
    """Return an arm of a fusion, its ties by id: the configured ones order what is shown."""
    best = top(arm.scored, priority(arm.doc_ids), depth)
    return [arm.doc_ids[row] for row in best.rows.tolist()]


def _named(best: Scored, doc_ids: Sequence[str], total: int | None) -> Ranked:
    return Ranked([doc_ids[row] for row in best.rows.tolist()], best.scores.tolist(), total)


def _best_texts(
    connection: Connection, doc_ids: Sequence[str], best: Mapping[str, TextKey]
) -> dict[str, str]:
    keys = [(doc_id, *best[doc_id]) for doc_id in doc_ids if doc_id in best]
    if not keys:
        return {}
    columns = [[key[i] for key in keys] for i in range(3)]
    return dict(connection.execute(_TEXTS, columns).fetchall())


def _fields(row: Sequence[Any], layout: Layout) -> dict[str, Any]:
    """Return a document's fields, with what its settlements have changed."""
    doc_id, fields, settlements, updated = row
    changing = {} if settlements is None else {SETTLEMENTS: settlements}
    return {layout.id_field: doc_id, **fields, **changing, **updated}
