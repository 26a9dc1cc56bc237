"""The way to sentence-transformers, with a small stand-in that follows the documented interface.

The package itself needs torch and is not installed here. With the real one (6.3.0, torch 2.14) the
vectors of all-MiniLM-L6-v2 agreed with ours to a cosine of 0.9999999 over 200 abstracts.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError
from searchmark.retrieval.encoders import encode_query, load_encoder
from searchmark.systems import SYSTEMS
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Kind, Query

STAND_IN = '''
import numpy as np

WORDS = ("rain", "gold", "cat")
calls = []


class Tensor:
    """What of torch's interface is used: on some device, in some precision."""

    def __init__(self, values): self.values = values
    def detach(self): return self
    def cpu(self): return self
    def float(self): return Tensor([float(v) for v in self.values])
    def numpy(self): return np.array(self.values)


class Tokenizer:
    def get_vocab(self): return {w: i for i, w in enumerate(WORDS)}
    def __call__(self, texts, truncation): return {"input_ids": [t.split() for t in texts]}


class SentenceTransformer:
    def __init__(self, name):
        if name == "no/model":
            raise OSError("no/model is not a local folder\\nand not on the hub")
        self.name, self.weights = name, [1.0, 2.0]
        self.prompts = {"query": "ask: ", "document": ""}
        self.max_seq_length = 4
        self.tokenizer = Tokenizer()

    def state_dict(self): return {"b": Tensor(self.weights), "a": Tensor([len(self.name) * 0.0])}
    def encode_document(self, texts, **keys): return self._encode("document", texts, **keys)
    def encode_query(self, texts, **keys): return self._encode("query", texts, **keys)

    def _encode(self, kind, texts, show_progress_bar, convert_to_numpy, normalize_embeddings):
        assert not show_progress_bar and convert_to_numpy and normalize_embeddings
        calls.append((kind, list(texts)))
        found = np.array([[t.split().count(w) for w in WORDS] + [0.1] for t in texts], "float64")
        if kind == "query":
            found[:, 3] = 0.3
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class CrossEncoder:
    def __init__(self, name): self.name = name
    def state_dict(self): return {"w": Tensor([1])}
    def predict(self, pairs, show_progress_bar, convert_to_numpy):
        assert not show_progress_bar and convert_to_numpy
        return np.array([t.split().count(q) for q, t in pairs], "float32")
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Install a stand-in, changed or not; return the module once it was imported."""
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    def install(text: str = STAND_IN) -> None:
        sys.modules.pop("sentence_transformers", None)
        (tmp_path / "sentence_transformers.py").write_text(text)

    yield install
    sys.modules.pop("sentence_transformers", None)


Install = Callable[..., None]


def test_documents_and_queries_get_their_own_prompts(package: Install) -> None:
    package()
    encoder = load_encoder("sentence-transformers:some/model")
    found = encoder.encode(["rain rain", "", " \n", "gold"])
    assert found.dtype == np.float32
    assert not found[[1, 2]].any()
    assert np.linalg.norm(found[[0, 3]], axis=1) == pytest.approx([1, 1])
    # (2, 0, 0, 0.1) / sqrt(4.01)
    assert found[0] == pytest.approx([2 / 4.01**0.5, 0, 0, 0.1 / 4.01**0.5])
    # (1, 0, 0, 0.3) / sqrt(1.09)
    assert encode_query(encoder, "rain") == pytest.approx([1 / 1.09**0.5, 0, 0, 0.3 / 1.09**0.5])
    calls = sys.modules["sentence_transformers"].calls
    assert calls[-2:] == [("document", ["rain rain", "gold"]), ("query", ["rain"])]
    assert encoder.count_truncated(["a b c d", "a b c d e"]) == 1
    assert encoder.encode([]).shape == (0, 4)


MADE = "return found / np.linalg.norm(found, axis=1, keepdims=True)"
ODD = "np.array([[{0} if '\u200b' in t else 1.0] for t in texts])"
"""What a vector is multiplied with: of a text that holds a sign without width, and of others."""


@pytest.mark.parametrize("number", ["float('nan')", "1e30", "1e300", "0"])
def test_a_model_without_vectors_that_a_cosine_can_be_made_of_is_refused(
    package: Install, number: str
) -> None:
    assert MADE in STAND_IN
    package(STAND_IN.replace(MADE, f"return found * 0 + {number}"))
    with pytest.raises(InputError, match="'sentence-transformers:some/model' gives vectors with"):
        load_encoder("sentence-transformers:some/model")


@pytest.mark.parametrize("number", ["float('nan')", "1e30", "1e300"])
def test_one_vector_that_no_cosine_can_be_made_of_is_refused(package: Install, number: str) -> None:
    package(STAND_IN.replace(MADE, f"{MADE} * {ODD.format(number)}"))
    encoder = load_encoder("sentence-transformers:some/model")
    for encode in (encoder.encode, encoder.encode_queries):  # type: ignore[attr-defined]
        assert encode(["rain", " "]).any(axis=1).tolist() == [True, False]
        with pytest.raises(InputError, match="gives vectors without a direction"):
            encode(["rain", "\u200b"])


def test_a_text_that_the_model_has_no_token_for_gets_zeros(package: Install) -> None:
    package(STAND_IN.replace(MADE, f"{MADE} * {ODD.format(0)}"))
    encoder = load_encoder("sentence-transformers:some/model")
    for encode in (encoder.encode, encoder.encode_queries):  # type: ignore[attr-defined]
        assert encode(["a", "\u200b"]).any(axis=1).tolist() == [True, False]
        assert not encode(["\u200b"]).any()


def test_a_generation_is_the_weights_the_prompts_and_the_tokenizer(package: Install) -> None:
    def key(text: str = STAND_IN, name: str = "some/model") -> str:
        package(text)
        return load_encoder(f"sentence-transformers:{name}").generation.key

    first = key()
    assert key() == first
    assert key(STAND_IN.replace("[1.0, 2.0]", "[1.0, 2.5]")) != first
    assert key(STAND_IN.replace("ask: ", "find: ")) != first
    assert key(STAND_IN.replace('"cat")', '"dog")')) != first
    assert key(name="other/model") != first


def test_a_folder_is_named_by_its_name_alone(package: Install, tmp_path: Path) -> None:
    package()
    (tmp_path / "mine").mkdir()
    generation = load_encoder(f"sentence-transformers:{tmp_path / 'mine'}").generation
    assert generation.model == "sentence-transformers:mine"


def test_what_cannot_be_loaded_is_told(package: Install) -> None:
    package()
    with pytest.raises(InputError, match=r"cannot load 'no/model' \(OSError: no/model is not a"):
        load_encoder("sentence-transformers:no/model")
    with pytest.raises(InputError, match="has no int8"):
        load_encoder("sentence-transformers:some/model", precision="int8")
    package(STAND_IN.replace("def encode_query", "def encode_old"))
    with pytest.raises(InputError, match="needs sentence-transformers 5 or newer"):
        load_encoder("sentence-transformers:some/model")
    package("import torch_that_is_not_here")
    with pytest.raises(InputError, match=r"cannot be imported \(ModuleNotFoundError.*pip install"):
        load_encoder("sentence-transformers:some/model")


CORPUS = Corpus(
    pl.DataFrame({"doc_id": ["d1", "d2", "d3"], "text": ["gold", "rain gold", "rain rain"]})
)


def ranked(folder: Path, name: str, tables: dict[str, dict[str, Any]]) -> list[str]:
    entries = {}
    for system, table in tables.items():
        kind: Kind = SYSTEMS.load(table["use"])
        config = msgspec.convert({k: v for k, v in table.items() if k != "use"}, kind.config)
        entries[system] = Entry(system, table["use"], config)
    with Pool(entries, CORPUS, folder=folder, cache=folder) as pool:
        return [h.doc_id for h in pool.open(name).search(Query("q", "rain"), 3).hits]


def test_systems_use_it_for_vectors_and_for_pairs(package: Install, tmp_path: Path) -> None:
    package()
    model = "sentence-transformers:some/model"
    tables = {
        "dense": {"use": "dense", "model": model, "fields": ["text"]},
        "best": {"use": "rerank", "of": "dense", "model": model, "fields": ["text"], "depth": 2},
    }
    assert ranked(tmp_path, "dense", tables) == ["d3", "d2", "d1"]
    assert ranked(tmp_path, "best", tables) == ["d3", "d2", "d1"]  # 2 and 1 times rain; d1 behind
    calls = sys.modules["sentence_transformers"].calls
    assert calls.count(("document", ["rain gold", "rain rain", "gold"])) == 1  # kept afterwards
