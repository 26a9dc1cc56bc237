"""Searches of the catalog in PostgreSQL: what is partial, what is relaxed, what is compared."""

import json
import threading
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from searchmark.errors import OutsideError
from searchmark.retrieval.catalogs import Mode
from searchmark.retrieval.constraints import Constraint
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres import catalog as catalogs
from searchmark.retrieval.postgres.catalog import PostgresCatalog
from searchmark.retrieval.postgres.connection import Database
from searchmark.retrieval.postgres.documents import remove, seed, upsert
from searchmark.retrieval.postgres.generations import current, current_id
from searchmark.retrieval.postgres.queue import claim
from searchmark.retrieval.postgres.worker import adopt

from .conftest import DIMENSION, WordEncoder, fill

MODES = get_args(Mode)

DOCUMENTS = [
    {"doc_id": "rain", "serviceName": "Rainy", "description": "rain and wind", "network": "base"},
    {"doc_id": "snow", "serviceName": "Snowy", "description": "snow and wind", "network": "solana"},
    {"doc_id": "ship", "serviceName": "Sailor", "description": "tides", "network": "base"},
]
LAYOUT = Layout(substring=("serviceName",), relax=True)


def ids(page: Any) -> list[str]:
    return [found.doc_id for found in page.found]


@pytest.fixture
def catalog(database: Database, encoder: WordEncoder) -> PostgresCatalog:
    fill(database, DOCUMENTS, LAYOUT, encoder)
    return PostgresCatalog(database, LAYOUT, encoder)


