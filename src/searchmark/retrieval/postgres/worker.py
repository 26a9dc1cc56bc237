"""A worker: claims documents from the queue, embeds their texts, writes the vectors."""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event, get_ident
from time import monotonic
from typing import NamedTuple, TypeVar

import numpy as np
import psycopg
from numpy.typing import NDArray

from searchmark.errors import InputError, OutsideError, described
from searchmark.retrieval.encoders import Encoder
from searchmark.retrieval.lengths import are_finite
from searchmark.retrieval.postgres import queue
from searchmark.retrieval.postgres.connection import Connection, Database
from searchmark.retrieval.postgres.generations import (
    current,
    current_id,
    current_key,
    find,
    first,
)
from searchmark.retrieval.postgres.leases import held
from searchmark.retrieval.postgres.queue import Claim, Counts, Job, Patience
from searchmark.retrieval.postgres.vectors import Content, Made, complete, missing, read_contents

_log = logging.getLogger(__name__)

Floats = NDArray[np.float32]
T = TypeVar("T")


class Pace(NamedTuple):
    """How much a worker claims, and for how long; when it asks, tries again and ends.

    With `drain` it ends when everything is embedded or a dead letter. `poll_s` is between two looks
    at a queue with nothing due. After the database was lost, the worker waits `reconnect_s`, then
    twice as long each time up to 30 s, and gives up after `give_up_s` (never, where it is None).
    """

    batch: int = 16
    lease_s: float = queue.LEASE_S
    poll_s: float = 1.0
    reconnect_s: float = 0.5
    give_up_s: float | None = None
    patience: Patience = Patience()
    drain: bool = False


@dataclass(slots=True)
class Tally:
    """What a worker did: documents embedded, attempts that failed, claims lost to others."""

    n_done: int = 0
    n_failed: int = 0
    n_lost: int = 0


Tell = Callable[[Tally, Counts], object]
"""Told after every batch what was done so far and what is left."""


class SupersededError(InputError):
    """Another generation became current: this model's vectors are not looked at any more."""


def adopt(connection: Connection, encoder: Encoder, *, switch: bool = False) -> int:
    """Return the number of a model's generation, made current where there is none.

    Where another one is current, an InputError says so, unless `switch` is given: then all
    documents are enqueued for this model.
    """
    if switch:
        return current(connection, encoder.generation)
    now = current_id(connection) or first(connection, encoder.generation)
    if now != find(connection, encoder.generation):
        raise SupersededError(
            f"the catalog is embedded by {current_key(connection)}, and the model here is "
            f"{encoder.generation.key}",
            fix="use that model, or switch to this one, which embeds every document again",
        )
    return now


def work(
    database: Database,
    encoder: Encoder,
    *,
    stop: Event,
    pace: Pace = Pace(),  # noqa: B008 - a frozen value
    tell: Tell | None = None,
    redact: Callable[[str], str] = str,
) -> Tally:
    """Embed what waits in the queue until `stop` is set.

    Parameters
    ----------
    database
        A migrated schema.
    encoder
        The model; its generation has to be the current one, or becomes it where there is none.
    stop
        Ends the work: the batch that is being encoded is finished, documents not begun go back.
    pace
        Sizes and times; whether to end with the queue.
    tell
        Told of the progress.
    redact
        What errors go through before they are stored.

    Returns
    -------
    What this worker did.

    Raises
    ------
    SupersededError
        Another generation is, or became, the current one.
    OutsideError
        The database does not do what it is asked to, or was away for longer than `give_up_s`.
    """
    worker = Worker(database, encoder, stop, pace, redact)
    worker.begin()
    while not stop.is_set():
        found = worker.claim()
        if found is None:
            break  # stopped while the database was away
        if found.jobs:
            worker.embed(found)
        left = worker.counts()
        if left is not None and tell is not None:
            tell(worker.tally, left)
        if left is None or (pace.drain and not left.open):
            break
        if not found.jobs:
            worker.rest()
    return worker.tally


