"""Rerankers: order, ties, what is behind the depth, failures, and the forms of the APIs."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemFailedError
from searchmark.project.entries import decode_systems
from searchmark.systems import SYSTEMS
from searchmark.systems.http.wire import Outgoing, Reply, Wire
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Answer, Entry, Kind, Query
from searchmark.systems.python import Config as PythonConfig
from searchmark.systems.runfile import Config as RunConfig
from searchmark.testing import MisbehavingServer

CORPUS = Corpus(
    pl.DataFrame(
        {
            "doc_id": ["d1", "d2", "d3", "d4"],
            "title": ["one", "two", "three", "four"],
            "text": ["red", "green green", "", "blue blue blue"],
        }
    )
)

RUN = "q Q0 d1 1 9 t\nq Q0 d2 2 8 t\nq Q0 d3 3 7 t\nq Q0 d4 4 6 t\nq Q0 d9 5 5 t\n"


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Callable[..., Answer]]:
    """Ask a reranker whose function is the text of a module, over a run file."""
    before = set(sys.modules)

    def asked(module: str = "", k: int = 5, **keys: Any) -> Answer:
        if module:
            name = f"sm_{abs(hash((module, tmp_path)))}"
            (tmp_path / f"{name}.py").write_text(module)
            keys["callable"] = f"{name}:score"
        with opened(tmp_path, **keys) as pool:
            return pool.open("best").search(Query("q", "red"), k)

    yield asked
    for name in set(sys.modules) - before:
        if name.startswith("sm_"):
            del sys.modules[name]


@contextmanager
def opened(folder: Path, **keys: Any) -> Iterator[Pool]:
    (folder / "run.trec").write_text(RUN)
    kind: Kind = SYSTEMS.load("rerank")
    entries = {
        "old": Entry("old", "run", RunConfig(path="run.trec", tags=["lexical"])),
        "best": Entry("best", "rerank", msgspec.convert({"of": "old", **keys}, kind.config)),
    }
    with Pool(entries, CORPUS, folder=folder, cache=folder) as pool:
        yield pool


def pairs(answer: Answer) -> list[tuple[str, float | None]]:
    return [(h.doc_id, h.score) for h in answer.hits]


LENGTHS = "def score(query, texts): return [len(t.split()) for t in texts]"


def test_new_scores_make_the_order_and_ties_keep_the_old_one(ask: Callable[..., Answer]) -> None:
    # title and text: "one red" 2, "two green green" 3, "three" 1, "four blue blue blue" 4, no text
    assert pairs(ask(LENGTHS)) == [("d4", 4), ("d2", 3), ("d1", 2), ("d3", 1), ("d9", 0)]
    same = "def score(query, texts): return [0.5 for t in texts]"
    assert [d for d, _ in pairs(ask(same))] == ["d1", "d2", "d3", "d4", "d9"]


def test_what_lies_behind_the_depth_follows_as_it_was(ask: Callable[..., Answer]) -> None:
    found = pairs(ask(LENGTHS, depth=2))
    assert found == [("d2", 3.0), ("d1", 2.0), ("d3", None), ("d4", None), ("d9", None)]
    assert pairs(ask(LENGTHS, k=1, depth=4)) == [("d4", 4.0)]  # more are scored than are asked for
    assert pairs(ask(LENGTHS, fields=["text"], depth=4))[:2] == [("d4", 3.0), ("d2", 2.0)]


def test_the_first_stages_latency_is_not_its_own(tmp_path: Path) -> None:
    answer = "def search(q, k): return Answer((), latency_ms=9e9)"
    slow = f"from searchmark.systems.protocol import Answer\n{answer}"
    (tmp_path / "sm_slow.py").write_text(slow)
    (tmp_path / "sm_unused.py").write_text(LENGTHS)
    keys = {"of": "old", "callable": "sm_unused:score"}
    entries = {
        "old": Entry("old", "python", PythonConfig(callable="sm_slow:search")),
        "best": Entry("best", "rerank", msgspec.convert(keys, SYSTEMS.load("rerank").config)),
    }
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
        assert pool.open("old").search(Query("1", "t"), 5).latency_ms == 9e9
        took = pool.open("best").search(Query("1", "t"), 5).latency_ms
    assert took is not None
    assert took < 9e9


def test_arrays_and_async_functions_are_taken(ask: Callable[..., Answer]) -> None:
    array = "import numpy\ndef score(q, t): return numpy.arange(len(t), dtype='float32')"
    assert pairs(ask(array))[0] == ("d9", 4.0)
    slow = "async def score(q, t): return tuple(range(len(t)))"
    assert pairs(ask(slow))[0] == ("d9", 4.0)


WRONG = [
    ("return [1.0]", "the callable gave 1 scores for 5 texts"),
    ("return [float('nan')] * len(t)", "the score of text 0 is nan, not a number"),
    ("return [None] * len(t)", "the score of text 0 is nothing, not a number"),
    ("return ['1'] * len(t)", "the score of text 0 is a text"),
    ("return [True] * len(t)", "the score of text 0 is true"),
    ("return [[1.0]] * len(t)", "the score of text 0 is a list of 1"),
    ("return None", "returned None where a list of scores is expected"),
    ("raise ValueError('too hot')", "too hot"),
    ("exit(1)", r"called exit\(1\)"),
]


@pytest.mark.parametrize(("body", "told"), WRONG)
def test_a_reranker_that_fails_is_an_error_or_leaves_the_old_order_as_partial(
    ask: Callable[..., Answer], body: str, told: str
) -> None:
    module = f"def score(q, t): {body}"
    with pytest.raises(SystemFailedError, match=told):
        ask(module)
    kept = ask(module, on_failure="keep", k=2)
    assert kept.partial
    assert pairs(kept) == [("d1", 9.0), ("d2", 8.0)]


def test_the_first_stages_failure_is_never_kept(tmp_path: Path) -> None:
    (tmp_path / "sm_first.py").write_text("def search(q, k): raise ValueError('down')")
    (tmp_path / "sm_second.py").write_text("def score(q, t): return [0] * len(t)")
    tables = {
        "old": {"use": "python", "callable": "sm_first:search"},
        "best": {
            "use": "rerank",
            "of": "old",
            "callable": "sm_second:score",
            "on_failure": "keep",
        },
    }
    entries = decode_systems(tables, [])
    with (
        Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool,
        pytest.raises(SystemFailedError, match="down"),
    ):
        pool.open("best").search(Query("q", "red"), 3)
    for name in ("sm_first", "sm_second"):
        del sys.modules[name]


def test_a_reranker_is_what_its_first_stage_is(tmp_path: Path) -> None:
    (tmp_path / "sm_tags.py").write_text("def score(q, t): return [0] * len(t)")
    with opened(tmp_path, callable="sm_tags:score") as pool:
        system = pool.open("best")
        assert system.tags == {"lexical"}
        assert set(system.identity) == {"old.run", "module"}
    with opened(tmp_path, callable="sm_tags:score", tags=["hybrid"]) as pool:
        assert pool.open("best").tags == {"hybrid"}
    del sys.modules["sm_tags"]


def problems(tables: Mapping[str, Any]) -> dict[str, str]:
    found: list[Any] = []
    decode_systems(tables, found)
    return {p.key: p.message for p in found}


def test_keys_that_make_no_reranker_are_problems() -> None:
    old = {"use": "run", "path": "x"}
    good = {"use": "rerank", "of": "old", "callable": "m:f"}
    assert problems({"old": old, "best": good}) == {}
    wrong = {"use": "rerank", "of": "odl", "depth": 0, "fields": []}
    found = problems({"old": old, "best": wrong})
    assert set(found) == {f"systems.best.{k}" for k in ("of", "depth", "fields", "model")}
    assert "did you mean 'old'" in found["systems.best.of"]
    both = {**good, "model": "bert"}
    assert set(problems({"old": old, "best": both})) == {
        "systems.best.callable",
        "systems.best.model",
    }
    endpoint = {"url": "x", "style": "voyage", "batch": 0}
    found = problems({"old": old, "best": {"use": "rerank", "of": "old", "endpoint": endpoint}})
    assert set(found) == {f"systems.best.endpoint.{k}" for k in ("url", "model", "batch")}


def test_circles_through_a_reranker_are_seen() -> None:
    found = problems(
        {
            "a": {"use": "rerank", "of": "b", "callable": "m:f"},
            "b": {"use": "hybrid", "of": ["a", "c"]},
            "c": {"use": "run", "path": "x"},
        }
    )
    assert found == {
        "systems.a.of": "'b' is made of 'a' again, a circle",
        "systems.b.of[0]": "'a' is made of 'b' again, a circle",
    }
    assert "systems.a.of" in problems({"a": {"use": "rerank", "of": "a", "callable": "m:f"}})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], list[Any]]]:
    """Answer every request with a value; the list is filled with address and body of each."""

    def answers(make: Callable[[Any], Any]) -> list[Any]:
        noted: list[Any] = []

        def send(self: Wire, request: Outgoing, end: float | None) -> Reply:
            body = json.loads(request.body or b"")
            noted.append((request.url, body))
            return Reply(200, {}, msgspec.json.encode(make(body)))

        monkeypatch.setattr(Wire, "send", send)
        return noted

    yield answers


def by_length(name: str) -> Callable[[Any], list[Any]]:
    """Score each text by its words, and list the last one first."""

    def scored(body: Any) -> list[Any]:
        texts = body.get("documents", body.get("texts"))
        found = [{"index": i, name: len(t.split()) / 10} for i, t in enumerate(texts)]
        return found[::-1]

    return scored


STYLES: list[tuple[str, Callable[[Any], Any], dict[str, Any]]] = [
    ("cohere", lambda b: {"results": by_length("relevance_score")(b)}, {"top_n": 5, "model": "m"}),
    ("voyage", lambda b: {"data": by_length("relevance_score")(b)}, {"top_k": 5, "model": "m"}),
    ("tei", by_length("score"), {"truncate": True}),
]


@pytest.mark.parametrize(("style", "make", "more"), STYLES)
def test_endpoints_are_asked_in_their_own_form(
    ask: Callable[..., Answer],
    sent: Callable[[Any], list[Any]],
    style: str,
    make: Callable[[Any], Any],
    more: dict[str, Any],
) -> None:
    noted = sent(make)
    endpoint = {"url": "http://127.0.0.1:1/v2/", "model": "m", "style": style}
    assert [d for d, _ in pairs(ask(endpoint=endpoint))] == ["d4", "d2", "d1", "d3", "d9"]
    texts = ["one red", "two green green", "three", "four blue blue blue", ""]
    name = "texts" if style == "tei" else "documents"
    assert noted == [("http://127.0.0.1:1/v2/rerank", {"query": "red", name: texts, **more})]


def test_batches_are_joined(ask: Callable[..., Answer], sent: Callable[[Any], list[Any]]) -> None:
    noted = sent(STYLES[0][1])
    endpoint = {"url": "http://127.0.0.1:1/rerank", "model": "m", "batch": 2}
    assert [d for d, _ in pairs(ask(endpoint=endpoint))] == ["d4", "d2", "d1", "d3", "d9"]
    assert [len(body["documents"]) for _, body in noted] == [2, 2, 1]
    assert {url for url, _ in noted} == {"http://127.0.0.1:1/rerank"}


ANSWERS = [
    ({}, "answered without a list of scores; it is {}"),
    ({"results": []}, "0 scores came for 5 texts"),
    ({"results": [{"index": 0, "relevance_score": 1}] * 5}, "their index is not each text's once"),
    ([1, 2], "answered without a list of scores"),
    (
        {"results": [{"index": i, "relevance_score": "high"} for i in range(5)]},
        "the score of text 0 is a text, not a number",
    ),
    (
        {"results": [{"index": i, "relevance_score": 10**400} for i in range(5)]},
        "the score of text 0 is 10{39}, not a number",
    ),
    ({"results": [{"index": i, "score": 1} for i in range(5)]}, "text 0 is nothing, not a number"),
]


@pytest.mark.parametrize(("answer", "told"), ANSWERS)
def test_answers_that_leave_a_text_without_a_score_are_errors(
    ask: Callable[..., Answer], sent: Callable[[Any], list[Any]], answer: Any, told: str
) -> None:
    sent(lambda _: answer)
    endpoint = {"url": "http://127.0.0.1:1", "model": "m"}
    with pytest.raises(SystemFailedError, match=told):
        ask(endpoint=endpoint)


def test_a_real_server_process_is_asked(ask: Callable[..., Answer]) -> None:
    from searchmark.testing import Behaviour, Plan

    with MisbehavingServer("rerank") as server:
        server.behave(Plan(Behaviour.RISING, ("a", "b", "c", "d", "e")))
        endpoint = {"url": server.url, "model": "m"}
        # the fifth text got the greatest score: the old order turned round
        assert [d for d, _ in pairs(ask(endpoint=endpoint))] == ["d9", "d4", "d3", "d2", "d1"]
        assert list(server.queries()) == ["red"]


def test_the_package_that_is_missing_is_named(ask: Callable[..., Answer]) -> None:
    if "sentence_transformers" in sys.modules:
        pytest.skip("it is here")
    with pytest.raises(InputError, match=r"needs sentence-transformers.*pip install"):
        ask(model="sentence-transformers:some/model")