def test_words_are_joined_by_or_only_where_nothing_has_all_and_never_in_a_fusion(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    assert ids(catalog.search("wind rain", 9, mode="bm25")) == ["rain"]
    assert sorted(ids(catalog.search("tides rain", 9, mode="bm25"))) == ["rain", "ship"]
    strict = PostgresCatalog(database, Layout(substring=("serviceName",)), encoder)
    assert ids(strict.search("tides rain", 9, mode="bm25")) == []
    # alone at rank r the dense arm gives 1 / (60 + r): no word arm took part
    fused = catalog.search("tides rain", 9)
    assert [f.score for f in fused.found] == [1 / 61, 1 / 62, 1 / 63]
    encoder.fails = True
    assert ids(catalog.search("tides rain", 9)) == []


def test_filters_are_cut_from_the_text_and_hold_in_every_mode(
    database: Database, encoder: WordEncoder
) -> None:
    layout = Layout(constraints=(Constraint(r"\bon (base|solana)\b", "network"),))
    fill(database, DOCUMENTS, layout, encoder)
    catalog = PostgresCatalog(database, layout, encoder)
    assert ids(catalog.search("wind on solana", 9, mode="bm25")) == ["snow"]
    for mode in ("dense", "fused"):
        assert ids(catalog.search("wind on Solana", 9, mode=mode)) == ["snow"]
        assert sorted(ids(catalog.search("wind on base", 9, mode=mode))) == ["rain", "ship"]


def test_a_dead_model_leaves_the_words_and_comes_back(
    catalog: PostgresCatalog, encoder: WordEncoder
) -> None:
    assert not catalog.search("rain", 9).is_partial
    encoder.fails = True
    for mode in ("fused", "dense"):
        page = catalog.search("rain", 9, mode=mode)
        assert (ids(page), page.is_partial, page.is_lexical) == (["rain"], True, True)
        assert "the model is down" in page.why
    assert not catalog.search("rain", 9, mode="bm25").is_partial
    encoder.fails = False
    page = catalog.search("rain", 9)
    assert (len(page.found), page.is_partial) == (3, False)


def test_an_error_of_pgvector_leaves_the_words(
    catalog: PostgresCatalog, database: Database
) -> None:
    with database.connection() as connection:
        connection.execute("UPDATE embedding SET vector = '[1,2,3]' WHERE doc_id = 'ship'")
    page = catalog.search("rain", 9)
    assert (ids(page), page.is_lexical) == (["rain"], True)
    assert "different vector dimensions" in page.why
    assert ids(catalog.search("rain", 9)) == ["rain"]  # the connection is of use still


def test_what_waits_makes_every_answer_partial_but_not_a_dead_letter(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    hail = {"doc_id": "hail", "serviceName": "Haily", "description": "hail"}
    with database.connection() as connection:
        upsert(connection, [hail], LAYOUT)
    page = catalog.search("rain", 9)
    assert (page.is_partial, page.is_lexical, len(page.found)) == (True, False, 3)
    assert "hail" in ids(catalog.search("hail", 9))  # words find it at once
    health = catalog.health()
    assert (health.n_documents, health.n_waiting, health.n_dead, health.dense) == (4, 1, 0, "ok")
    with database.connection() as connection:
        connection.execute("UPDATE embedding_job SET status = 'dead'")
    assert not catalog.search("rain", 9).is_partial
    assert catalog.health().n_dead == 1


def test_without_model_generation_or_vectors_there_is_no_dense_arm(
    database: Database, encoder: WordEncoder
) -> None:
    seed(database, DOCUMENTS, LAYOUT)
    bare = PostgresCatalog(database, LAYOUT)
    assert bare.search("rain", 9).why == bare.health().dense == "there is no embedding model"
    catalog = PostgresCatalog(database, LAYOUT, encoder)
    assert catalog.search("rain", 9).why == "nothing was embedded yet"
    with database.connection() as connection:
        adopt(connection, encoder)
        connection.execute("DELETE FROM embedding_job")
    assert catalog.search("rain", 9).why == "the catalog has no vectors"
    assert catalog.health().dense == "the catalog has no vectors"


def test_vectors_of_another_generation_are_never_compared(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    other = WordEncoder("other words")
    with database.connection() as connection:
        current(connection, other.generation)
    page = catalog.search("rain", 9)
    assert page.is_lexical
    assert page.why == "the model is not the one that made the catalog's vectors"
    new = PostgresCatalog(database, LAYOUT, other)
    assert new.search("rain", 9).why == "documents wait to be embedded"
    fill(database, DOCUMENTS, LAYOUT, other)
    assert not new.search("rain", 9).is_partial
    with database.connection() as connection:
        rows = connection.execute("SELECT count(*) FROM embedding GROUP BY generation_id")
        assert len(rows.fetchall()) == 2  # side by side


def test_an_empty_catalog_answers(database: Database, encoder: WordEncoder) -> None:
    catalog = PostgresCatalog(database, LAYOUT, encoder)
    for mode in MODES:
        assert catalog.search("rain", 9, mode=mode).found == ()
    assert catalog.browse((), 9).total == 0
    assert catalog.health().n_documents == 0


def test_a_claimed_document_waits_still(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    with database.connection() as connection:
        upsert(connection, [{"doc_id": "hail", "serviceName": "Haily"}], LAYOUT)
        claim(connection, current_id(connection) or 0, "w")
        assert connection.execute("SELECT status FROM embedding_job").fetchall() == [("claimed",)]
    page = catalog.search("rain", 9)
    assert (page.is_partial, page.why) == (True, "documents wait to be embedded")
    assert catalog.health().n_waiting == 1


def test_vectors_too_long_to_be_compared_leave_the_words(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    with database.connection() as connection:
        rows = f"array_fill(1e30::real, ARRAY[{DIMENSION}])::vector"
        connection.execute(f"UPDATE embedding SET vector = {rows}".encode())
    plain = encoder.encode
    encoder.encode = lambda texts, **_: plain(texts) * np.float32(1e30)  # type: ignore[method-assign]
    page = catalog.search("rain", 9)
    assert (ids(page), page.is_lexical) == (["rain"], True)
    assert "no finite cosine" in page.why


def test_pages_of_2500_documents_hold_each_once(both: Callable[..., Any], encoder: Any) -> None:
    words = ["rain", "rain snow", "snow rain hail", "rain rain"]
    lines = [
        json.dumps({"_id": f"d{i:04}", "serviceName": words[i % 4], "settlement_count": i % 7})
        for i in range(2500)
    ]
    layout = Layout(
        weights={"serviceName": 1}, description=None, tags=None, ties=("settlement_count",)
    )
    pair = both("\n".join(lines), layout, encoder)
    for mode in MODES:
        pages = [pair.server.search("rain", 120, start, mode=mode) for start in range(0, 2640, 120)]
        seen = [found.doc_id for page in pages for found in page.found]
        assert len(seen) == len(set(seen))
        # each arm found all; of a fusion it gives its first 1,000, so there are 1,000 to 2,000
        assert len(seen) == 2500 if mode != "fused" else 1000 <= len(seen) <= 2000
        assert {page.total for page in pages} == {None if mode == "fused" else 2500}
        memory = [
            pair.memory.search("rain", 120, start, mode=mode) for start in range(0, 2640, 120)
        ]
        assert [found.doc_id for page in memory for found in page.found] == seen


def test_pages_follow_each_other(catalog: PostgresCatalog) -> None:
    for mode in MODES:
        whole = ids(catalog.search("wind", 9, mode=mode))
        parts = [ids(catalog.search("wind", 1, i, mode=mode)) for i in range(4)]
        assert [one for part in parts for one in part] == whole
        assert catalog.search("wind", 9, 100, mode=mode).found == ()


@pytest.mark.parametrize("mode", MODES)
def test_a_document_that_is_removed_in_the_middle_of_a_search_is_still_in_it(
    mode: Mode,
    catalog: PostgresCatalog,
    database: Database,
    encoder: WordEncoder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def removing(found: Any) -> Any:
        """Find, then let another session remove what was found before the search reads on."""

        def find(*given: Any, **named: Any) -> Any:
            result = found(*given, **named)
            with database.connection() as other:
                remove(other, ["rain"])
            return result

        return find

    for name in ("find_by_words", "find_near"):
        found = getattr(catalogs, name)
        monkeypatch.setattr(catalogs, name, removing(found))
    page = catalog.search("rain wind", 9, mode=mode)
    assert page.found[0].fields["serviceName"] == "Rainy"
    assert not page.is_partial
    if mode != "bm25":
        assert page.found[0].best_text is not None
    assert "rain" not in ids(catalog.search("rain wind", 9, mode=mode))


def test_searches_beside_writers_see_whole_documents(
    catalog: PostgresCatalog, database: Database, encoder: WordEncoder
) -> None:
    stop, errors = threading.Event(), []

    def write() -> None:
        i = 0
        while not stop.is_set():
            i += 1
            changed = {**DOCUMENTS[0], "description": f"rain and wind {i}"}
            with database.connection() as connection:
                upsert(connection, [changed], LAYOUT)

    def read() -> None:
        try:
            for _ in range(40):
                assert ids(catalog.search("wind rain", 9, mode="bm25")) == ["rain"]
                page = catalog.search("rain", 9)
                assert "rain" in ids(page)
                assert {"snow", "ship"} < set(ids(page))
                assert not page.is_lexical
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for one in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads[2:]:
        thread.join()
    stop.set()
    for thread in threads[:2]:
        thread.join()
    assert errors == []


def test_a_lost_server_is_one_sentence_and_passes(
    own_postgres_server: Any, encoder: WordEncoder
) -> None:
    from searchmark.retrieval.postgres.migrating import migrate

    with Database(own_postgres_server.dsn, "kept") as database:
        migrate(database)
        fill(database, DOCUMENTS, LAYOUT, encoder)
        catalog = PostgresCatalog(database, LAYOUT, encoder)
        assert len(catalog.search("rain", 9).found) == 3
        own_postgres_server.kill()
        with pytest.raises(OutsideError, match="PostgreSQL"):
            catalog.search("rain", 9)
        own_postgres_server.start()
        assert len(catalog.search("rain", 9).found) == 3
