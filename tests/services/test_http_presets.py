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

KEYS: dict[str, dict[str, Any]] = {
    "opensearch": {"index": "shop", "fields": ["title^2", "text"]},
    "elasticsearch": {"index": "shop"},
    "solr": {"index": "shop", "fields": ["title^2", "text"]},
    "vespa": {"index": "product"},
    "typesense": {"index": "shop", "fields": FIELDS, "api_key": "${KEY}"},
    "meilisearch": {"index": "shop", "bearer": "${KEY}"},
    "qdrant": {"index": "shop", "api_key": "${KEY}", "model": "all-MiniLM-L6-v2"},
    "weaviate": {"index": "Product", "bearer": "${KEY}"},
    "algolia": {
        "index": "shop",
        "fields": FIELDS,
        "api_key": "${KEY}",
        "headers": {"X-Algolia-Application-Id": "${APP}"},
    },
    "azure": {"index": "shop", "fields": FIELDS, "api_key": "${KEY}"},
    "searchmark": {},
}
SCORES: dict[str, list[float | None]] = {
    **{engine: [2.5, 1.25] for engine in KEYS},
    "typesense": [10.0, 5.0],  # four times those, as whole numbers
    "meilisearch": [0.625, 0.3125],  # a quarter of those
    "algolia": [None, None],
    "searchmark": [None, None],
}
TELL_PARTIAL = ("opensearch", "elasticsearch", "solr", "vespa", "typesense", "azure", "searchmark")
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
    problems: list[Any] = []
    entry = decode_systems({"api": table}, problems)["api"]
    assert problems == []
    here = Path()
    context = Context(CORPUS, here, here, lambda _: None, None, entry.calls, Secrets(ENV))
    with SYSTEMS.load("http").open("api", entry.config, context) as system:
        yield system


def test_every_preset_is_tried() -> None:
    assert set(PRESETS) == set(KEYS)


@pytest.mark.parametrize("engine", BY_TEXT)
def test_a_preset_asks_and_reads(server: str, engine: str) -> None:
    with opened(server, engine) as system:
        for text in ("red", 'say "red" {query} \\ \n {!lucene}'):
            answer = system.search(Query("q", text), 10)
            ids = [hit.doc_id.removeprefix("id:shop:product::") for hit in answer.hits]
            assert ids == ["a", "b"]
            assert [hit.score for hit in answer.hits] == SCORES[engine]
            assert answer.total == (None if engine == "weaviate" else 2)
            assert not answer.partial
        empty = system.search(Query("q", "nothing"), 10)
        assert empty.hits == ()
        assert empty.is_given
        assert system.search(Query("q", "half"), 10).partial is (engine in TELL_PARTIAL)
        assert system.tags == PRESETS[engine].tags
        assert set(system.identity) == {"preset"}


def test_qdrant_is_sent_a_vector(server: str) -> None:
    pytest.importorskip("onnxruntime")
    with opened(server, "qdrant") as system:
        answer = system.search(Query("q", "red"), 2)
        assert [hit.doc_id for hit in answer.hits] == ["7", "4a8f4b5e-0001-4c3a-9b7e-000000000001"]
        assert [hit.score for hit in answer.hits] == [0.9, 0.5]
        assert set(system.identity) == {"preset", "model"}


@pytest.mark.parametrize("engine", ["vespa", "weaviate"])
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


def test_keys_of_the_project_file_come_first(server: str) -> None:
    ids = "root.children[].fields.doc_id || (root.fields.totalCount >= `0` && `[]`)"
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
    blocks = re.findall(r"(?:^    .*\n)+", page, re.MULTILINE)
    seen = set()
    for block in blocks:
        text = re.sub(r"^    ", "", block, flags=re.MULTILINE)
        if text.startswith("{"):
            continue
        tables = tomllib.loads(text).get("systems", {})
        problems: list[Any] = []
        decode_systems(tables, problems)
        assert problems == []
        seen |= {table.get("preset") for table in tables.values()}
    assert seen >= set(PRESETS) - {"elasticsearch"}
