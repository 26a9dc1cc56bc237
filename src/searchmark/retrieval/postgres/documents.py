"""Documents into the catalog: their fields, their words, their texts to embed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec

from searchmark.errors import InputError, quoted
from searchmark.retrieval.instants import check_instant
from searchmark.retrieval.layout import SETTLEMENTS, UPDATED, Layout, TextOfDocument, text_of
from searchmark.retrieval.postgres.connection import Connection, Database
from searchmark.retrieval.postgres.facets import facets_of
from searchmark.retrieval.postgres.generations import share
from searchmark.retrieval.postgres.queue import enqueue
from searchmark.retrieval.postgres.words import MOST_BYTES, is_storable, parts, words_for
from searchmark.retrieval.substring import plain

BATCH = 500
"""Documents of one transaction of `seed`."""

LONGEST_ID, LONGEST_FIELD = 2000, 500
"""Bytes; an index of PostgreSQL holds 2,700 of both together."""

_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

# One pass in the order of ids locks those that are there and makes the others. Two passes, one for
# each, would let two sessions wait for each other. The row of a conflict is locked, not changed.
_HOLD = """
INSERT INTO document (doc_id, fields, content_sha256)
SELECT doc_id, '{}', '' FROM unnest(%s::text[]) AS given (doc_id)
ON CONFLICT (doc_id) DO UPDATE SET doc_id = excluded.doc_id WHERE false
"""

# Of two dates the later one counts, in three forms: as a moment, as it was given, for filters.
_UPDATE = """
UPDATE document AS d SET
    fields = given.fields::jsonb,
    facets = given.facets::jsonb,
    content_sha256 = given.digest,
    settlement_count = greatest(d.settlement_count, given.settled),
    last_updated = CASE WHEN {newer} THEN given.updated ELSE d.last_updated END,
    updated_as = CASE WHEN {newer} THEN given.updated_as::jsonb ELSE d.updated_as END,
    updated_facet = CASE WHEN {newer} THEN given.updated_facet::jsonb ELSE d.updated_facet END
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::timestamptz[],
        %s::text[], %s::text[])
    AS given (doc_id, fields, facets, digest, settled, updated, updated_as, updated_facet)
WHERE d.doc_id = given.doc_id
""".format(newer="given.updated >= coalesce(d.last_updated, '-infinity')")

_WORDS = """
INSERT INTO document_field (doc_id, field, part, terms)
SELECT doc_id, field, part, to_tsvector('english', words)
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[]) AS given (doc_id, field, part, words)
"""

_UNITED = """
UPDATE document SET words = united.words FROM (
    SELECT doc_id, array_to_tsvector(coalesce(
        array_agg(DISTINCT lexeme) FILTER (WHERE lexeme IS NOT NULL), '{}')) AS words
    FROM document_field LEFT JOIN LATERAL unnest(terms) ON true
    WHERE doc_id = ANY(%s) GROUP BY doc_id
) AS united
WHERE document.doc_id = united.doc_id
"""

_PLAIN = """
INSERT INTO document_plain (doc_id, field, plain)
SELECT * FROM unnest(%s::text[], %s::text[], %s::text[])
"""

_TEXTS = """
INSERT INTO document_text (doc_id, text_kind, text_no, text)
SELECT * FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[])
"""

_STALE = """
DELETE FROM embedding AS e WHERE doc_id = ANY(%s) AND NOT EXISTS (
    SELECT FROM document_text AS t
    WHERE t.doc_id = e.doc_id AND t.text_kind = e.text_kind AND t.text_no = e.text_no
        AND encode(sha256(convert_to(t.text, 'UTF8')), 'hex') = e.text_sha256
)
"""

_SETTLE = """
UPDATE document AS d SET
    settlement_count = coalesce(d.settlement_count, 0) + 1,
    last_updated = CASE WHEN {newer} THEN now.moment ELSE d.last_updated END,
    updated_as = CASE WHEN {newer} THEN now.updated_as ELSE d.updated_as END,
    updated_facet = CASE WHEN {newer} THEN now.updated_facet ELSE d.updated_facet END
