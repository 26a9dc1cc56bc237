"""The graph against a forward pass written in plain NumPy after the paper."""

import os
from collections.abc import Mapping
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.bert import BertConfig, build_bert
from searchmark.retrieval.encoders import OnnxEncoder, load_encoder
from searchmark.retrieval.linear import Precision
from searchmark.retrieval.models import find_model, read_json
from searchmark.retrieval.safetensors import read_safetensors

for library in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(library)

Array = NDArray[np.float64]

TINY = BertConfig(
    vocab_size=50,
    hidden_size=24,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=3,
    max_position_embeddings=16,
    layer_norm_eps=1e-5,
)


def forward(
    ids: list[int], weights: Mapping[str, NDArray[np.float32]], config: BertConfig
) -> Array:
    """Return the last hidden states of one text, in doubles."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    heads, width = config.num_attention_heads, config.hidden_size
    depth, n = width // heads, len(ids)

    def linear(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normalize(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        unit = centred / np.sqrt(variance + config.layer_norm_eps)
        return unit * w[f"{name}.weight"] + w[f"{name}.bias"]

    def split(x: Array) -> Array:
        return x.reshape(n, heads, depth).transpose(1, 0, 2)

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][:n]
    x = normalize(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            split(linear(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / sqrt(depth)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(n, width)
        x = normalize(
            linear(mixed, f"{name}.attention.output.dense") + x,
            f"{name}.attention.output.LayerNorm",
        )
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * (1 + np.vectorize(erf)(inner / sqrt(2))) / 2
        x = normalize(linear(inner, f"{name}.output.dense") + x, f"{name}.output.LayerNorm")
    return x


def random_weights(config: BertConfig, seed: int) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    width, inner = config.hidden_size, config.intermediate_size
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config.vocab_size, width),
        "embeddings.position_embeddings.weight": (config.max_position_embeddings, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        for part, (n_out, n_in) in {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }.items():
            shapes |= {f"{name}.{part}.weight": (n_out, n_in), f"{name}.{part}.bias": (n_out,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{name}.{part}.weight": (width,), f"{name}.{part}.bias": (width,)}
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def run_graph(
    ids: NDArray[np.int64], weights: Mapping[str, NDArray[np.float32]], precision: Precision
) -> NDArray[np.float32]:
    import onnxruntime

    built = build_bert(TINY, weights, precision, Path("weights"))
    options = onnxruntime.SessionOptions()
    options.add_external_initializers(
        list(built.weights),
        [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in built.weights.values()],
    )
    session = onnxruntime.InferenceSession(built.model, options, providers=["CPUExecutionProvider"])
    states: NDArray[np.float32] = session.run(None, {"input_ids": ids})[0]
    return states


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_random_model_equals_the_reference(prefix: str) -> None:
    weights = random_weights(TINY, 1)
    ids = np.random.default_rng(2).integers(0, TINY.vocab_size, (3, 11))
    states = run_graph(ids, {prefix + name: a for name, a in weights.items()}, "fp32")
    expected = np.array([forward(row.tolist(), weights, TINY) for row in ids])
    np.testing.assert_allclose(states, expected, atol=1e-5)


def test_a_random_model_in_integers_is_close_to_the_reference() -> None:
    weights = random_weights(TINY, 3)
    ids = np.random.default_rng(4).integers(0, TINY.vocab_size, (3, 7))
    states = run_graph(ids, weights, "int8").astype(np.float64)
    expected = np.array([forward(row.tolist(), weights, TINY) for row in ids])
    unlike = np.abs(states - expected).max()
    # steps of 1/255 of a row's range and 1/63 of a weight's: not equal, but near
    assert 1e-5 < unlike < 0.1
    cosines = (states * expected).sum(-1) / (
        np.linalg.norm(states, axis=-1) * np.linalg.norm(expected, axis=-1)
    )
    assert cosines.min() > 0.995


def test_the_packaged_model_equals_the_reference() -> None:
    try:
        encoder = load_encoder("all-MiniLM-L6-v2")
    except InputError:
        if os.environ.get("SEARCHMARK_REQUIRE_ALL") == "1":
            raise
        pytest.skip("the model's package is not installed")
    assert isinstance(encoder, OnnxEncoder)
    texts = [
        "is it going to rain tomorrow",
        "Real-time weather forecast and precipitation data for any city",
        "Ärger über 3,50 € (naïve café), 東京!",
        "weather",
        "a long text about nothing in particular " * 60,  # cut at 256 tokens
    ]
    folder = find_model("all-MiniLM-L6-v2").path
    config = read_json(folder / "config.json", BertConfig)
    weights = read_safetensors(folder / "model.safetensors")
    tokenized = encoder.tokens.read(texts)
    assert [len(t.ids) for t in tokenized][-1] == 256
    means = [forward(t.ids, weights, config).mean(axis=0) for t in tokenized]
    expected = np.array([m / np.linalg.norm(m) for m in means])
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)
