"""Each preset against a stand-in of its engine: what is sent, and what is read from the answer."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import SystemFailedError
from searchmark.project.entries import decode_systems
from searchmark.systems import SYSTEMS
from searchmark.systems.http.presets import PRESETS
from searchmark.systems.protocol import Context, Query, System
from searchmark.systems.secrets import Secrets

SERVER = Path(__file__).with_name("engine_server.py")
CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
ENV = {"KEY": "key-12345", "APP": "APP"}
FIELDS = ["title", "text"]

COVERAGE = {"minimumCoverage": 50}
"""Without it Azure fails where a part is missing, and never says how much took part."""

KEYS: dict[str, dict[str, Any]] = {
    "opensearch": {"index": "shop", "fields": ["title^2", "text"]},
    "elasticsearch": {"index": "shop"},
    "solr": {"index": "shop", "fields": ["title^2", "text"]},
    "vespa": {"index": "product"},
    "typesense": {"index": "shop", "fields": FIELDS, "api_key": "${KEY}"},
    "meilisearch": {"index": "shop", "bearer": "${KEY}"},
    "qdrant": {"index": "shop", "api_key": "${KEY}", "model": "all-MiniLM-L6-v2"},
    "weaviate": {"index": "Product", "fields": FIELDS, "bearer": "${KEY}"},
    "algolia": {
        "index": "shop",
        "fields": FIELDS,
        "api_key": "${KEY}",
        "headers": {"X-Algolia-Application-Id": "${APP}"},
    },
    "azure": {"index": "shop", "fields": FIELDS, "api_key": "${KEY}", "body": COVERAGE},
}
SCORES: dict[str, list[float | None]] = {
    **{engine: [2.5, 1.25] for engine in KEYS},
    "typesense": [10.0, 5.0],  # four times those, as whole numbers
    "meilisearch": [0.625, 0.3125],  # a quarter of those
    "algolia": [None, None],
}
TELL_PARTIAL = ("opensearch", "elasticsearch", "solr", "vespa", "typesense", "azure")
NO_TOTAL = ("weaviate", "meilisearch")
BY_TEXT = sorted(set(KEYS) - {"qdrant"})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.communicate()


@contextmanager
def opened(server: str, engine: str, **more: Any) -> Iterator[System]:
    table = {"use": "http", "preset": engine, "base": f"{server}/{engine}/", **KEYS[engine], **more}
    table = {key: value for key, value in table.items() if value is not None}
    problems: list[Any] = []
    entry = decode_systems({"api": table}, problems)["api"]
    assert problems == []
    here = Path()
    context = Context(CORPUS, here, here, lambda _: None, None, entry.calls, Secrets(ENV))
    with SYSTEMS.load("http").open("api", entry.config, context) as system:
        yield system


def test_every_preset_is_tried() -> None:
    assert set(PRESETS) - set(KEYS) == {"searchmark"}  # test_doors asks the real service


@pytest.mark.parametrize("engine", BY_TEXT)
def test_a_preset_asks_and_reads(server: str, engine: str) -> None:
    with opened(server, engine) as system:
        for text in ("red", 'say "red" {query} \\ \n {!lucene}'):
            answer = system.search(Query("q", text), 10)
            ids = [hit.doc_id.removeprefix("id:shop:product::") for hit in answer.hits]
            assert ids == ["a", "b"]
            assert [hit.score for hit in answer.hits] == SCORES[engine]
            assert answer.total == (None if engine in NO_TOTAL else 2)
            assert not answer.partial
        empty = system.search(Query("q", "nothing"), 10)
        assert empty.hits == ()
        assert empty.is_given
        assert system.search(Query("q", "half"), 10).partial is (engine in TELL_PARTIAL)
        assert system.tags == (frozenset() if "body" in KEYS[engine] else PRESETS[engine].tags)
        assert set(system.identity) == {"preset"}


def test_qdrant_is_sent_a_vector(server: str) -> None:
    pytest.importorskip("onnxruntime")
    with opened(server, "qdrant") as system:
        answer = system.search(Query("q", "red"), 2)
        assert [hit.doc_id for hit in answer.hits] == ["7", "4a8f4b5e-0001-4c3a-9b7e-000000000001"]
        assert [hit.score for hit in answer.hits] == [0.9, 0.5]
        assert set(system.identity) == {"preset", "model"}


@pytest.mark.parametrize("engine", ["vespa", "weaviate", "opensearch", "elasticsearch"])
def test_an_error_with_a_good_status_is_no_empty_answer(server: str, engine: str) -> None:
    with (
        opened(server, engine) as system,
        pytest.raises(SystemFailedError, match="the answer has an error at error = "),
    ):
        system.search(Query("q", "broken"), 10)


def test_typesense_gives_more_than_a_page(server: str) -> None:
    with opened(server, "typesense") as system:
        answer = system.search(Query("q", "many"), 255)
        assert [hit.doc_id for hit in answer.hits] == [f"m{i}" for i in range(255)]
        assert answer.total == 260


def test_azure_gives_more_than_a_page(server: str) -> None:
    with opened(server, "azure") as system:
        answer = system.search(Query("q", "many"), 1100)
        assert [hit.doc_id for hit in answer.hits] == [f"m{i}" for i in range(1100)]
        assert (answer.total, answer.partial) == (1200, False)


def test_azure_says_what_it_left_out_in_three_ways(server: str) -> None:
    with opened(server, "azure") as system:
        assert system.search(Query("q", "cut"), 10).partial  # nextLink
        assert system.search(Query("q", "cut as well"), 10).partial  # nextPageParameters
        assert system.search(Query("q", "half"), 10).partial  # a coverage of 66.7 in 100
    with opened(server, "azure", body={}) as system:
        with pytest.raises(SystemFailedError, match="503 Service Unavailable"):
            system.search(Query("q", "half"), 10)
        assert system.tags == {"lexical"}


def test_an_engine_that_counts_and_shows_nothing_has_failed(server: str) -> None:
    with (
        opened(server, "vespa") as system,
        pytest.raises(SystemFailedError, match="where a list is expected"),
    ):
        system.search(Query("q", "childless"), 10)  # totalCount 7, and no children


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "solr", "algolia"])
def test_a_count_that_is_a_guess_or_a_lower_bound_is_no_total(server: str, engine: str) -> None:
    with opened(server, engine) as system:
        answer = system.search(Query("q", "countless"), 10)
        assert len(answer.hits) == 2
        assert answer.total is None


def test_a_cluster_that_was_skipped_makes_an_answer_partial(server: str) -> None:
    with opened(server, "elasticsearch") as system:
        assert system.search(Query("q", "away"), 10).partial


def test_a_score_of_weaviate_that_is_no_number_is_a_failure(server: str) -> None:
    with (
        opened(server, "weaviate") as system,
        pytest.raises(SystemFailedError, match="result 1 has a text at scores = "),
    ):
        system.search(Query("q", "worded"), 10)


def test_weaviate_searches_the_properties_that_are_named(server: str) -> None:
    with opened(server, "weaviate", fields=None) as system:
        assert len(system.search(Query("q", "red"), 10).hits) == 2
    with (
        opened(server, "weaviate", fields=["colour"]) as system,
        pytest.raises(SystemFailedError, match="no such prop with name 'colour'"),
    ):
        system.search(Query("q", "red"), 10)


def test_keys_of_the_project_file_come_first(server: str) -> None:
    ids = "root.children[].fields.doc_id || (root.fields.totalCount == `0` && `[]`)"
    with opened(server, "vespa", ids=ids, body={"ranking": "bm25"}) as system:
        assert [hit.doc_id for hit in system.search(Query("q", "red"), 1).hits] == ["a"]
        assert system.search(Query("q", "nothing"), 1).hits == ()
    with (
        opened(server, "solr", body={"limit": "many"}) as system,
        pytest.raises(SystemFailedError, match=r"400 Bad Request.*limit"),
    ):
        system.search(Query("q", "red"), 1)
    with opened(server, "azure", body={"filter": "a eq 1"}) as system:
        assert len(system.search(Query("q", "red"), 5).hits) == 2
        assert system.tags == frozenset()  # who knows what the body asks for now


def test_a_wrong_key_is_told_without_the_key(server: str) -> None:
    with (
        opened(server, "azure", api_key="${KEY}x") as system,
        pytest.raises(SystemFailedError, match="403 Forbidden") as caught,
    ):
        system.search(Query("q", "red"), 5)
    assert "12345" not in str(caught.value)


def test_what_the_page_shows_are_tables_of_a_project_file(repository: Path) -> None:
    page = (repository / "docs" / "systems" / "http.md").read_text(encoding="utf-8")
    seen = set()
    for section in re.split(r"^##+ ", page, flags=re.MULTILINE):
        table: dict[str, Any] = {}
        for block in re.findall(r"(?:^    .*\n)+", section, re.MULTILINE):
            text = re.sub(r"^    ", "", block, flags=re.MULTILINE)
            if text.startswith("{"):
                continue
            shown = tomllib.loads(text)
            tables = shown.get("systems") or {"more": {**table, **shown}}
            problems: list[Any] = []
            if table or "systems" in shown:  # what stands alone is a part of no table
                decode_systems(tables, problems)
            assert problems == [], text
            table = next(iter(tables.values())) if "systems" in shown else table
            seen |= {t.get("preset") for t in tables.values()}
    assert seen >= set(PRESETS)


def test_the_hybrid_search_of_the_page_is_one_of_weaviate(server: str, repository: Path) -> None:
    pytest.importorskip("onnxruntime")
    page = (repository / "docs" / "systems" / "http.md").read_text(encoding="utf-8")
    written = re.search(r"^    body = \{query = \"query Q.*$", page, re.MULTILINE)
    assert written is not None
    keys = {
        **tomllib.loads(written[0].strip()),
        "ids": "data.Get.Product[].doc_id",
        "fields": None,
        "model": "all-MiniLM-L6-v2",
    }
    with opened(server, "weaviate", **keys) as system:
        answer = system.search(Query("q", 'say "red" $v {k}'), 10)
    assert [(hit.doc_id, hit.score) for hit in answer.hits] == [("a", 2.5), ("b", 1.25)]
