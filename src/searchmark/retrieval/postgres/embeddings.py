"""The texts that wait in the queue, embedded here and now: what an evaluation needs."""

from collections.abc import Callable
from hashlib import sha256

from searchmark.retrieval.encoders import Encoder
from searchmark.retrieval.postgres.connection import Connection, Database
from searchmark.retrieval.postgres.nearest import vector_text

_WAITING = """
SELECT doc_id FROM embedding_job WHERE generation_id = %s AND status = 'waiting'
ORDER BY doc_id LIMIT %s FOR UPDATE SKIP LOCKED
"""

_TEXTS = """
SELECT doc_id, text_kind, text_no, text FROM document_text WHERE doc_id = ANY(%s)
ORDER BY doc_id, text_kind, text_no
"""

_PUT = """
INSERT INTO embedding (doc_id, text_kind, text_no, generation_id, text_sha256, vector)
SELECT doc_id, kind, no, %s, digest, vector::vector
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::text[])
    AS given (doc_id, kind, no, digest, vector)
ON CONFLICT (generation_id, doc_id, text_kind, text_no) DO UPDATE SET
    text_sha256 = excluded.text_sha256, vector = excluded.vector
"""


def drain(
    database: Database,
    encoder: Encoder,
    generation_id: int,
    *,
    batch: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed everything that waits in a generation; return how many documents there were."""
    done = 0
    with database.connection() as connection:
        row = connection.execute(
            "SELECT count(*) FROM embedding_job WHERE generation_id = %s AND status = 'waiting'",
            (generation_id,),
        ).fetchone()
        total = row[0] if row else 0
        while n := _drain_batch(connection, encoder, generation_id, batch):
            done += n
            if progress is not None:
                progress(done, max(done, total))
    return done


def _drain_batch(connection: Connection, encoder: Encoder, generation_id: int, batch: int) -> int:
    with connection.transaction():
        rows = connection.execute(_WAITING, (generation_id, batch)).fetchall()
        doc_ids = [row[0] for row in rows]
        if not doc_ids:
            return 0
        texts = connection.execute(_TEXTS, (doc_ids,)).fetchall()
        vectors = encoder.encode([row[3] for row in texts])
        kept = [(r, v) for r, v in zip(texts, vectors, strict=True) if v.any()]
        connection.execute(
            _PUT,
            (
                generation_id,
                [r[0] for r, _ in kept],
                [r[1] for r, _ in kept],
                [r[2] for r, _ in kept],
                [sha256(r[3].encode()).hexdigest() for r, _ in kept],
                [vector_text(v) for _, v in kept],
            ),
        )
        connection.execute(
            "DELETE FROM embedding_job WHERE generation_id = %s AND doc_id = ANY(%s)",
            (generation_id, doc_ids),
        )
    return len(doc_ids)
