"""Workers on one queue, as processes: each job once, nothing lost, nothing mixed."""

import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("psycopg_pool")

from searchmark.retrieval.generation import Generation
from searchmark.retrieval.postgres import queue as jobs
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.documents import upsert
from searchmark.retrieval.postgres.generations import current, current_id, share
from searchmark.retrieval.postgres.vectors import Made, complete, read_contents
from searchmark.retrieval.postgres.worker import Pace, SupersededError, Tally, adopt, work

from .queue_catalog import DRAIN, LAYOUT, Queue, drained, ended, texts_of, until
from .queue_worker import Letters


def words(n: int) -> list[str]:
    """Return descriptions that all differ in their letters, too."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return [f"{alphabet[i % 26]}{'q' * (i // 26)} reads it" for i in range(n)]


def test_two_workers_claim_each_of_600_documents_once(queue: Queue) -> None:
    queue.use(Letters())
    workers = [queue.start("--nap", "0.01") for _ in range(2)]
    ids = queue.add(*words(600))
    until(lambda: queue.counts() == (0, 0, 0))
    assert [ended(w, signal.SIGTERM) for w in workers] == [(0, ""), (0, "")]
    claims = queue.claims()
    assert Counter(doc_id for doc_id, _ in claims) == dict.fromkeys(ids, 1)
    by_process = Counter(name.split(":")[1] for _, name in claims)
    assert set(by_process) == {str(w.pid) for w in workers}
    # 600 own texts, 600 from the template for descriptions
    assert len(queue.vectors()) == 1200


def test_what_a_killed_worker_held_is_taken_over_after_its_lease(
    queue: Queue, tmp_path: Path
) -> None:
    queue.use(Letters())
    ids = queue.add(*words(40))
    killed = queue.start("--hang", str(tmp_path / "at-it"))
    until((tmp_path / "at-it").exists)
    killed.kill()
    assert ended(killed)[0] == -signal.SIGKILL
    held = [doc_id for doc_id, _ in queue.claims()]
    assert len(held) == 16
    ((lease_s,),) = queue.sql("SELECT DISTINCT lease_s FROM log")
    assert lease_s == 120

    other = queue.start()  # as long as the lease lasts, it gets the other 24
    until(lambda: queue.counts().waiting == 0 and queue.counts().claimed == 16)
    assert {d for d, _ in queue.claims()[16:]} == set(ids) - set(held)
    queue.end_leases()
    until(lambda: queue.counts() == (0, 0, 0))
    assert ended(other, signal.SIGTERM) == (0, "")
    claims = Counter(doc_id for doc_id, _ in queue.claims())
    assert claims == {doc_id: 2 if doc_id in held else 1 for doc_id in ids}
    assert {doc_id for doc_id, _, _ in queue.vectors()} == set(ids)


def test_a_document_that_kills_its_workers_dies_alone(queue: Queue) -> None:
    queue.use(Letters())
    good = [*queue.add("a", "b", "c"), *queue.add("d", first=4)]
    (bad,) = queue.add("the deadly one", first=3)
    codes = []
    for _ in range(8):  # five that die, one that does the rest
        process = queue.start("--dies-of", "deadly", "--drain")
        codes.append(ended(process)[0])
        queue.end_leases()
        if codes[-1] == 0:
            break
    assert codes == [-9] * 5 + [0]
    assert queue.counts() == (0, 0, 1)
    ((doc_id, attempts, error),) = queue.sql(
        "SELECT doc_id, attempts, last_error FROM embedding_job"
    )
    assert (doc_id, attempts, error) == (bad, 5, jobs.LEASE_ENDED)
    assert {doc_id for doc_id, _, _ in queue.vectors()} == set(good)


def test_a_model_that_always_fails_ends_in_dead_letters(queue: Queue) -> None:
    calls = []

    def refuse(texts: Sequence[str]) -> None:
        calls.append(len(texts))
        raise RuntimeError(f"out of order, call {len(calls)}\n with sesame inside")

    encoder = Letters(on=refuse)
    queue.use(encoder)
    queue.add("a", "b")
    stop = Event()

    def rest_passes(tally: Tally, left: jobs.Counts) -> None:
        queue.end_waits()

    tally = work(
        queue.database,
        encoder,
        stop=stop,
        pace=DRAIN,
        tell=rest_passes,
        redact=lambda text: text.replace("sesame", "${PASSWORD}"),
    )
    assert (tally.n_done, tally.n_failed) == (0, 10)
    waits = queue.sql("SELECT doc_id, wait_s FROM log WHERE status = 'waiting' ORDER BY seq")
    # 5 s x 2^1, 2^2, 2^3, 2^4; the fifth attempt is the last one
    for doc_id in ("d000", "d001"):
        assert [wait for d, wait in waits if d == doc_id] == [10, 20, 40, 80]
    rows = queue.sql("SELECT status, attempts, last_error FROM embedding_job ORDER BY doc_id")
    assert [row[:2] for row in rows] == [("dead", 5), ("dead", 5)]
    # each round asks for both together (4 texts), then for each alone (2): call 15 is the last
    assert calls == [4, 2, 2] * 5
    assert rows[1][2] == "RuntimeError: out of order, call 15 with ${PASSWORD} inside"
    assert drained(queue, encoder) == Tally()  # dead letters are not claimed
    with queue.database.connection() as connection:
        number = current_id(connection) or 0
        assert jobs.last_dead(connection, number) == ("d001", rows[1][2])
        assert jobs.requeue(connection, number) == 2
    assert drained(queue, Letters()) == Tally(n_done=2)


def test_the_back_off_doubles_up_to_ten_minutes() -> None:
    # 5 s x 2^n: 2^6 x 5 = 320, 2^7 x 5 = 640, which is more than 600
    waits = [jobs.Patience().backoff_s(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 10_000)]
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600, 600]


def test_a_batch_that_takes_more_than_five_leases_is_taken_over(queue: Queue) -> None:
    began = queue.sql("SELECT now()")[0][0]

    def hang(texts: Sequence[str]) -> None:
        until(lambda: len(queue.claims()) == 2)

    pace = DRAIN._replace(lease_s=0.3)
    queue.use(Letters())
    queue.add("abc")
    tallies: list[Tally] = []
    hanging = Thread(target=lambda: tallies.append(drained(queue, Letters(on=hang), pace)))
    hanging.start()
    until(lambda: queue.claims())
    assert drained(queue, Letters(), pace) == Tally(n_done=1)
    hanging.join(60)
    assert tallies == [Tally(n_lost=1)]
    # extended 15 times, every 0.1 s at the earliest; then a lease more
    ((took,),) = queue.sql("SELECT extract(epoch FROM now() - %s)::float8", began)
    assert took > 1.5


class Changed(Letters):
    """The same model, but for a part of its generation."""

    def __init__(self, change: dict[str, Any]) -> None:
        super().__init__()
        self.change = change

    @property
    def generation(self) -> Generation:
        return replace(super().generation, **self.change)


BESIDES = [
    {"model": "another"},
    {"revision": "another"},
    {"dimension": 27},
    {"pooling": "mean"},
    {"normalized": False},
    {"precision": "int8"},
    {"max_length": 999},
    {"tokenizer": "another"},
]


@pytest.mark.parametrize("change", BESIDES, ids=lambda change: next(iter(change)))
def test_changing_any_part_makes_another_generation(queue: Queue, change: dict[str, Any]) -> None:
    old = Letters()
    first = queue.use(old)
    queue.add("abc")
    drained(queue, old)
    new = Changed(change)
    with pytest.raises(SupersededError):
        drained(queue, new)
    assert queue.use(new) != first
    assert queue.counts() == (1, 0, 0)  # everything is embedded again
    assert queue.vectors() == {}  # and what searches look at holds nothing of the old one
    assert queue.sql("SELECT count(*) FROM embedding WHERE generation_id = %s", first) == [(2,)]
    assert queue.use(old) == first


def test_generations_never_mix(queue: Queue) -> None:
    old, new = Letters(), Letters(shift=13)
    queue.use(old)
    ids = queue.add(*("aaaa", "bbbb", "nnnn", "oooo"))
    drained(queue, old)
    # the old model's vector of "n" is the new one's of "a": mixed, each would find the other
    before = queue.sql("SELECT doc_id, vector::text FROM embedding ORDER BY 1, 2")
    queue.use(new)
    assert queue.counts() == (4, 0, 0)
    catalog = PostgresCatalog(queue.database, LAYOUT, new)
    nothing_yet = catalog.search("aaaa", 10, mode="dense")
    assert nothing_yet.is_partial
    assert [f.doc_id for f in nothing_yet.found] == ["d000"]  # by its words

    half(queue, new, 2)
    page = catalog.search("aaaa", 10, mode="dense")
    assert page.is_partial
    # only the two that the new model has embedded, the one with the letter first
    assert [f.doc_id for f in page.found] == ids[:2]
    assert page.found[0].score == 1
    # the old model may not be compared with what is there now
    assert PostgresCatalog(queue.database, LAYOUT, old).search("aaaa", 10).is_partial

    drained(queue, new)
    whole = catalog.search("aaaa", 10, mode="dense")
    assert not whole.is_partial
    assert sorted(f.doc_id for f in whole.found) == ids
    # a document's score is that of the nearer one of its two texts, by the new model alone
    own = ["aaaa", "bbbb", "nnnn", "oooo"]
    near = (new.encode(texts_of(own)) @ new.encode(["aaaa"])[0]).reshape(2, 4).max(axis=0)
    expected = dict(zip(ids, near.astype(float), strict=True))
    assert {f.doc_id: f.score for f in whole.found} == pytest.approx(expected, abs=1e-6)
    assert whole.found[0].doc_id == "d000"
    kept = queue.sql(
        "SELECT doc_id, vector::text FROM embedding JOIN generation USING (generation_id)"
        " WHERE NOT is_current ORDER BY 1, 2"
    )
    assert kept == before


def half(queue: Queue, encoder: Letters, n: int) -> None:
    """Embed `n` documents."""
    stop = Event()
    pace = Pace(batch=n)
    work(queue.database, encoder, stop=stop, pace=pace, tell=lambda *_: stop.set())


def test_a_worker_that_is_late_changes_nothing(queue: Queue) -> None:
    encoder = Letters()
    number = queue.use(encoder)
    queue.add("abc")
    with queue.database.connection() as connection:
        late = jobs.claim(connection, number, "late")
        content = read_contents(connection, number, ["d000"])["d000"]
        queue.end_leases()
        taker = jobs.claim(connection, number, "taker")
        assert [job.attempts for job in taker.jobs] == [2]
        wrong = Made(late.jobs[0], content, Letters(shift=1).encode(texts_of(["abc"])))
        assert complete(connection, late, number, [wrong]) == (0, 0, 1)
        assert jobs.fail(connection, late.jobs[0], late.token, "too late") is False
        assert jobs.release(connection, late.token, late.jobs) == 0
        assert jobs.extend(connection, late.token) == 0
        assert queue.vectors() == {}
        assert queue.sql("SELECT status, claimed_by, claim_token FROM embedding_job") == [
            ("claimed", "taker", taker.token)
        ]
        right = Made(taker.jobs[0], content, encoder.encode(texts_of(["abc"])))
        assert complete(connection, taker, number, [right]) == (1, 0, 0)
        assert complete(connection, taker, number, [right]) == (0, 0, 1)  # and not twice
    own, _ = encoder.encode(texts_of(["abc"]))
    assert np.array_equal(vector(queue, "d000", "own", 0), own)


def vector(queue: Queue, doc_id: str, kind: str, number: int) -> np.ndarray:
    text = queue.vectors()[doc_id, kind, number]
    return np.array(text.strip("[]").split(","), np.float32)


def test_a_document_that_changes_while_it_is_embedded_keeps_no_old_vectors(queue: Queue) -> None:
    new = ["zzz"]

    def change(texts: Sequence[str]) -> None:
        if new and "abc" in texts:
            queue.add(new.pop())

    encoder = Letters(on=change)
    queue.use(encoder)
    queue.add("abc")
    assert drained(queue, encoder) == Tally(n_done=1, n_lost=1)
    own, made = encoder.encode(texts_of(["zzz"]))
    assert np.array_equal(vector(queue, "d000", "own", 0), own)
    assert np.array_equal(vector(queue, "d000", "synthetic", 0), made)


def test_a_change_that_enqueued_nothing_is_seen_at_the_end(queue: Queue) -> None:
    encoder = Letters()
    number = queue.use(encoder)
    queue.add("abc")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w")
        content = read_contents(connection, number, ["d000"])["d000"]
        with connection.transaction():  # as another program may
            connection.execute("UPDATE document_text SET text = replace(text, 'abc', 'zzz')")
            connection.execute("UPDATE document SET content_sha256 = 'another'")
        made = Made(claim.jobs[0], content, encoder.encode(texts_of(["abc"])))
        assert complete(connection, claim, number, [made]) == (0, 1, 0)
    assert queue.vectors() == {}
    assert queue.sql("SELECT status, attempts FROM embedding_job") == [("waiting", 0)]


def test_a_switch_waits_for_those_who_add(queue: Queue) -> None:
    queue.use(Letters())
    new = Letters(shift=1)
    with queue.database.connection() as adding:
        with adding.transaction():
            share(adding)
            switching = Thread(target=queue.use, args=(new,))
            switching.start()
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: queue.sql(waiting))
            upsert(adding, [{"id": "d000", "description": "abc"}], LAYOUT)
        switching.join(30)
    # enqueued for the old one, and then by the switch, which saw it, for the new one
    rows = queue.sql(
        "SELECT doc_id, model FROM embedding_job JOIN generation USING (generation_id)"
    )
    assert rows == [("d000", "letters-1")]


def test_what_is_added_while_the_first_generation_is_made_is_enqueued(queue: Queue) -> None:
    with queue.database.connection() as making:
        with making.transaction():
            number = current(making, Letters().generation)
            adding = Thread(target=queue.add, args=("abc",))  # knows of no generation yet
            adding.start()
            until(lambda: queue.n_waiting() == 1)
        adding.join(30)
    assert queue.sql("SELECT doc_id, generation_id FROM embedding_job") == [("d000", number)]


def test_of_two_first_workers_with_different_models_one_ends(queue: Queue) -> None:
    queue.add("abc")
    first, other = Letters(), Letters(shift=1)
    told: list[Exception] = []

    def begin() -> None:
        try:
            with queue.database.connection() as connection:
                adopt(connection, other)
        except SupersededError as error:
            told.append(error)

    with queue.database.connection() as making:
        with making.transaction():
            number = adopt(making, first)
            beginning = Thread(target=begin)  # there is no current generation for it to see
            beginning.start()
            until(lambda: queue.n_waiting() == 1)
        beginning.join(30)
    assert len(told) == 1
    assert queue.sql("SELECT generation_id FROM generation WHERE is_current") == [(number,)]


def test_switching_back_encodes_only_what_has_changed(queue: Queue) -> None:
    first = Letters()
    number = queue.use(first)
    queue.add("abc", "def")
    drained(queue, first)
    queue.use(Letters(shift=1))
    queue.add("xyz")  # in place of abc, while the other generation is current
    assert queue.use(first) == number
    first.asked.clear()
    assert drained(queue, first) == Tally(n_done=2)
    assert sorted(first.asked) == sorted(texts_of(["xyz"]))
    assert len(queue.vectors()) == 4


def test_one_generation_is_current_when_many_switch_at_once(queue: Queue) -> None:
    queue.add("abc")
    threads = [Thread(target=queue.use, args=(Letters(shift=i % 3),)) for i in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert queue.sql("SELECT count(*), count(*) FILTER (WHERE is_current) FROM generation") == [
        (3, 1)
    ]
    assert queue.sql(
        "SELECT count(*) FROM embedding_job JOIN generation USING (generation_id) WHERE is_current"
    ) == [(1,)]
    assert queue.counts() == (1, 0, 0)


def test_a_token_of_nobody_holds_nothing(queue: Queue) -> None:
    number = queue.use(Letters())
    queue.add("abc")
    with queue.database.connection() as connection:
        claim = jobs.claim(connection, number, "w")
        forged = jobs.Claim(uuid4(), claim.jobs)
        assert jobs.extend(connection, forged.token) == 0
        assert jobs.fail(connection, claim.jobs[0], forged.token, "x") is False
        assert current(connection, Letters().generation) == number  # changes nothing
    assert queue.counts() == (0, 1, 0)


def test_those_who_add_and_those_who_switch_never_wait_for_each_other(queue: Queue) -> None:
    failed: list[Exception] = []
    queue.use(Letters())
    ids = queue.add(*words(20))

    def add(text: str) -> None:
        queue.add(*(f"{word} {text}" for word in words(20)))

    def often(call: Callable[[int], object]) -> None:
        try:
            for i in range(15):
                call(i)
        except Exception as error:
            failed.append(error)

    calls = [
        lambda i: add(f"x{i}"),
        lambda i: add(f"y{i}"),
        lambda i: queue.use(Letters(shift=i % 2)),
        lambda i: half(queue, Letters(shift=i % 2), 5) if i % 5 == 0 else None,
    ]
    threads = [Thread(target=often, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [e for e in failed if not isinstance(e, SupersededError)] == []
    last = Letters()
    queue.use(last)
    drained(queue, last)
    rows = queue.sql("SELECT doc_id, text_kind, text_no, text FROM document_text")
    assert {row[0] for row in rows} == set(ids)
    for doc_id, kind, number, text in rows:
        assert np.array_equal(vector(queue, doc_id, kind, number), last.encode([text])[0])
