"""The queue of documents to embed: jobs in a table, claimed by one worker at a time.

The database's clock rules: workers on machines whose clocks differ agree on when a lease ends.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID, uuid4

from searchmark.errors import one_line
from searchmark.retrieval.postgres.connection import Connection
from searchmark.retrieval.postgres.generations import current_id, share

LEASE_S = 120.0
"""Seconds for which a claimed job belongs to its worker."""

ERROR_CHARACTERS = 500
"""How much of an error is kept."""

LEASE_ENDED = "its worker's lease ended before the job did: the worker was killed, or hung"

_FREE = "lease_until = NULL, claimed_by = NULL, claim_token = NULL"

_ENQUEUE = f"""
INSERT INTO embedding_job AS j (doc_id, generation_id)
SELECT doc_id, %s FROM unnest(%s::text[]) AS given (doc_id)
ON CONFLICT (doc_id, generation_id) DO UPDATE SET
    status = 'waiting', attempts = 0, not_before = now(), last_error = NULL, {_FREE}
""".encode()

_BURY = f"""
UPDATE embedding_job SET status = 'dead', last_error = coalesce(last_error, %s), {_FREE}
WHERE job_id IN (
    SELECT job_id FROM embedding_job
    WHERE generation_id = %s AND status = 'claimed' AND lease_until <= now() AND attempts >= %s
    FOR UPDATE SKIP LOCKED
)
""".encode()

_CLAIM = """
WITH due AS MATERIALIZED (
    SELECT job_id FROM embedding_job
    WHERE generation_id = %s AND {due}
        AND generation_id = (SELECT generation_id FROM generation WHERE is_current)
    ORDER BY not_before, job_id LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE embedding_job AS j SET
    status = 'claimed', attempts = attempts + 1, lease_until = now() + make_interval(secs => %s),
    claimed_by = %s, claim_token = %s
FROM due WHERE j.job_id = due.job_id
RETURNING j.job_id, j.doc_id, j.attempts
"""
_TAKE_OVER = _CLAIM.format(due="status = 'claimed' AND lease_until <= now()").encode()
_TAKE = _CLAIM.format(due="status = 'waiting' AND not_before <= now()").encode()

_FAIL = f"""
UPDATE embedding_job SET status = 'waiting', last_error = %s,
    not_before = now() + make_interval(secs => %s), {_FREE}
WHERE job_id = %s AND claim_token = %s
""".encode()

_DIE = f"""
UPDATE embedding_job SET status = 'dead', last_error = %s, {_FREE}
WHERE job_id = %s AND claim_token = %s
""".encode()

# Who changes several jobs locks them in the order of their documents, as who adds those does.
_HELD = """
WITH held AS MATERIALIZED (
    SELECT job_id FROM embedding_job WHERE {which} ORDER BY doc_id FOR UPDATE
)
"""

_RELEASE = f"""
{_HELD.format(which="claim_token = %s AND job_id = ANY(%s)")}
UPDATE embedding_job AS j
SET status = 'waiting', attempts = attempts - 1, not_before = now(), {_FREE}
FROM held WHERE j.job_id = held.job_id
""".encode()

_EXTEND = f"""
{_HELD.format(which="claim_token = %s")}
UPDATE embedding_job AS j SET lease_until = now() + make_interval(secs => %s)
FROM held WHERE j.job_id = held.job_id
""".encode()

_COUNTS = """
SELECT count(*) FILTER (WHERE status = 'waiting'), count(*) FILTER (WHERE status = 'claimed'),
    count(*) FILTER (WHERE status = 'dead')
FROM embedding_job WHERE generation_id = %s
"""

_REQUEUE = f"""
{_HELD.format(which="generation_id = %s AND status = 'dead'")}
UPDATE embedding_job AS j
SET status = 'waiting', attempts = 0, not_before = now(), last_error = NULL
FROM held WHERE j.job_id = held.job_id
""".encode()

_NEXT = """
SELECT extract(epoch FROM min(CASE status WHEN 'waiting' THEN not_before ELSE lease_until END)
    - now())::float8
FROM embedding_job WHERE generation_id = %s AND status <> 'dead'
"""


_DEAD = """
SELECT doc_id, last_error FROM embedding_job WHERE generation_id = %s AND status = 'dead'
ORDER BY not_before DESC, job_id DESC LIMIT 1
"""


class Patience(NamedTuple):
    """How a job that failed is tried again: when, and how often at most."""

    first_s: float = 5.0
    longest_s: float = 600.0
    attempts: int = 5

    def backoff_s(self, attempts: int) -> float:
        """Return the seconds to wait after so many attempts: ``first_s * 2**attempts``, capped."""
        doublings = min(attempts, 64)  # a greater power would be no float some day
        return min(self.longest_s, self.first_s * 2.0**doublings)


class Job(NamedTuple):
    """A claimed document: how many attempts there were, with this one."""

    job_id: int
    doc_id: str
    attempts: int


class Claim(NamedTuple):
    """Jobs claimed at once, and the token that allows to end them."""

    token: UUID
    jobs: tuple[Job, ...]


class Counts(NamedTuple):
    """How many jobs of a generation there are, by status."""

    waiting: int
    claimed: int
    dead: int

    @property
    def open(self) -> int:
        """How many are neither done nor given up."""
        return self.waiting + self.claimed


def enqueue(connection: Connection, doc_ids: Sequence[str]) -> None:
    """Have documents embedded by the current generation; called in what changes them.

    A document that waits already, failed or is being embedded starts from the beginning, and who
    embeds its old content can no longer end the job. Without a current generation nothing is done:
    the one that becomes it enqueues every document that is there.
    """
    with connection.transaction():
        share(connection)  # only from here on is it known which one is current
        wanted = current_id(connection)
        if wanted is not None:
            connection.execute(_ENQUEUE, (wanted, sorted(set(doc_ids))))


def claim(
    connection: Connection,
    generation_id: int,
    worker: str,
    *,
    batch: int = 16,
    lease_s: float = LEASE_S,
    patience: Patience = Patience(),  # noqa: B008 - a frozen value
) -> Claim:
    """Claim up to `batch` jobs that are due, for the current generation only.

    A job whose lease ended is claimed alone: if it is what ends its workers, the rest of its batch
    does not end with it. One that had all its attempts is a dead letter.
    """
    token = uuid4()
    given = (lease_s, worker, token)
    with connection.transaction():
        connection.execute(_BURY, (LEASE_ENDED, generation_id, patience.attempts))
        found = connection.execute(_TAKE_OVER, (generation_id, 1, *given)).fetchall()
        if not found:
            found = connection.execute(_TAKE, (generation_id, batch, *given)).fetchall()
    return Claim(token, tuple(sorted(Job(*row) for row in found)))


def fail(
    connection: Connection,
    job: Job,
    token: UUID,
    error: str,
    patience: Patience = Patience(),  # noqa: B008 - a frozen value
) -> bool:
    """Note why a job failed, and when it is due again; after the last attempt it is a dead letter.

    Returns whether the token still held the job; otherwise nothing is changed.
    """
    said = short(error)
    if job.attempts >= patience.attempts:
        done = connection.execute(_DIE, (said, job.job_id, token))
    else:
        wait = patience.backoff_s(job.attempts)
        done = connection.execute(_FAIL, (said, wait, job.job_id, token))
    return done.rowcount == 1


def release(connection: Connection, token: UUID, jobs: Sequence[Job]) -> int:
    """Give jobs back as if they had not been claimed; return how many were still held."""
    return connection.execute(_RELEASE, (token, [job.job_id for job in jobs])).rowcount


def extend(connection: Connection, token: UUID, lease_s: float = LEASE_S) -> int:
    """Let the lease of a claim begin anew; return how many jobs it still holds."""
    return connection.execute(_EXTEND, (token, lease_s)).rowcount


def requeue(connection: Connection, generation_id: int) -> int:
    """Give all dead letters of a generation new attempts; return how many there were."""
    return connection.execute(_REQUEUE, (generation_id,)).rowcount


def counts(connection: Connection, generation_id: int) -> Counts:
    """Return how many jobs of a generation there are."""
    row = connection.execute(_COUNTS, (generation_id,)).fetchone()
    return Counts(*row) if row else Counts(0, 0, 0)


def last_dead(connection: Connection, generation_id: int) -> tuple[str, str] | None:
    """Return the document of the newest dead letter and its error; None where there is none."""
    return connection.execute(_DEAD, (generation_id,)).fetchone()


def due_in_s(connection: Connection, generation_id: int) -> float | None:
    """Return in how many seconds the next job is due or its lease ends; None without jobs."""
    row = connection.execute(_NEXT, (generation_id,)).fetchone()
    return None if row is None else row[0]


def short(text: str) -> str:
    """Return an error as it is kept: one line that PostgreSQL can hold, and not a long one."""
    line = one_line(text.replace("\0", "\ufffd")).encode("utf-8", "replace").decode()
    return line if len(line) <= ERROR_CHARACTERS else line[: ERROR_CHARACTERS - 1] + "\u2026"
