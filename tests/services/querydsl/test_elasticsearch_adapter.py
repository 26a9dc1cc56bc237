"""The Elasticsearch adapter on a server that elasticsearch-py takes for Elasticsearch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError, SystemFailedError
from searchmark.retrieval.encoders import Encoder, load_encoder
from searchmark.systems.protocol import Answer, Query, System

from .conftest import Data, opened

elasticsearch = pytest.importorskip("elasticsearch")
helpers = pytest.importorskip("elasticsearch.helpers")

MODEL = "all-MiniLM-L6-v2"
TEXT = {"type": "text", "analyzer": "english"}
DEPTH = 20


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(MODEL)


@pytest.fixture(scope="module")
def vectors(encoder: Encoder, data: Data) -> NDArray[np.float32]:
    return encoder.encode([f"{d['title']} {d['text']}" for d in data.documents])


@pytest.fixture(scope="module")
def client(elasticsearch_url: str, data: Data, vectors: NDArray[np.float32]) -> Iterator[Any]:
    client = elasticsearch.Elasticsearch(elasticsearch_url)
    vector = {
        "type": "dense_vector",
        "dims": vectors.shape[1],
        "index": True,
        "similarity": "cosine",
        "index_options": {"type": "flat"},  # the default keeps 8 bits of each number
    }
    properties = {"title": TEXT, "text": TEXT, "vector": vector, "number": {"type": "integer"}}
    client.indices.create(index="cranfield", mappings={"properties": properties})
    client.indices.put_alias(index="cranfield", name="current")
    rows = [
        {
            "_index": "cranfield",
            "_id": d["_id"],
            "title": d["title"],
            "text": d["text"],
            "number": int(d["_id"]),
            "catalog": {"sku": f"S-{d['_id']}"},
            "vector": v.tolist(),
        }
        for d, v in zip(data.documents, vectors, strict=True)
    ]
    helpers.bulk(client, rows, refresh=True)
    yield client
    client.close()


@pytest.fixture
def keys(client: Any, elasticsearch_url: str) -> dict[str, Any]:
    return {"hosts": elasticsearch_url, "index": "cranfield"}


def by_words(text: str) -> dict[str, Any]:
    return {"match": {"text": {"query": text}}}


def by_vector(vector: Any, k: Any) -> dict[str, Any]:
    return {"field": "vector", "query_vector": vector, "k": k, "num_candidates": 300}


def raw(client: Any, k: int, **body: Any) -> list[tuple[str, float]]:
    found = client.search(index="cranfield", size=k, **body)
    return [(h["_id"], h["_score"]) for h in found["hits"]["hits"]]


def hits(answer: Answer | SystemFailedError) -> list[tuple[str, float | None]]:
    assert isinstance(answer, Answer), answer
    return [(h.doc_id, h.score) for h in answer.hits]


def ids(system: System, text: str, k: int = DEPTH) -> list[str]:
    return [h.doc_id for h in system.search(Query("q", text), k).hits]


def test_rankings_and_scores_are_what_the_plain_client_gives(
    client: Any, keys: dict[str, Any], data: Data
) -> None:
    with opened("elasticsearch", fields=["title^2", "text"], **keys) as system:
        for query in data.queries[:10]:
            multi = {"multi_match": {"query": query["text"], "fields": ["title^2", "text"]}}
            answer = system.search(Query(query["_id"], query["text"]), DEPTH)
            assert hits(answer) == raw(client, DEPTH, query=multi) != []


def test_a_batch_gives_what_single_calls_give(keys: dict[str, Any], data: Data) -> None:
    queries = [Query(q["_id"], q["text"]) for q in data.queries]
    with opened("elasticsearch", template={"query": by_words("{query}")}, **keys) as system:
        together = system.search_many(queries, DEPTH)
        singly = [system.search(q, DEPTH) for q in queries]
    assert [hits(a) for a in together] == [hits(a) for a in singly]
    assert [a.total for a in together] == [a.total for a in singly]


def test_neighbours_are_those_of_exact_cosine(
    keys: dict[str, Any],
    data: Data,
    encoder: Encoder,
    vectors: NDArray[np.float32],
    tmp_path: Path,
) -> None:
    template = {"knn": by_vector("{embedding}", "{k}"), "_source": False}
    (tmp_path / "knn.json").write_text(json.dumps(template))
    with opened("elasticsearch", tmp_path, template="knn.json", model=MODEL, **keys) as system:
        assert set(system.identity) == {"template", "model"}
        for query in data.queries[:10]:
            cosines = vectors @ encoder.encode([query["text"]])[0]
            best = np.argsort(-cosines, kind="stable")[:DEPTH]
            answer = system.search(Query(query["_id"], query["text"]), DEPTH)
            assert [h.doc_id for h in answer.hits] == [data.documents[i]["_id"] for i in best]
            # Elasticsearch documents a cosine's score as (1 + cosine) / 2.
            scores = [h.score for h in answer.hits]
            assert scores == pytest.approx((1 + cosines[best]) / 2, abs=1e-5)


def test_rrf_is_the_sum_of_reciprocal_ranks(keys: dict[str, Any], data: Data) -> None:
    words = {"standard": {"query": by_words("{query}")}}
    near = {"knn": by_vector("{embedding}", DEPTH)}
    rrf = {"retrievers": [words, near], "rank_window_size": DEPTH, "rank_constant": 60}
    both = opened("elasticsearch", template={"retriever": {"rrf": rrf}}, model=MODEL, **keys)
    one = opened("elasticsearch", template={"query": by_words("{query}")}, **keys)
    two = opened("elasticsearch", template={"knn": near["knn"]}, model=MODEL, **keys)
    with both as fused, one as lexical, two as vector:
        for query in data.queries[:5]:
            sums: dict[str, float] = {}
            for arm in (lexical, vector):
                for rank, doc_id in enumerate(ids(arm, query["text"]), start=1):
                    sums[doc_id] = sums.get(doc_id, 0.0) + 1 / (60 + rank)
            answer = fused.search(Query(query["_id"], query["text"]), DEPTH)
            found = {h.doc_id: h.score for h in answer.hits}
            assert len(found) == DEPTH
            assert found == pytest.approx({i: sums[i] for i in found}, abs=1e-7)
            # Equal sums may come in any order; between sums the order is theirs.
            assert list(found.values()) == pytest.approx(sorted(sums.values())[: -DEPTH - 1 : -1])


def test_a_filter_beside_the_vector_is_kept(keys: dict[str, Any]) -> None:
    knn = {**by_vector("{embedding}", "{k}"), "filter": {"range": {"number": {"lte": 50}}}}
    with opened("elasticsearch", template={"knn": knn}, model=MODEL, **keys) as system:
        found = ids(system, "heated wing", 10)
    assert len(found) == 10
    assert all(int(i) <= 50 for i in found)


def test_an_alias_a_field_as_id_and_tokens(keys: dict[str, Any]) -> None:
    with (
        opened("elasticsearch", fields=["text"], **keys) as plain,
        opened(
            "elasticsearch",
            fields=["text"],
            id_field="catalog.sku",
            tokens="_source.number",
            **{**keys, "index": "current"},
        ) as named,
    ):
        expected = ids(plain, "wing")
        found = named.search(Query("q", "wing"), DEPTH).hits
    assert [h.doc_id for h in found] == [f"S-{i}" for i in expected] != []
    assert [h.tokens for h in found] == [float(i) for i in expected]


@pytest.mark.parametrize(
    "text",
    [
        'wing "{query}" {k}',
        "wing\nslipstream\r\t",
        "-wing AND (OR NOT field:x~2*",
        "wing ${HOME}漢\u2028",
    ],
)
def test_nasty_queries_are_texts_like_any_other(
    client: Any, keys: dict[str, Any], text: str
) -> None:
    with opened("elasticsearch", template={"query": by_words("{query}")}, **keys) as system:
        single = system.search(Query("q", text), 5)
        (batched,) = system.search_many([Query("q", text)], 5)
    assert hits(single) == hits(batched) == raw(client, 5, query=by_words(text)) != []


def test_an_empty_answer_is_an_answer(keys: dict[str, Any]) -> None:
    with opened("elasticsearch", fields=["text"], **keys) as system:
        answer = system.search(Query("q", "qwertzuiop"), 5)
    assert (answer.hits, answer.total, answer.partial) == ((), 0, False)


def test_an_index_that_is_not_there_is_no_empty_answer(keys: dict[str, Any]) -> None:
    with opened("elasticsearch", fields=["text"], **{**keys, "index": "cranfeild"}) as system:
        with pytest.raises(SystemFailedError) as caught:
            system.search(Query("q", "wing"), 5)
        (batched,) = system.search_many([Query("q", "wing")], 5)
    for error in (caught.value, batched):
        assert isinstance(error, SystemFailedError)
        assert not error.retry
        assert "404 Not Found: index_not_found_exception" in str(error)


def test_what_the_engine_refuses_is_told_in_its_words(keys: dict[str, Any]) -> None:
    rrf = {"retrievers": [{"standard": {"query": by_words("{query}")}}] * 2, "rank_window_size": 5}
    with (
        opened("elasticsearch", template={"retriever": {"rrf": rrf}}, **keys) as system,
        pytest.raises(SystemFailedError, match=r"400 Bad Request: .*rank_window_size") as caught,
    ):
        system.search(Query("q", "wing"), 10)
    assert not caught.value.retry


def test_a_parameter_that_the_client_does_not_know_is_told_when_it_is_opened(
    keys: dict[str, Any],
) -> None:
    with (
        pytest.raises(InputError, match=r"params\.serch_type: .* did you mean 'search_type'"),
        opened("elasticsearch", fields=["text"], params={"serch_type": "x"}, **keys),
    ):
        pass


def test_a_hit_is_explained(client: Any, keys: dict[str, Any]) -> None:
    expected = raw(client, 20, query=by_words("heated wing"))
    with opened("elasticsearch", template={"query": by_words("{query}")}, **keys) as system:
        found = system.explain(Query("q", "heated wing"), expected[1][0], 20)
        beyond = system.explain(Query("q", "heated wing"), expected[6][0], 3)
    assert (found.rank, found.score) == (2, expected[1][1])
    assert found.reason is not None
    assert found.reason.value == expected[1][1]
    assert (beyond.rank, beyond.score) == (None, pytest.approx(expected[6][1]))
    assert beyond.note == "the document matches, and is not among the 3 first"


def test_what_cannot_be_explained_is_told(keys: dict[str, Any]) -> None:
    template = {"knn": by_vector("{embedding}", "{k}")}
    with opened("elasticsearch", template=template, model=MODEL, **keys) as system:
        near, *_, far = ids(system, "heated wing", 300)
        found = system.explain(Query("q", "heated wing"), near, 5)
        missed = system.explain(Query("q", "heated wing"), far, 5)
    assert (found.rank, found.reason is not None) == (1, True)
    assert (missed.rank, missed.reason) == (None, None)
    assert "only by _id, for searches that have a query" in missed.note
