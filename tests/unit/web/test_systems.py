"""The index in memory as it is served: pages of one ranking, the text that counted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from searchmark.data import Corpus
from searchmark.errors import SystemFailedError
from searchmark.retrieval.generation import Generation
from searchmark.systems import SYSTEMS
from searchmark.systems.protocol import Context, Entry
from searchmark.web import answers
from searchmark.web.limits import Limits
from searchmark.web.served import Served
from searchmark.web.systems import SystemCatalog, open_system

N = 2500
SYSTEMS_OF = {
    "words": ("bm25", {"fields": ["title"]}),
    "meaning": ("dense", {"fields": ["title", ["text"]], "query_prefix": "query: "}),
    "both": ("hybrid", {"of": ["words", "meaning"]}),
    "shallow": ("hybrid", {"of": ["words", "meaning"], "depth": 3}),
}


class Directions:
    """A direction of its own for every text; those in `given` have the ones that are given."""

    def __init__(self) -> None:
        self.generation = Generation("m", "m", 4, "sum", True, "fp32", 1000, "tokens")
        self.given: dict[str, Sequence[float]] = {}
        self.fails = False

    def encode(self, texts: Sequence[str], *, progress: object = None) -> NDArray[np.float32]:
        if self.fails:
            raise SystemFailedError("away", retry=True)
        rows = np.array([self.given.get(text) or _hashed(text) for text in texts], float)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / lengths).astype(np.float32)

    def count_truncated(self, texts: Sequence[str]) -> int:
        return 0


def _hashed(text: str) -> list[float]:
    return [byte - 127.5 for byte in sha256(text.encode()).digest()[:4]]


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Directions:
    made = Directions()
    monkeypatch.setattr("searchmark.retrieval.encoders.load_encoder", lambda *a, **k: made)
    return made


@contextmanager
def opened(titles: Sequence[str], texts: Sequence[str], name: str, folder: Path) -> Iterator[Any]:
    ids = [f"d{i:04}" for i in range(len(titles))]
    corpus = Corpus(pl.DataFrame({"doc_id": ids, "title": titles, "text": texts}))
    entries = {
        key: Entry(key, use, msgspec.convert(table, SYSTEMS.load(use).config))
        for key, (use, table) in SYSTEMS_OF.items()
    }
    context = Context(corpus, folder, folder, open=_unknown)
    with open_system(entries, name, context) as catalog:
        yield catalog


def _unknown(name: str) -> Any:
    raise AssertionError(name)


def paged(catalog: SystemCatalog, query: str) -> list[str]:
    """Return what the service gives from the first page to the last."""
    served = Served("s", catalog, (), catalog.guard)
    pages = answers.Pages(Limits(), b"key")
    found: list[str] = []
    values: dict[str, Any] = {"query": query, "limit": 100}
    for _ in range(N // 100 + 1):
        page = answers.search(served, values, (), pages)
        found += [r["resource"] for r in page["resources"]]
        if page["nextCursor"] is None:
            return found
        values["cursor"] = page["nextCursor"]
    raise AssertionError("pages without an end")


@pytest.mark.parametrize("name", ["words", "meaning", "both"])
def test_pages_behind_the_depth_go_on_with_one_ranking(
    name: str, encoder: Directions, tmp_path: Path
) -> None:
    titles = [f"common w{i % 7} " + "more " * (i % 11) for i in range(N)]
    with opened(titles, [f"text {i}" for i in range(N)], name, tmp_path) as catalog:
        found = paged(catalog, "common")
        assert len(set(found)) == len(found)
        whole = catalog.search("common", N)
        assert found == [f.doc_id for f in whole.found]
        first, last = catalog.search("common", 1), catalog.search("common", 1, N)
    if name != "both":
        assert len(found) == N
        return
    # each arm gives 1,000: what both give is counted once, and nobody knows how many more there are
    assert 1000 < len(found) < 2000
    assert (first.total, whole.total, last.total) == (None, None, None)


def test_a_fusion_that_was_not_cut_is_counted(encoder: Directions, tmp_path: Path) -> None:
    titles, texts = ["one", "two"], ["", ""]
    with opened(titles, texts, "shallow", tmp_path) as catalog:
        assert catalog.search("one", 1).total == 2  # each arm may give 3
    titles, texts = ["one", "two", "three", "four"], [""] * 4
    with opened(titles, texts, "shallow", tmp_path) as catalog:
        assert catalog.search("one", 10).total is None  # the arm of vectors was cut


def test_the_best_text_is_named(encoder: Directions, tmp_path: Path) -> None:
    encoder.given = {
        "query: near": (1, 0, 0, 0),
        "apple": (0.6, 0.8, 0, 0),
        "a fruit": (0.8, 0.6, 0, 0),  # nearer than the title of its document
        "near": (0.5, 0.5, 0.5, 0.5),
        "far away": (-1, 0, 0, 0),
    }
    titles, texts = ["apple", "near"], ["a fruit", "far away"]
    named = {"d0000": "a fruit", "d0001": "near"}
    for name in ("meaning", "both"):
        with opened(titles, texts, name, tmp_path) as catalog:
            page = catalog.search("near", 10)
            assert {f.doc_id: f.best_text for f in page.found} == named
            encoder.fails = True
            catalog.guard._kept.clear()
            page = catalog.search("near", 10)
            assert page.is_partial
            assert [(f.doc_id, f.best_text) for f in page.found] == [("d0001", None)]
            encoder.fails = False
    with opened(titles, texts, "words", tmp_path) as catalog:
        assert [f.best_text for f in catalog.search("near", 10).found] == [None]


def test_what_no_vector_found_has_no_best_text(encoder: Directions, tmp_path: Path) -> None:
    encoder.given = {"query: near": (1, 0, 0, 0), "near": (-1, 0, 0, 0)}
    titles = ["near", *(f"other {i}" for i in range(3))]
    for title in titles[1:]:
        encoder.given[title] = (1, 0.5, 0, 0)
    # the arms give three documents each, and the one that the words find is the last by vectors
    with opened(titles, [""] * 4, "shallow", tmp_path) as catalog:
        best = {f.doc_id: f.best_text for f in catalog.search("near", 10).found}
    assert best == {"d0000": None, **{f"d{i + 1:04}": f"other {i}" for i in range(3)}}
