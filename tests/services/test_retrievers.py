"""Retrievers of LangChain, LlamaIndex and Haystack as systems, beside what they return by hand."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus, read_corpus, read_queries
from searchmark.errors import InputError, SystemFailedError
from searchmark.systems import SYSTEMS
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Kind, Query, System

# what the libraries warn of on their own account: their own old idioms, nothing of ours
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]

for library in ("langchain_core", "llama_index", "haystack"):
    if find_spec(library) is None:  # not imported: that would set up what it reports to its makers
        pytest.skip(f"{library} is not installed", allow_module_level=True)

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d1"], "text": ["red"]}))
N_DOCS = 60


@contextmanager
def opened(use: str, folder: Path, **keys: Any) -> Iterator[System]:
    kind: Kind = SYSTEMS.load(use)
    config = msgspec.convert(keys, kind.config)
    with Pool({"s": Entry("s", use, config)}, CORPUS, folder=folder, cache=folder) as pool:
        yield pool.open("s")


def problems(use: str, **keys: Any) -> dict[str, str]:
    kind: Kind = SYSTEMS.load(use)
    assert kind.problems is not None
    return {p.key: p.message for p in kind.problems(msgspec.convert(keys, kind.config), "s", {})}


def pairs(system: System, text: str, k: int) -> list[tuple[str, float | None]]:
    return [(h.doc_id, h.score) for h in system.search(Query("q", text), k).hits]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Any]:
    """Write a module beside the project; return the reference to its attribute."""
    before = set(sys.modules)

    def write_module(text: str, attribute: str = "made") -> str:
        name = f"sm_{abs(hash((text, tmp_path)))}"
        (tmp_path / f"{name}.py").write_text(text)
        return f"{name}:{attribute}"

    yield write_module
    for name in set(sys.modules) - before:
        if name.startswith("sm_"):
            del sys.modules[name]


@pytest.fixture
def module(tmp_path: Path, write: Any) -> Any:
    """Import what `write` wrote, as a person would who calls the library by hand."""

    def load(reference: str) -> ModuleType:
        name = reference.partition(":")[0]
        found = sys.modules[name]
        assert found.__file__ == str(tmp_path / f"{name}.py")
        return found

    return load


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Note every address that is connected to, and let none be."""
    noted: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        noted.append(address)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **_: refuse(socket.socket(), a))
    return noted


@pytest.fixture(scope="module")
def queries(shared: Path) -> list[str]:
    return list(read_queries(shared / "data" / "cranfield" / "queries.jsonl").texts)[:12]


@pytest.fixture
def documents(shared: Path, tmp_path: Path) -> Path:
    """Cranfield's first documents, as the modules below read them."""
    corpus = read_corpus(shared / "data" / "cranfield" / "corpus.jsonl")
    path = tmp_path / "docs.json"
    texts = corpus.joined(["title", "text"])[:N_DOCS]
    path.write_bytes(msgspec.json.encode(dict(zip(corpus.doc_ids[:N_DOCS], texts, strict=True))))
    return path


READ = """
import json, pathlib
docs = json.loads((pathlib.Path(__file__).parent / "docs.json").read_text())
"""

ENCODER = """
from searchmark.retrieval.encoders import load_encoder
encoder = load_encoder()
"""

LANGCHAIN = f"""{READ}{ENCODER}
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

class Ours(Embeddings):
    def embed_documents(self, texts): return encoder.encode(texts).tolist()
    def embed_query(self, text): return encoder.encode([text])[0].tolist()

store = InMemoryVectorStore(Ours())
store.add_documents(
    [
        Document(text, id=f"row-{{i}}", metadata={{"doc_id": d}})
        for i, (d, text) in enumerate(docs.items())
    ]
)
def made(): return store.as_retriever(search_kwargs={{"k": 2}})
"""


