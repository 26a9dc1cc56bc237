"""The texts of claimed documents, and their vectors written where the claim still holds."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.generation import Generation
from searchmark.retrieval.postgres.connection import Connection
from searchmark.retrieval.postgres.generations import find
from searchmark.retrieval.postgres.nearest import read_vectors
from searchmark.retrieval.postgres.queue import Claim, Job, release

Floats = NDArray[np.float32]

_READ = """
SELECT d.doc_id, d.content_sha256, t.text_kind, t.text_no, t.text, e.text_sha256
FROM document AS d
LEFT JOIN document_text AS t ON t.doc_id = d.doc_id
LEFT JOIN embedding AS e ON e.generation_id = %s AND e.doc_id = t.doc_id
    AND e.text_kind = t.text_kind AND e.text_no = t.text_no
WHERE d.doc_id = ANY(%s) ORDER BY d.doc_id, t.text_kind, t.text_no
"""

# Documents first, then jobs, each by id: whoever changes documents locks in this order, too.
_HOLD_DOCUMENTS = """
SELECT doc_id, content_sha256 FROM document
WHERE doc_id = ANY(%s) ORDER BY doc_id FOR KEY SHARE
"""
_HOLD_JOBS = """
SELECT job_id FROM embedding_job
WHERE claim_token = %s AND job_id = ANY(%s) ORDER BY doc_id FOR UPDATE
"""

_SAMPLE = """
SELECT t.text, vector_send(e.vector) FROM embedding AS e
JOIN document_text AS t USING (doc_id, text_kind, text_no)
WHERE e.generation_id = %s AND encode(sha256(convert_to(t.text, 'UTF8')), 'hex') = e.text_sha256
ORDER BY e.doc_id, e.text_kind, e.text_no LIMIT 1
"""

_CLEAR = """
DELETE FROM embedding AS e WHERE generation_id = %s AND doc_id = ANY(%s) AND NOT EXISTS (
    SELECT FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[])
        AS kept (doc_id, text_kind, text_no, text_sha256)
    WHERE kept.doc_id = e.doc_id AND kept.text_kind = e.text_kind
        AND kept.text_no = e.text_no AND kept.text_sha256 = e.text_sha256
)
"""

_WRITE = """
INSERT INTO embedding (generation_id, doc_id, text_kind, text_no, text_sha256, vector)
SELECT %s, doc_id, text_kind, text_no, text_sha256, numbers::vector
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::text[])
    AS made (doc_id, text_kind, text_no, text_sha256, numbers)
ON CONFLICT (generation_id, doc_id, text_kind, text_no)
    DO UPDATE SET text_sha256 = excluded.text_sha256, vector = excluded.vector
"""

_DONE = "DELETE FROM embedding_job WHERE job_id = ANY(%s)"


class Text(NamedTuple):
    """One text of a document; `is_embedded` says that its vector is there already."""

    kind: str
    number: int
    text: str
    digest: str
    is_embedded: bool


class Content(NamedTuple):
    """A document as it was when it was read."""

    doc_id: str
    digest: str
    texts: tuple[Text, ...]


class Sample(NamedTuple):
    """A text that is in the catalog, and its vector there."""

    text: str
    vector: Floats


class Made(NamedTuple):
    """A document's vectors, one for each of its texts that had none."""

    job: Job
    content: Content
    vectors: Floats


class Ended(NamedTuple):
    """What became of jobs whose vectors were computed."""

    done: int
    changed: int
    lost: int


def read_contents(
    connection: Connection, generation_id: int, doc_ids: Sequence[str]
) -> dict[str, Content]:
    """Return the documents that are there, each with its texts."""
    digests: dict[str, str] = {}
    texts: dict[str, list[Text]] = {}
    for doc_id, digest, kind, number, text, embedded in connection.execute(
        _READ, (generation_id, list(doc_ids))
    ):
        digests[doc_id] = digest
        found = texts.setdefault(doc_id, [])
        if kind is not None:
            own = digest_text(text)
            found.append(Text(kind, number, text, own, embedded == own))
    return {doc_id: Content(doc_id, digests[doc_id], tuple(texts[doc_id])) for doc_id in digests}


def read_sample(connection: Connection, generation: Generation) -> Sample | None:
    """Return the first text with a vector of a generation; None where it has none."""
    row = connection.execute(_SAMPLE, (find(connection, generation),), binary=True).fetchone()
    return None if row is None else Sample(row[0], read_vectors([row[1]], generation.dimension)[0])


def digest_text(text: str) -> str:
    """Return the SHA-256 that tells whether a vector is that of a text."""
    return sha256(text.encode()).hexdigest()


def complete(
    connection: Connection, claim: Claim, generation_id: int, made: Sequence[Made]
) -> Ended:
    """Write vectors and end their jobs, all in one transaction.

    A job that was taken over, enqueued anew or ended with its generation is not touched: its
    vectors are dropped. One whose document has changed since it was read waits again.
    """
    with connection.transaction():
        held, now = _hold(connection, claim, made)
        ours = [one for one in made if one.job.job_id in held]
        fresh = [one for one in ours if now.get(one.content.doc_id) == one.content.digest]
        changed = [one.job for one in ours if one not in fresh]
        if fresh:
            _write(connection, generation_id, fresh)
        if changed:
            release(connection, claim.token, changed)
    return Ended(len(fresh), len(changed), len(made) - len(ours))


def _hold(
    connection: Connection, claim: Claim, made: Sequence[Made]
) -> tuple[set[int], Mapping[str, str]]:
    """Lock documents and jobs; return the jobs that are still held, the documents' content."""
    doc_ids = [one.content.doc_id for one in made]
    now = dict(connection.execute(_HOLD_DOCUMENTS, (doc_ids,)).fetchall())
    jobs = [one.job.job_id for one in made]
    held = connection.execute(_HOLD_JOBS, (claim.token, jobs)).fetchall()
    return {job_id for (job_id,) in held}, now


def _write(connection: Connection, generation_id: int, made: Sequence[Made]) -> None:
    doc_ids = [one.content.doc_id for one in made]
    kept = [(one.content.doc_id, text) for one in made for text in one.content.texts]
    connection.execute(_CLEAR, (generation_id, doc_ids, *_keys(kept)))
    rows = [
        (one.content.doc_id, text, vector)
        for one in made
        for text, vector in zip(missing(one.content), one.vectors, strict=True)
        if vector.any()  # a text without a direction resembles nothing
    ]
    keys = _keys([(doc_id, text) for doc_id, text, _ in rows])
    numbers = [str(vector.tolist()) for _, _, vector in rows]  # doubles give the same floats back
    connection.execute(_WRITE, (generation_id, *keys, numbers))
    connection.execute(_DONE, ([one.job.job_id for one in made],))


def _keys(rows: Sequence[tuple[str, Text]]) -> tuple[list[str], list[str], list[int], list[str]]:
    return (
        [doc_id for doc_id, _ in rows],
        [text.kind for _, text in rows],
        [text.number for _, text in rows],
        [text.digest for _, text in rows],
    )


def missing(content: Content) -> list[Text]:
    """Return a document's texts that have no vector of this generation yet."""
    return [text for text in content.texts if not text.is_embedded]