class Worker:
    """One worker's state: its name, its generation, what it did."""

    def __init__(
        self,
        database: Database,
        encoder: Encoder,
        stop: Event,
        pace: Pace,
        redact: Callable[[str], str],
    ) -> None:
        self.tally = Tally()
        self._database, self._encoder, self._stop = database, encoder, stop
        self._pace, self._redact = pace, redact
        self._name = f"{socket.gethostname()}:{os.getpid()}:{get_ident()}"
        self._generation_id = 0

    def begin(self) -> None:
        """Find the model's generation."""

        def ask(connection: Connection) -> int:
            return adopt(connection, self._encoder)

        self._generation_id = self._ask(ask) or 0

    def claim(self) -> Claim | None:
        """Claim jobs; where there are none, see that this generation is still the current one."""

        def ask(connection: Connection) -> Claim:
            found = queue.claim(
                connection,
                self._generation_id,
                self._name,
                batch=self._pace.batch,
                lease_s=self._pace.lease_s,
                patience=self._pace.patience,
            )
            if not found.jobs:
                adopt(connection, self._encoder)
            return found

        return self._ask(ask)

    def counts(self) -> Counts | None:
        """Count what is left."""
        return self._ask(lambda connection: queue.counts(connection, self._generation_id))

    def rest(self) -> None:
        """Wait until something may be due; what is enqueued meanwhile waits `poll_s` at most."""
        due = self._ask(lambda connection: queue.due_in_s(connection, self._generation_id))
        poll = self._pace.poll_s
        self._stop.wait(poll if due is None else min(poll, max(0.01, due)))

    def embed(self, claim: Claim) -> None:
        """Embed the claimed documents together; where that fails, each alone."""
        with held(self._database, claim.token, self._pace.lease_s):
            contents = self._ask(lambda c: self._read(c, claim))
            if contents is None:
                return
            try:
                made = self._encode(claim.jobs, contents)
            except Exception as error:
                if len(claim.jobs) > 1:
                    self._one_by_one(claim, contents)
                else:
                    self._fail(claim, claim.jobs[0], error)
                return
        self._complete(claim, made)

    def _read(self, connection: Connection, claim: Claim) -> dict[str, Content]:
        ids = [job.doc_id for job in claim.jobs]
        return read_contents(connection, self._generation_id, ids)

    def _one_by_one(self, claim: Claim, contents: dict[str, Content]) -> None:
        """Embed each document alone, so that only those fail that cannot be embedded."""
        for i, job in enumerate(claim.jobs):
            if self._stop.is_set():
                self._release(claim, claim.jobs[i:])
                return
            try:
                made = self._encode([job], contents)
            except Exception as error:
                self._fail(claim, job, error)
            else:
                self._complete(claim, made)

    def _encode(self, jobs: Sequence[Job], contents: dict[str, Content]) -> list[Made]:
        """Return the vectors of documents; one that was deleted meanwhile needs none."""
        there = [(job, contents[job.doc_id]) for job in jobs if job.doc_id in contents]
        texts = [text.text for _, content in there for text in missing(content)]
        vectors = _checked(self._encoder, texts)
        made, start = [], 0
        for job, content in there:
            end = start + len(missing(content))
            made.append(Made(job, content, vectors[start:end]))
            start = end
        return made

    def _complete(self, claim: Claim, made: list[Made]) -> None:
        ended = self._ask(lambda c: complete(c, claim, self._generation_id, made))
        if ended is not None:
            self.tally.n_done += ended.done
            self.tally.n_lost += ended.lost

    def _fail(self, claim: Claim, job: Job, error: Exception) -> None:
        said = self._redact(described(error))
        held = self._ask(lambda c: queue.fail(c, job, claim.token, said, self._pace.patience))
        self.tally.n_failed += held is True
        self.tally.n_lost += held is False

    def _release(self, claim: Claim, jobs: Sequence[Job]) -> None:
        self._ask(lambda c: queue.release(c, claim.token, jobs))

    def _ask(self, question: Callable[[Connection], T]) -> T | None:
        """Ask the database until it answers; None where the worker is stopped while it is away."""
        since = monotonic()
        for wait in waits(self._pace.reconnect_s):
            try:
                with self._database.connection() as connection:
                    return question(connection)
            except OutsideError as error:
                limit = self._pace.give_up_s
                if not is_lost(error) or (limit is not None and monotonic() - since > limit):
                    raise
                if wait == self._pace.reconnect_s:
                    _log.warning("%s; trying again", self._redact(str(error)))
            if self._stop.wait(wait):
                break
        return None


def _checked(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Encode texts; what the model gives has to be vectors of its own generation."""
    dimension = encoder.generation.dimension
    if not texts:
        return np.zeros((0, dimension), np.float32)
    with np.errstate(over="ignore"):  # told below
        vectors = np.asarray(encoder.encode(texts), np.float32)
    if vectors.shape != (len(texts), dimension):
        raise ValueError(
            f"the model gave an array of shape {vectors.shape} for {len(texts)} texts, and its "
            f"vectors have {dimension} dimensions"
        )
    if not are_finite(vectors):
        raise ValueError("the model gave a vector that is not finite, or too long to be compared")
    return vectors


def waits(first_s: float = Pace().reconnect_s) -> Iterator[float]:
    """Yield how long to wait for what is away: twice as long each time, up to 30 s."""
    wait = first_s
    while True:
        yield wait
        wait = min(2 * wait, 30.0)


def is_lost(error: OutsideError) -> bool:
    """Tell whether the same question may be answered later: no connection, or a lock."""
    cause = error.__cause__
    return cause is None or isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