def test_langchain_vector_store(
    tmp_path: Path, write: Any, module: Any, documents: Path, queries: list[str]
) -> None:
    reference = write(LANGCHAIN)
    with opened("langchain", tmp_path, retriever=reference, id="metadata.doc_id") as system:
        store = module(reference).store
        for text in queries:
            by_hand = [d.metadata["doc_id"] for d in store.similarity_search(text, k=7)]
            assert pairs(system, text, 7) == [(d, None) for d in by_hand]
        assert set(system.identity) == {"module"}
    with opened("langchain", tmp_path, retriever=reference) as system:
        assert pairs(system, queries[0], 1)[0][0].startswith("row-")


LISTED = """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

class Listed(BaseRetriever):
    k: int = 2
    def _get_relevant_documents(self, query, *, run_manager):
        words = query.split()
        return [
            Document(w, metadata={"id": w, "at": {"score": 1 - i / 10}})
            for i, w in enumerate(words)
        ][: self.k]

class Taking(BaseRetriever):
    def _get_relevant_documents(self, query, top_k=1, *, run_manager):
        return [Document(w, id=w) for w in query.split()][:top_k]

class Waiting(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError
    async def _aget_relevant_documents(self, query, *, run_manager):
        import asyncio
        await asyncio.sleep(0)
        return [Document(w, id=w) for w in query.split()]

listed, taking, waiting = Listed(), Taking(), Waiting()
"""


def test_langchain_is_asked_for_the_depth_where_it_takes_one(tmp_path: Path, write: Any) -> None:
    keys = {"id": "metadata.id", "score": "metadata.at.score"}
    with opened("langchain", tmp_path, retriever=write(LISTED, "listed"), **keys) as system:
        # 1 - i / 10
        assert pairs(system, "a b c d e", 4) == [("a", 1.0), ("b", 0.9), ("c", 0.8), ("d", 0.7)]
        assert pairs(system, "", 4) == []
    for attribute in ("taking", "waiting"):
        with opened("langchain", tmp_path, retriever=write(LISTED, attribute)) as system:
            assert pairs(system, "a b c d e", 3) == [("a", None), ("b", None), ("c", None)]


def test_documents_without_an_id_are_an_error_that_names_the_metadata(
    tmp_path: Path, write: Any
) -> None:
    with (
        opened("langchain", tmp_path, retriever=write(LISTED, "listed")) as system,
        pytest.raises(SystemFailedError, match=r"id is None.*metadata\.id, metadata\.at"),
    ):
        pairs(system, "a", 1)
    reference = write(LISTED, "listed")
    with (
        opened("langchain", tmp_path, retriever=reference, id="page_content", score="id") as system,
    ):
        assert pairs(system, "a", 1) == [("a", None)]
    with (
        opened(
            "langchain", tmp_path, retriever=reference, id="metadata.id", score="type"
        ) as system,
        pytest.raises(SystemFailedError, match="type is 'Document', not a score"),
    ):
        pairs(system, "a", 1)


LLAMAINDEX = f"""{READ}{ENCODER}
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

class Ours(BaseEmbedding):
    def _get_query_embedding(self, query): return encoder.encode([query])[0].tolist()
    async def _aget_query_embedding(self, query): return self._get_query_embedding(query)
    def _get_text_embedding(self, text): return encoder.encode([text])[0].tolist()

nodes = []
for doc_id, text in docs.items():
    node = TextNode(id_="node-" + doc_id, text=text)
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=doc_id)
    nodes.append(node)
index = VectorStoreIndex(nodes, embed_model=Ours(embed_batch_size=32))
made = index.as_retriever(similarity_top_k=2)
"""


