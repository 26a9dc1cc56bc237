"""Documents in the catalog: added, replaced, settled, removed, refused."""

import random
import string
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from searchmark.data.filters import Filter
from searchmark.errors import InputError, OutsideError
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.connection import (
    Connection,
    Database,
    scratch_schema,
    told,
)
from searchmark.retrieval.postgres.documents import claim_layout, remove, seed, settle, upsert
from searchmark.retrieval.postgres.migrating import migrate
from searchmark.retrieval.postgres.worker import adopt

from .conftest import fill

LAYOUT = Layout(substring=("serviceName",))

RAIN = {"doc_id": "rain", "serviceName": "Rainy", "description": "rain tomorrow", "tags": ["wet"]}
SNOW = {"doc_id": "snow", "serviceName": "Snowy", "description": "snow tomorrow", "tags": ["cold"]}


def queued(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT doc_id FROM embedding_job ORDER BY doc_id").fetchall()
    return [doc_id for (doc_id,) in rows]


def count(connection: Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    return int(row[0]) if row else -1


def test_adding_only_enqueues_and_unchanged_content_does_not(
    database: Database, encoder: Any
) -> None:
    with database.connection() as connection:
        adopt(connection, encoder)
        assert upsert(connection, [RAIN, SNOW], LAYOUT) == 2
        assert queued(connection) == ["rain", "snow"]
        assert count(connection, "embedding") == 0
        connection.execute("DELETE FROM embedding_job")
        assert upsert(connection, [RAIN, SNOW], LAYOUT) == 0
        assert queued(connection) == []
        changed = {**SNOW, "description": "snow today"}
        assert upsert(connection, [RAIN, changed], LAYOUT) == 1
        assert queued(connection) == ["snow"]


def test_without_a_generation_nothing_is_enqueued(database: Database) -> None:
    with database.connection() as connection:
        upsert(connection, [RAIN], LAYOUT)
        assert queued(connection) == []


def test_nothing_is_added_where_enqueueing_fails(database: Database, encoder: Any) -> None:
    with database.connection() as connection:
        adopt(connection, encoder)
        connection.execute("ALTER TABLE embedding_job ADD CHECK (doc_id <> 'rain')")
        with pytest.raises(OutsideError, match="embedding_job"), told():
            upsert(connection, [RAIN], LAYOUT)
        assert count(connection, "document") == 0


def test_a_replaced_document_is_found_by_its_new_words_only(
    database: Database, encoder: Any
) -> None:
    fill(database, [RAIN, SNOW], LAYOUT, encoder)
    catalog = PostgresCatalog(database, LAYOUT, encoder)
    fill(database, [{**SNOW, "description": "hail", "tags": []}], LAYOUT, encoder)
    assert catalog.search("tomorrow", 9, mode="bm25").total == 1
    assert [f.doc_id for f in catalog.search("hail", 9, mode="bm25").found] == ["snow"]
    found = catalog.search("What does Snowy do", 9, mode="dense").found
    assert (found[0].doc_id, found[0].best_text) == ("snow", "What does Snowy do?")
    assert catalog.health().n_vectors == 4 + 3  # the synthetic query of the tags is gone


def test_vectors_of_texts_that_changed_are_gone_at_once(database: Database, encoder: Any) -> None:
    fill(database, [RAIN, SNOW], LAYOUT, encoder)
    catalog = PostgresCatalog(database, LAYOUT, encoder)
    with database.connection() as connection:
        # name and tags stay, and the queries made of them: own text and description are stale
        upsert(connection, [{**SNOW, "description": "hail"}], LAYOUT)
        assert count(connection, "embedding") == 4 + 2
    page = catalog.search("snow tomorrow", 9)
    assert page.is_partial
    assert page.why == "documents wait to be embedded"


def test_two_hundred_settlements_at_once_add_up(database: Database) -> None:
    seed(database, [RAIN, {**SNOW, "settlement_count": 7}], LAYOUT)

    def once(i: int) -> int:
        with database.connection() as connection:
            return settle(connection, "snow")

    before = datetime.now(UTC)
    with ThreadPoolExecutor(20) as threads:
        counts = list(threads.map(once, range(200)))
    assert sorted(counts) == list(range(8, 208))  # each saw its own count
    with database.connection() as connection:
        rows = connection.execute(
            "SELECT doc_id, settlement_count, last_updated FROM document ORDER BY doc_id"
        ).fetchall()
    assert rows[0] == ("rain", None, None)
    assert rows[1][1] == 207
    assert rows[1][2] > before


def test_an_upsert_takes_no_settlement_back(database: Database) -> None:
    late = "2031-01-01T00:00:00Z"
    with database.connection() as connection:
        upsert(connection, [{**RAIN, "settlement_count": 3, "last_updated": late}], LAYOUT)
        settle(connection, "rain")
        upsert(connection, [{**RAIN, "settlement_count": 2, "last_updated": "2020-01-01"}], LAYOUT)
        row = connection.execute("SELECT settlement_count, last_updated FROM document").fetchone()
    assert row == (4, datetime(2031, 1, 1, tzinfo=UTC))


def test_settlements_decide_exact_ties_then_dates_then_ids(database: Database) -> None:
    same = {"serviceName": "Twin", "description": "the same words"}
    documents = [
        {"doc_id": "a", **same, "settlement_count": 5, "last_updated": "2026-01-01"},
        {"doc_id": "b", **same, "settlement_count": 9, "last_updated": "2025-01-01"},
        {"doc_id": "c", **same, "settlement_count": 5, "last_updated": "2026-02-01"},
        {"doc_id": "d", **same},
        {"doc_id": "e", **same},
    ]
    seed(database, documents, LAYOUT)
    catalog = PostgresCatalog(database, LAYOUT)

    def order() -> list[str]:
        return [f.doc_id for f in catalog.search("twin", 9, mode="bm25").found]

    assert order() == ["b", "c", "a", "e", "d"]
    with database.connection() as connection:
        for _ in range(10):
            settle(connection, "d")
    assert order() == ["d", "b", "c", "a", "e"]
    plain = PostgresCatalog(database, Layout(substring=("serviceName",), ties=()))
    found = plain.search("twin", 9, mode="bm25").found
    assert [f.doc_id for f in found] == ["e", "d", "c", "b", "a"]


def test_fields_come_back_with_what_settlements_changed(database: Database) -> None:
    seed(database, [{**RAIN, "accepts": [{"scheme": "exact"}], "amount": 0.1}], LAYOUT)
    with database.connection() as connection:
        settle(connection, "rain")
    fields = PostgresCatalog(database, LAYOUT).browse((), 9).found[0].fields
    assert fields["accepts"] == [{"scheme": "exact"}]
    assert (fields["doc_id"], fields["amount"], fields["settlement_count"]) == ("rain", 0.1, 1)


def test_settling_or_removing_what_is_not_there(database: Database) -> None:
    seed(database, [RAIN, SNOW], LAYOUT)
    with database.connection() as connection:
        for unknown in ("hail", "\0", "\ud800", ""):
            with pytest.raises(InputError, match="the catalog has no document"):
                settle(connection, unknown)
        assert remove(connection, ["snow", "hail", "\0"]) == 1
        assert count(connection, "document_field") == len(LAYOUT.weights)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"serviceName": "x"}, "no id in the field 'doc_id'"),
        ({"doc_id": ""}, "no id"),
        ({"doc_id": True}, "no id"),
        ({"doc_id": "a\0"}, r"document 'a\\x00' has a NUL character or half a character in its id"),
        (
            {"doc_id": "a", "serviceName": "x\0y"},
            "'a' has a NUL .* in its fields, which PostgreSQL",
        ),
        ({"doc_id": "a", "k\0": 1}, "has a NUL"),
        ({"doc_id": "a", "serviceName": "\ud800"}, "document 'a' holds what JSON cannot"),
        ({"doc_id": "a", "x": object()}, "document 'a' holds what JSON cannot"),
        ({"doc_id": "a", "settlement_count": -1}, "settlement_count -1; give a count from 0"),
        ({"doc_id": "a", "settlement_count": "many"}, "settlement_count 'many'"),
        ({"doc_id": "a", "settlement_count": 2**63}, "settlement_count 9223372036854775808"),
        ({"doc_id": "a", "settlement_count": True}, "settlement_count True"),
        (
            {"doc_id": "a", "last_updated": "yesterday"},
            "last_updated 'yesterday', no time of .* write it",
        ),
        ({"doc_id": "a", "last_updated": "0001-01-01T00:00:00+14:00"}, "no time of the years 1 to"),
        ({"doc_id": "a", "last_updated": "9999-12-31T23:59:59-01:00"}, "no time of the years 1 to"),
        ({"doc_id": "a", "last_updated": True}, "last_updated True"),
        ({"doc_id": "é" * 1001}, "the id 'é{79}…' has 2,002 bytes, more than the 2,000"),
        ({"doc_id": "a", "last_updated": 1e30}, "last_updated 1e"),
    ],
)
def test_what_cannot_be_stored_is_told_and_nothing_of_its_batch_is(
    database: Database, document: dict[str, Any], message: str
) -> None:
    with database.connection() as connection:
        with pytest.raises(InputError, match=message):
            upsert(connection, [RAIN, document], LAYOUT)
        assert count(connection, "document") == 0