FROM (
    SELECT moment, jsonb_build_object('last_updated', written) AS updated_as,
        jsonb_build_object('last_updated', jsonb_build_object(
            'text', jsonb_build_array(lower(written)))) AS updated_facet
    FROM (
        SELECT moment,
            to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS written
        FROM (SELECT clock_timestamp() AS moment) AS clock
    ) AS shown
) AS now
WHERE d.doc_id = %s RETURNING d.settlement_count
""".format(newer="now.moment >= coalesce(d.last_updated, '-infinity')")

# Documents first, then jobs, each by id: the order of everybody who locks several.
_HOLD_DOCUMENTS = "SELECT doc_id FROM document WHERE doc_id = ANY(%s) ORDER BY doc_id FOR UPDATE"
_HOLD_JOBS = "SELECT FROM embedding_job WHERE doc_id = ANY(%s) ORDER BY doc_id FOR UPDATE"


@dataclass(frozen=True, slots=True)
class Stored:
    """One document in the form that the tables hold."""

    doc_id: str
    fields: str
    facets: str
    digest: str
    settlements: int | None
    updated: datetime | None
    updated_as: str
    updated_facet: str
    words: tuple[tuple[str, int, str], ...]
    plain: tuple[tuple[str, str], ...]
    texts: tuple[TextOfDocument, ...]


def upsert(
    connection: Connection,
    documents: Sequence[Mapping[str, Any]],
    layout: Layout,
) -> int:
    """Add or replace documents in one transaction; return how many have a new content.

    New content is only enqueued, for the generation that is current then; where there is none yet,
    the first one enqueues all documents. Vectors of texts that a document no longer has are removed
    at once. A settlement count or a date that the catalog knows greater stays.
    """
    stored = {one.doc_id: one for one in (prepare(d, layout) for d in documents)}
    with connection.transaction():
        share(connection)  # before any document is locked: a switch waits for those
        changed = [stored[doc_id] for doc_id in _upserted(connection, stored)]
        _put_words(connection, changed)
        _put_texts(connection, changed)
        enqueue(connection, [one.doc_id for one in changed if one.texts])
    return len(changed)


def settle(connection: Connection, doc_id: str) -> int:
    """Count one more settlement of a document, now; return how many it has."""
    row = connection.execute(_SETTLE, (doc_id,)).fetchone() if is_storable(doc_id) else None
    if row is None:
        raise InputError(f"the catalog has no document {quoted(doc_id)}", fix="add it first")
    return int(row[0])


def remove(connection: Connection, doc_ids: Sequence[str]) -> int:
    """Take documents out of the catalog, and all of theirs; return how many were there."""
    storable = [doc_id for doc_id in doc_ids if is_storable(doc_id)]
    with connection.transaction():
        share(connection)  # as in `upsert`
        # what others add from now on is not ours: its job may not be locked before itself
        there = [i for (i,) in connection.execute(_HOLD_DOCUMENTS, (storable,)).fetchall()]
        connection.execute(_HOLD_JOBS, (there,))
        connection.execute("DELETE FROM document WHERE doc_id = ANY(%s)", (there,))
    return len(there)


def seed(
    database: Database,
    documents: Sequence[Mapping[str, Any]],
    layout: Layout,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Add documents in batches of 500; return how many have a new content.

    The layout is stored with the first ones; a catalog that was filled with another one is refused.
    """
    n_changed = 0
    with database.connection() as connection:
        claim_layout(connection, layout)
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            n_changed += upsert(connection, batch, layout)
            if progress is not None:
                progress(start + len(batch), len(documents))
    return n_changed


def claim_layout(connection: Connection, layout: Layout, *, store: bool = True) -> None:
    """Check that the documents here were stored with this layout; note it where there is none."""
    wanted = layout.indexed
    for name in (*layout.weights, *layout.substring):
        _check_length(f"the field {quoted(name)}", name, LONGEST_FIELD)
    if store:
        connection.execute(
            "INSERT INTO layout (indexed) VALUES (%s::jsonb) ON CONFLICT DO NOTHING",
            (msgspec.json.encode(wanted).decode(),),
        )
    row = connection.execute("SELECT indexed FROM layout").fetchone()
    if row is not None and row[0] != wanted:
        key = next(k for k in wanted if row[0].get(k) != wanted[k])
        raise InputError(
            f"the catalog's documents were stored with other fields ({key}: {row[0].get(key)}, now "
            f"{wanted[key]})",
            fix="use these fields, or fill another schema",
        )