def test_llamaindex_vector_index(
    tmp_path: Path,
    write: Any,
    module: Any,
    documents: Path,
    queries: list[str],
    connections: list[object],
) -> None:
    reference = write(LLAMAINDEX)
    with opened("llamaindex", tmp_path, retriever=reference) as system:
        by_hand = module(reference).index.as_retriever(similarity_top_k=7)
        for text in queries:
            found = by_hand.retrieve(text)
            assert pairs(system, text, 7) == [(n.node.ref_doc_id, n.score) for n in found]
        assert module(reference).made.similarity_top_k == 2  # the user's object is left as it is
    with opened("llamaindex", tmp_path, retriever=reference, id="node_id") as system:
        assert [d for d, _ in pairs(system, queries[0], 3)] == [
            n.node.node_id for n in by_hand.retrieve(queries[0])[:3]
        ]
    assert connections == []


WAITING = """
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

class Waiting(BaseRetriever):
    def _retrieve(self, query_bundle):
        raise NotImplementedError
    async def _aretrieve(self, query_bundle):
        words = query_bundle.query_str.split()
        return [NodeWithScore(node=TextNode(id_=w, text=w), score=None) for w in words]

made = Waiting
"""


def test_llamaindex_retriever_that_is_async_alone(tmp_path: Path, write: Any) -> None:
    with opened("llamaindex", tmp_path, retriever=write(WAITING)) as system:
        assert pairs(system, "a b c", 2) == [("a", None), ("b", None)]
        assert pairs(system, "", 2) == []


HAYSTACK = f"""{READ}
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

store = InMemoryDocumentStore()
store.write_documents(
    [
        Document(id=f"row-{{i}}", content=text, meta={{"doc_id": d}})
        for i, (d, text) in enumerate(docs.items())
    ]
)
def made():
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    return pipeline
"""


def test_haystack_pipeline_sends_nothing(
    tmp_path: Path,
    write: Any,
    module: Any,
    documents: Path,
    queries: list[str],
    connections: list[object],
) -> None:
    reference = write(HAYSTACK)
    with opened("haystack", tmp_path, retriever=reference, id="meta.doc_id") as system:
        store = module(reference).store
        for text in queries:
            found = store.bm25_retrieval(query=text, top_k=7)
            assert pairs(system, text, 7) == [(d.meta["doc_id"], d.score) for d in found]
    from haystack.telemetry import _telemetry

    assert _telemetry.telemetry is None  # was loaded, and is off
    assert connections == []


def test_haystack_names_the_outputs_there_are(tmp_path: Path, write: Any, documents: Path) -> None:
    keys = {"retriever": write(HAYSTACK), "output": "retriever.hits"}
    with (
        opened("haystack", tmp_path, **keys) as system,
        pytest.raises(SystemFailedError, match=r"no 'retriever\.hits' \(it put out retriever\.doc"),
    ):
        pairs(system, "wing", 2)
    keys = {"retriever": write(HAYSTACK), "inputs": {"finder": {"query": "{query}"}}}
    with (
        opened("haystack", tmp_path, **keys) as system,
        pytest.raises(SystemFailedError, match="'finder' not found in the pipeline"),
    ):
        pairs(system, "wing", 2)


def test_placeholders_in_a_querys_own_text_stay(tmp_path: Path, write: Any) -> None:
    text = """
class Echo:
    def run(self, data, include_outputs_from=None):
        asked = data["retriever"]
        return {"retriever": {"documents": [Found(asked["query"], asked["top_k"])]}}
class Found:
    def __init__(self, id, score): self.id, self.score = id, score
made = Echo()
"""
    with opened("haystack", tmp_path, retriever=write(text)) as system:
        for query in ["{k} {query}", '"}{', "a\nb", "-- '; DROP", "{{k}}"]:
            assert pairs(system, query, 3) == [(query, 3.0)]


NOT_RETRIEVERS = [
    ("langchain", "made = 5", "int has no method invoke"),
    ("llamaindex", "made = object()", "object has no method retrieve"),
    ("haystack", "def made(): return []", "list has no method run"),
    ("langchain", "def made(): return 1 / 0", r"made nothing \(ZeroDivisionError"),
    ("llamaindex", "made2 = 1", r"cannot be imported \(AttributeError"),
    ("haystack", "exit(3)", r"cannot be imported \(called exit\(3\)"),
]