def test_too_many_different_words_are_told(database: Database) -> None:
    words = " ".join(f"{i:x}" * 25 for i in range(0x1000, 0x1000 + 10_000))
    with pytest.raises(InputError, match="'big' has more different words than PostgreSQL can"):
        seed(database, [{"doc_id": "big", "description": words}], LAYOUT)


def test_the_longest_id_and_name_of_a_field_can_be_indexed(
    database: Database, encoder: Any
) -> None:
    chance, letters = random.Random(1), string.ascii_letters + string.digits
    doc_id, field = ("".join(chance.choices(letters, k=n)) for n in (2000, 500))
    layout = Layout(weights={field: 1}, name=field, substring=(field,))
    fill(database, [{"doc_id": doc_id, field: "rain"}], layout, encoder)
    catalog = PostgresCatalog(database, layout, encoder)
    assert [f.doc_id for f in catalog.search("rain", 9).found] == [doc_id]
    longer = Layout(weights={f"{field}x": 1})
    with pytest.raises(InputError, match=r"the field '.{79}…' has 501 bytes"):
        seed(database, [], longer)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_times_are_ordered_as_moments_and_come_back_as_they_were_given(
    zone: str, postgres_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGTZ", zone)
    times = {  # the latest moment first
        "a": "9999-12-31T23:59:59Z",
        "b": "2025-10-02T09:00:00.5Z",
        "c": "2025-10-02T09:00:00Z",
        "d": "2025-10-02T10:00:00+05:00",
        "e": 1759363201,  # a second after the next one
        "f": "2025-10-02",
        "g": "0001-01-01T00:00:00Z",
    }
    documents = [{**RAIN, "doc_id": d, "last_updated": time} for d, time in times.items()]
    dsn = postgres_server.dsn
    with scratch_schema(dsn) as schema, Database(dsn, schema) as opened:
        migrate(opened)
        seed(opened, [*documents, {**RAIN, "doc_id": "z"}], LAYOUT)
        found = PostgresCatalog(opened, LAYOUT).search("rain", 9, mode="bm25").found
    assert [f.doc_id for f in found] == [*times, "z"]
    assert [f.fields.get("last_updated") for f in found] == [*times.values(), None]


def test_a_settlement_writes_its_time_and_an_older_one_changes_nothing(database: Database) -> None:
    late, early = "2031-01-01T00:00:00+01:00", "2025-01-01T00:00:00Z"
    catalog = PostgresCatalog(database, LAYOUT)

    def shown(wanted: str) -> list[str]:
        page = catalog.browse((Filter("last_updated", "=", wanted),), 9)
        assert page.total == len(page.found)
        return [f.fields["last_updated"] for f in page.found]

    with database.connection() as connection:
        upsert(connection, [{**RAIN, "last_updated": late}, SNOW], LAYOUT)
        upsert(connection, [{**RAIN, "last_updated": early}], LAYOUT)
        settle(connection, "rain")
        assert shown(late.lower()) == [late]  # as it was given, before and after
        assert shown(early) == []
        upsert(connection, [{**SNOW, "last_updated": early}], LAYOUT)
        assert shown(early) == [early]
        before = datetime.now(UTC)
        settle(connection, "snow")
        now = catalog.browse((Filter("doc_id", "=", "SNOW"),), 9).found[0].fields["last_updated"]
        assert now.endswith("Z")
        assert before <= datetime.fromisoformat(now) <= datetime.now(UTC)
        assert (shown(now), shown(early)) == ([now], [])


def test_a_count_that_was_never_given_is_missing(database: Database) -> None:
    seed(database, [{**RAIN, "doc_id": "none"}, {**RAIN, "settlement_count": 0}], LAYOUT)
    catalog = PostgresCatalog(database, LAYOUT)
    few = Filter("settlement_count", "<=", 5)
    assert [f.doc_id for f in catalog.browse((few,), 9).found] == ["rain"]
    found = catalog.search("rain", 9, mode="bm25").found  # by id "rain" comes first as well
    assert [f.fields.get("settlement_count", "-") for f in found] == [0, "-"]
    seed(database, [{**RAIN, "doc_id": "a", "settlement_count": 0}], LAYOUT)
    found = catalog.search("rain", 9, mode="bm25").found
    assert [f.doc_id for f in found] == ["rain", "a", "none"]
    with database.connection() as connection:
        assert settle(connection, "none") == 1


def test_backslashes_before_u0000_are_no_nul(database: Database) -> None:
    text = "C:\\u0000 \\\\u0000"
    seed(database, [{**RAIN, "path": text}], LAYOUT)
    assert PostgresCatalog(database, LAYOUT).browse((), 1).found[0].fields["path"] == text


def test_a_catalog_stored_with_other_fields_is_refused(database: Database) -> None:
    seed(database, [RAIN], LAYOUT)
    others = [
        Layout(weights={"serviceName": 1}, substring=("serviceName",)),
        Layout(),
        Layout(substring=("serviceName",), tags=None),
    ]
    for other in others:
        with pytest.raises(InputError, match="stored with other fields"):
            seed(database, [SNOW], other)
        with pytest.raises(InputError, match="stored with other fields"):
            PostgresCatalog(database, other)
    heavier = Layout(
        weights=dict.fromkeys(LAYOUT.weights, 9.0), substring=("serviceName",), ties=()
    )
    with database.connection() as connection:
        claim_layout(connection, heavier)  # weights and ties belong to the search


def test_of_two_with_one_id_the_last_counts(database: Database) -> None:
    with database.connection() as connection:
        assert upsert(connection, [RAIN, {**SNOW, "doc_id": "rain"}], LAYOUT) == 1
    catalog = PostgresCatalog(database, LAYOUT)
    assert catalog.browse((), 9).found[0].fields["serviceName"] == "Snowy"


def test_many_writers_of_the_same_documents_do_not_wait_in_a_circle(
    database: Database, encoder: Any
) -> None:
    with database.connection() as connection:
        adopt(connection, encoder)
    documents = [{**RAIN, "doc_id": f"d{i:02}"} for i in range(40)]

    def write(i: int) -> None:
        mine = [{**d, "description": f"rain {i}"} for d in documents]
        with database.connection() as connection:
            upsert(connection, mine if i % 2 else mine[::-1], LAYOUT)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(24)))
    with database.connection() as connection:
        assert count(connection, "document") == 40
        assert count(connection, "document_text") == 160
        assert len(queued(connection)) == 40


def test_the_program_of_the_docs_does_what_it_says(
    own_postgres_server: Any, repository: Path, monkeypatch: pytest.MonkeyPatch, encoder: Any
) -> None:
    page = (repository / "docs" / "systems" / "catalog-postgres.md").read_text(encoding="utf-8")
    monkeypatch.setenv("DATABASE_URL", own_postgres_server.dsn)
    exec(page.split("```python\n")[1].split("```")[0], {})
    with Database(own_postgres_server.dsn, "catalog") as database:
        with database.connection() as connection:
            adopt(connection, encoder)
            assert queued(connection) == ["rain"]
        found = PostgresCatalog(database, Layout()).browse((), 9).found
    assert [f.doc_id for f in found] == ["rain"]
    assert found[0].fields["description"] == "Rain of next week."
    assert found[0].fields["settlement_count"] == 2