def prepare(document: Mapping[str, Any], layout: Layout) -> Stored:
    """Return a document as the tables hold it; InputError where they cannot."""
    doc_id = layout.doc_id(document)
    _check_storable(doc_id, "id", doc_id)
    _check_length(f"the id {quoted(doc_id)}", doc_id, LONGEST_ID)
    kept = {k: v for k, v in document.items() if k not in (SETTLEMENTS, UPDATED, layout.id_field)}
    fields = _json(doc_id, kept)
    updated = document.get(UPDATED)
    texts = tuple(layout.texts(document))
    words = _words(doc_id, document, layout)
    whole = {f: plain(text_of(document.get(f))) for f in layout.substring}
    return Stored(
        doc_id,
        fields,
        _json(doc_id, facets_of({**kept, layout.id_field: doc_id})),
        sha256("\0".join([fields, *(one.text for one in texts)]).encode()).hexdigest(),
        _settlements(doc_id, document.get(SETTLEMENTS)),
        check_instant(doc_id, updated),
        _json(doc_id, {UPDATED: updated}),
        _json(doc_id, facets_of({UPDATED: updated})),
        words,
        tuple((f, text) for f, text in whole.items() if text),
        texts,
    )


def _upserted(connection: Connection, stored: Mapping[str, Stored]) -> list[str]:
    """Write the documents' own rows; return the ids of those whose content is new."""
    ids = sorted(stored)  # always in one order, so that two sessions cannot wait for each other
    connection.execute(_HOLD, (ids,))
    before = dict(
        connection.execute(
            "SELECT doc_id, content_sha256 FROM document WHERE doc_id = ANY(%s)", (ids,)
        ).fetchall()
    )
    rows = [stored[doc_id] for doc_id in ids]
    connection.execute(
        _UPDATE,
        (
            ids,
            [one.fields for one in rows],
            [one.facets for one in rows],
            [one.digest for one in rows],
            [one.settlements for one in rows],
            [one.updated for one in rows],
            [one.updated_as for one in rows],
            [one.updated_facet for one in rows],
        ),
    )
    return [one.doc_id for one in rows if before.get(one.doc_id) != one.digest]


def _put_words(connection: Connection, changed: Sequence[Stored]) -> None:
    ids = [one.doc_id for one in changed]
    for table in ("document_field", "document_plain", "document_text"):
        connection.execute(f"DELETE FROM {table} WHERE doc_id = ANY(%s)".encode(), (ids,))
    words = [(one.doc_id, *row) for one in changed for row in one.words]
    connection.execute(_WORDS, _columns(words, 4))
    connection.execute(_UNITED, (ids,))
    connection.execute(_PLAIN, _columns([(o.doc_id, *row) for o in changed for row in o.plain], 3))


def _put_texts(connection: Connection, changed: Sequence[Stored]) -> None:
    connection.execute(_TEXTS, _columns([(o.doc_id, *t) for o in changed for t in o.texts], 4))
    connection.execute(_STALE, ([one.doc_id for one in changed],))


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(width)]


def _words(
    doc_id: str, document: Mapping[str, Any], layout: Layout
) -> tuple[tuple[str, int, str], ...]:
    """Return field, number of the part, and words of everything that is searched by words."""
    found, different = [], set()
    for name in sorted(layout.weights):
        words = words_for(text_of(document.get(name)))
        different.update(words)
        found += [(name, i, part) for i, part in enumerate(parts(words))]
    if sum(len(word.encode()) for word in different) > MOST_BYTES:
        raise InputError(
            f"the document {quoted(doc_id)} has more different words than PostgreSQL can index",
            fix=f"leave at most {MOST_BYTES:,} bytes of different words in its searched fields",
        )
    return tuple(found)


def _json(doc_id: str, value: Mapping[str, Any]) -> str:
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the document {quoted(doc_id)} holds what JSON cannot ({error})",
            fix="give texts or numbers",
        ) from None
    if _NUL.search(encoded):
        _check_storable(doc_id, "fields", "\0")
    return encoded.decode()


def _check_storable(doc_id: str, what: str, text: str) -> None:
    if not is_storable(text):
        raise InputError(
            f"the document {quoted(doc_id)} has a NUL character or half a character in its {what}, "
            "which PostgreSQL cannot hold",
            fix="take it out",
        )


def _check_length(what: str, text: str, most: int) -> None:
    if len(text.encode()) > most:
        raise InputError(
            f"{what} has {len(text.encode()):,} bytes, more than the {most:,} that PostgreSQL can "
            "index here",
            fix="give a shorter one",
        )


def _settlements(doc_id: str, value: object) -> int | None:
    if value is None:
        return None
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 0 <= value < 2**63:  # type: ignore[operator]
        raise InputError(
            f"the document {quoted(doc_id)} has {SETTLEMENTS} {value!r:.40}",
            fix="give a count from 0",
        )
    return int(value)  # type: ignore[call-overload,no-any-return]