@pytest.mark.parametrize(("use", "text", "told"), NOT_RETRIEVERS)
def test_what_is_no_retriever_is_told(
    tmp_path: Path, write: Any, use: str, text: str, told: str
) -> None:
    with pytest.raises(InputError, match=told), opened(use, tmp_path, retriever=write(text)):
        pass


@pytest.mark.parametrize("returned", ["None", "'d1'", "{}", "5", "b''", "set()"])
def test_what_is_no_list_never_looks_like_an_empty_answer(
    tmp_path: Path, write: Any, returned: str
) -> None:
    text = f"class Bad:\n    def invoke(self, text): return {returned}\nmade = Bad()"
    with (
        opened("langchain", tmp_path, retriever=write(text)) as system,
        pytest.raises(SystemFailedError, match="where a list of documents is expected"),
    ):
        pairs(system, "red", 2)


ASYNC = {
    "langchain": "async def invoke(self, text): return [D()]",
    "llamaindex": "async def retrieve(self, text): return [D()]",
    "haystack": (
        "async def run(self, inputs, **_): return {'retriever': {'documents': (D() for _ in '12')}}"
    ),
}


@pytest.mark.parametrize("use", ASYNC)
def test_what_must_be_awaited_is(tmp_path: Path, write: Any, use: str) -> None:
    text = (
        "class D: id = node_id = 'd1'; score = 0.5\n"
        f"class Mine:\n    {ASYNC[use]}\n"
        "async def made(): return Mine()"
    )
    with opened(use, tmp_path, retriever=write(text)) as system:
        assert [doc_id for doc_id, _ in pairs(system, "red", 1)] == ["d1"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("async def made(): return 1 / 0", r"made nothing \(ZeroDivisionError"),
        ("async def made(): exit(0)", r"made nothing \(called exit\(0\)"),
        ("async def made(): return 5", "int has no method invoke"),
    ],
)
def test_an_async_factory_that_fails_is_told(
    tmp_path: Path, write: Any, text: str, told: str
) -> None:
    with (
        pytest.raises(InputError, match=told),
        opened("langchain", tmp_path, retriever=write(text)),
    ):
        pass


def test_nodes_may_come_one_by_one(tmp_path: Path, write: Any) -> None:
    text = (
        "class N:\n    def __init__(self, id): self.node_id, self.score = id, 1.0\n"
        "class Mine:\n    def retrieve(self, text): return (N(f'd{i}') for i in range(9))\n"
        "made = Mine()"
    )
    with opened("llamaindex", tmp_path, retriever=write(text)) as system:
        assert pairs(system, "red", 2) == [("d0", 1.0), ("d1", 1.0)]


@pytest.mark.parametrize("put_out", ["{'retriever': None}", "{'retriever': []}", "{'x': 5}"])
def test_a_pipeline_without_the_output_is_told(tmp_path: Path, write: Any, put_out: str) -> None:
    text = f"class Mine:\n    def run(self, inputs, **_): return {put_out}\nmade = Mine()"
    with (
        opened("haystack", tmp_path, retriever=write(text)) as system,
        pytest.raises(SystemFailedError, match=r"put out no 'retriever\.documents'"),
    ):
        pairs(system, "red", 2)


def test_keys_that_are_wrong_are_problems() -> None:
    assert problems("langchain", retriever="m:a", id="metadata.x") == {}
    assert set(problems("langchain", retriever="m", id=".x", score="a..b")) == {
        "retriever",
        "id",
        "score",
    }
    assert set(problems("llamaindex", retriever="m.a", id="")) == {"retriever", "id"}
    assert problems("haystack", retriever="m:a") == {}
    wrong = problems("haystack", retriever="m:a", output="documents", inputs={"r": {"q": "{text}"}})
    assert set(wrong) == {"output", "inputs.r.q", "inputs"}
