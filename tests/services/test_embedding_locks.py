"""Who changes several documents or jobs at once never waits in a circle with somebody else.

Every test holds a lock that stops the sessions at the very place where the order of locks matters,
and then lets go. PostgreSQL ends one of those that wait in a circle with an error after a second.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("psycopg_pool")

from searchmark.retrieval.postgres import queue as jobs
from searchmark.retrieval.postgres.connection import Connection
from searchmark.retrieval.postgres.documents import remove, upsert
from searchmark.retrieval.postgres.vectors import Ended, Made, complete, read_contents

from .queue_catalog import LAYOUT, Queue, texts_of, until
from .queue_worker import Letters


class Sessions:
    """Calls on connections of their own, each begun when the one before it waits."""

    def __init__(self, queue: Queue, threads: ThreadPoolExecutor) -> None:
        self.queue, self._threads = queue, threads
        self.futures: list[Future[object]] = []

    def begin(self, call: Callable[[Connection], object], *, waits: int) -> None:
        """Begin a call; return when so many sessions wait for a lock."""

        def ask() -> object:
            with self.queue.database.connection() as connection:
                return call(connection)

        self.futures.append(self._threads.submit(ask))
        until(lambda: self.queue.n_waiting() == waits)

    def results(self) -> list[object]:
        return [future.result(30) for future in self.futures]


@pytest.fixture
def sessions(queue: Queue) -> Iterator[Sessions]:
    with ThreadPoolExecutor(8) as threads:
        yield Sessions(queue, threads)


@contextmanager
def held(queue: Queue, what: str) -> Iterator[None]:
    """Hold the rows that a statement locks."""
    with queue.database.connection() as connection, connection.transaction():
        connection.execute(what.encode())
        yield


def document(doc_id: str) -> str:
    return f"SELECT FROM document WHERE doc_id = '{doc_id}' FOR UPDATE"


def job(doc_id: str) -> str:
    return f"SELECT FROM embedding_job WHERE doc_id = '{doc_id}' FOR UPDATE"


def put(*doc_ids: str, text: str = "abc") -> Callable[[Connection], int]:
    documents = [{"id": doc_id, "description": text} for doc_id in doc_ids]
    return lambda connection: upsert(connection, documents, LAYOUT)


def test_removing_and_switching(queue: Queue, sessions: Sessions) -> None:
    queue.use(Letters())
    queue.add("abc", "def")
    with held(queue, document("d001")):
        sessions.begin(lambda c: remove(c, ["d000", "d001"]), waits=1)  # has d000
        sessions.begin(lambda _: queue.use(Letters(shift=1)), waits=2)  # would want d000
    assert sessions.results()[0] == 2
    assert queue.sql("SELECT doc_id FROM embedding_job") == []


def test_removing_in_two_orders(queue: Queue, sessions: Sessions) -> None:
    queue.use(Letters())
    queue.add("abc", first=1)  # the later id lies first in the table
    queue.add("def")
    with held(queue, document("d001")):
        sessions.begin(lambda c: remove(c, ["d001", "d000"]), waits=1)
        sessions.begin(put("d000", "d001", text="xyz"), waits=2)
    assert sessions.results() == [2, 2]


def test_removing_what_is_added_meanwhile(queue: Queue, sessions: Sessions) -> None:
    queue.use(Letters())
    queue.add("abc")
    queue.add("ghi", first=2)
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(held(queue, document("d000")))
        second.enter_context(held(queue, document("d002")))
        sessions.begin(lambda c: remove(c, ["d000", "d001"]), waits=1)  # d001 is not there
        queue.add("def", first=1)
        sessions.begin(put("d001", "d002", text="xyz"), waits=2)  # has d001, will want its job
        first.close()  # to take the job of d001 now, and then want d001, would close a circle
        until(lambda: queue.n_waiting() == 1 or sessions.futures[0].done())
    assert sessions.results() == [1, 2]
    assert queue.sql("SELECT doc_id FROM document ORDER BY 1") == [("d001",), ("d002",)]


def test_extending_a_lease_and_enqueueing(queue: Queue, sessions: Sessions) -> None:
    number = queue.use(Letters())
    queue.add("abc", first=1)  # the later id lies first in the table
    queue.add("def")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w")
    assert len(claim.jobs) == 2
    with held(queue, job("d001")):
        sessions.begin(lambda c: jobs.extend(c, claim.token), waits=1)
        sessions.begin(put("d000", "d001", text="xyz"), waits=2)
    assert sessions.results() == [2, 2]
    assert queue.counts() == (2, 0, 0)


def test_giving_back_and_enqueueing(queue: Queue, sessions: Sessions) -> None:
    number = queue.use(Letters())
    queue.add("abc", first=1)
    queue.add("def")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w")
    with held(queue, job("d001")):
        sessions.begin(lambda c: jobs.release(c, claim.token, claim.jobs), waits=1)
        sessions.begin(put("d000", "d001", text="xyz"), waits=2)
    assert sessions.results() == [2, 2]


def test_new_attempts_and_enqueueing(queue: Queue, sessions: Sessions) -> None:
    number = queue.use(Letters())
    queue.add("abc", first=1)
    queue.add("def")
    queue.sql("UPDATE embedding_job SET status = 'dead'")
    with held(queue, job("d001")):
        sessions.begin(lambda c: jobs.requeue(c, number), waits=1)
        sessions.begin(put("d000", "d001", text="xyz"), waits=2)
    assert sessions.results() == [2, 2]


def test_adding_what_is_new_to_one_and_known_to_the_other(queue: Queue, sessions: Sessions) -> None:
    queue.use(Letters())
    queue.add("abc")
    queue.add("def", first=3)
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(held(queue, document("d000")))
        second.enter_context(held(queue, document("d003")))
        sessions.begin(put("d000", "d001", "d002", text="xyz"), waits=1)
        queue.add("ghi", first=2)  # after the first session had looked what is there
        sessions.begin(put("d001", "d002", "d003", text="zyx"), waits=2)  # has d002
        first.close()  # the first one makes d001, wants d002; the second one wants d001
        until(lambda: queue.n_waiting() == 2)
    assert sessions.results() == [3, 3]
    assert queue.sql("SELECT count(*) FROM embedding_job") == [(4,)]


def test_ending_a_job_and_changing_its_document(queue: Queue, sessions: Sessions) -> None:
    encoder = Letters()
    number = queue.use(encoder)
    queue.add("abc")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w")
        content = read_contents(connection, number, ["d000"])["d000"]
    made = Made(claim.jobs[0], content, encoder.encode(texts_of(["abc"])))
    queue.add("def", first=1)
    with held(queue, document("d001")):
        sessions.begin(put("d000", "d001", text="xyz"), waits=1)  # has d000, will want its job
        # to take the job before the document would close a circle
        sessions.begin(lambda c: complete(c, claim, number, [made]), waits=2)
    assert sessions.results() == [2, Ended(done=0, changed=0, lost=1)]
    assert queue.vectors() == {}


WAITING = "status = 'waiting', claim_token = NULL, lease_until = NULL"
ENDED = "status = 'claimed', claim_token = gen_random_uuid(), lease_until = now()"


@pytest.mark.parametrize(
    ("state", "other"),
    [
        (WAITING, WAITING),
        (ENDED, ENDED),
        (f"{ENDED}, attempts = 5", WAITING),  # a dead letter, if it were free
    ],
)
def test_nobody_who_claims_waits_for_another(
    queue: Queue, sessions: Sessions, state: str, other: str
) -> None:
    number = queue.use(Letters())
    queue.add("abc", "def")
    for doc_id, given in (("d000", state), ("d001", other)):
        queue.sql(f"UPDATE embedding_job SET {given} WHERE doc_id = %s", doc_id)
    with held(queue, job("d000")):
        sessions.begin(lambda c: jobs.claim(c, number, "w"), waits=0)
        until(lambda: sessions.futures[0].done() or queue.n_waiting())
        assert queue.n_waiting() == 0
        (claim,) = sessions.results()
    assert isinstance(claim, jobs.Claim)
    assert [one.doc_id for one in claim.jobs] == ["d001"]
