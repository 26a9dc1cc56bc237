"""A BERT encoder as an ONNX graph, written from its weights without a converted file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.graph import Graph
from searchmark.retrieval.linear import Layer, Precision, multiply_floats, multiply_integers

Weights = Mapping[str, NDArray[np.float32]]

_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]


class _Activation(NamedTuple):
    """An operator, its attributes, and a number that its results never lie below."""

    operator: str
    attributes: Mapping[str, str]
    least: float


_GELU = _Activation("Gelu", {}, -0.1701)
_TANH_GELU = _Activation("Gelu", {"approximate": "tanh"}, -0.1701)

_ACTIVATIONS = {
    "gelu": _GELU,
    "gelu_new": _TANH_GELU,
    "gelu_pytorch_tanh": _TANH_GELU,
    "relu": _Activation("Relu", {}, 0.0),
}


class BertConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a model's ``config.json`` that shapes the graph."""

    model_type: str = "bert"
    vocab_size: _Count
    hidden_size: _Count
    intermediate_size: _Count
    num_hidden_layers: _Count
    num_attention_heads: _Count
    max_position_embeddings: _Count
    layer_norm_eps: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1e-12
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A serialized graph and the arrays that belong to it."""

    model: bytes
    weights: Mapping[str, NDArray[Any]]


def check_config(config: BertConfig, path: Path) -> None:
    """Refuse models that this graph would compute wrongly."""
    if config.model_type != "bert":
        raise InputError(
            f"the model is of type '{config.model_type}', not 'bert'",
            path=path,
            fix="give a folder with model.onnx, which may be of any type",
        )
    if config.hidden_act not in _ACTIVATIONS:
        raise InputError(f"unknown activation '{config.hidden_act}'", path=path)
    if config.position_embedding_type != "absolute":
        raise InputError(
            f"positions of type '{config.position_embedding_type}' are not supported", path=path
        )
    if config.hidden_size % config.num_attention_heads:
        raise InputError(
            f"{config.num_attention_heads} attention heads do not divide "
            f"a width of {config.hidden_size}",
            path=path,
        )


def build_bert(config: BertConfig, weights: Weights, precision: Precision, path: Path) -> Built:
    """Write the encoder's graph.

    Parameters
    ----------
    config
        Sizes, checked by `check_config`.
    weights
        Arrays by their names in the file, with or without the prefix ``bert.``; linear layers are
        stored [outputs, inputs].
    precision
        How linear layers multiply.
    path
        The weights' file, for messages.

    Returns
    -------
    A graph with one input ``input_ids`` (int64 [batch, length], every text exactly `length` tokens
    long: there is no mask) and one output, the last hidden states (float32 [batch, length,
    hidden_size]).

    Raises
    ------
    InputError
        A tensor is missing or has another shape than the configuration says.

    References
    ----------
    Devlin, Chang, Lee, Toutanova: BERT. NAACL 2019.
    """
    plain = {name.removeprefix("bert."): array for name, array in weights.items()}
    return _Writer(config, plain, precision, path).build()


class _Writer:
    """One graph being written; the methods follow the model from the tokens upwards."""

    def __init__(
        self, config: BertConfig, weights: Weights, precision: Precision, path: Path
    ) -> None:
        self.config, self.weights, self.path = config, weights, path
        self.graph = Graph()
        self.multiply = multiply_integers if precision == "int8" else multiply_floats
        self.first_axis = self.graph.constant([0])
        self.rows = self.graph.constant([-1, config.hidden_size])

    def build(self) -> Built:
        """Write everything; between the layers, texts lie below each other as rows of tokens."""
        node, width = self.graph.node, self.config.hidden_size
        size = node("Shape", "input_ids")
        rows = node("Reshape", self._embeddings(), self.rows)
        for layer in range(self.config.num_hidden_layers):
            rows = self._layer(f"encoder.layer.{layer}", rows, size)
        shape = node("Concat", size, self.graph.constant([width]), axis=0)
        output = node("Reshape", rows, shape)
        model = self.graph.serialize(output, inputs=["input_ids"], width=width)
        return Built(model, self.graph.weights)

    def _embeddings(self) -> str:
        config, node = self.config, self.graph.node
        width = config.hidden_size
        words = self._tensor("embeddings.word_embeddings.weight", config.vocab_size, width)
        kinds = self._tensor("embeddings.token_type_embeddings.weight", None, width)
        places = self._tensor(
            "embeddings.position_embeddings.weight", config.max_position_embeddings, width
        )
        found = node("Gather", self.graph.weight("words", words), "input_ids")
        # one text a sequence, so every token is of the first kind
        table = self.graph.weight("places", places + kinds[0])
        length = node("Shape", "input_ids", start=1, end=2)
        place = node("Slice", table, self.first_axis, length, self.first_axis)
        return self._normalize("embeddings.LayerNorm", node("Add", found, place))

    def _layer(self, name: str, rows: str, size: str) -> str:
        node, config = self.graph.node, self.config
        width, inner = config.hidden_size, config.intermediate_size
        mixed = self._attend(name, rows, size)
        mixed = self._linear([f"{name}.attention.output.dense"], (width, width), mixed)
        rows = self._normalize(f"{name}.attention.output.LayerNorm", node("Add", mixed, rows))
        wide = self._linear([f"{name}.intermediate.dense"], (inner, width), rows)
        operator, attributes, least = _ACTIVATIONS[config.hidden_act]
        wide = node(operator, wide, **attributes)
        narrow = self._linear([f"{name}.output.dense"], (width, inner), wide, least)
        return self._normalize(f"{name}.output.LayerNorm", node("Add", narrow, rows))

    def _attend(self, name: str, rows: str, size: str) -> str:
        node, heads, width = (
            self.graph.node,
            self.config.num_attention_heads,
            self.config.hidden_size,
        )
        depth = width // heads
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        shape = node("Concat", size, self.graph.constant([3, heads, depth]), axis=0)
        split = node("Reshape", self._linear(parts, (width, width), rows), shape)
        split = node("Transpose", split, perm=[2, 0, 3, 1, 4])  # part, text, head, token, depth
        three = self.graph.nodes("Split", split, n_outputs=3, axis=0, num_outputs=3)
        query, key, value = (node("Squeeze", part, self.first_axis) for part in three)
        scores = node("MatMul", query, node("Transpose", key, perm=[0, 1, 3, 2]))
        scale = self.graph.constant(depth**-0.5, np.float32)
        shares = node("Softmax", node("Mul", scores, scale), axis=-1)
        merged = node("Transpose", node("MatMul", shares, value), perm=[0, 2, 1, 3])
        return node("Reshape", merged, self.rows)

    def _normalize(self, name: str, x: str) -> str:
        width = self.config.hidden_size
        scale = self.graph.weight(f"{name}.weight", self._tensor(f"{name}.weight", width))
        shift = self.graph.weight(f"{name}.bias", self._tensor(f"{name}.bias", width))
        epsilon = self.config.layer_norm_eps
        return self.graph.node("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def _linear(
        self, names: list[str], shape: tuple[int, int], rows: str, least: float | None = None
    ) -> str:
        """Write one multiplication for the layers `names`, their outputs side by side."""
        weights = [self._tensor(f"{name}.weight", *shape) for name in names]
        biases = [self._tensor(f"{name}.bias", shape[0]) for name in names]
        layer = Layer(names[0], np.concatenate(weights), np.concatenate(biases))
        return self.multiply(self.graph, rows, layer, least)

    def _tensor(self, name: str, *shape: int | None) -> NDArray[np.float32]:
        """Return a tensor of the file after checking its shape; None matches any size above 0."""
        if name not in self.weights:
            raise InputError(f"the weights have no tensor '{name}'", path=self.path)
        array = self.weights[name]
        fits = array.ndim == len(shape) and all(
            have == want if want else have > 0
            for have, want in zip(array.shape, shape, strict=True)
        )
        if not fits:
            raise InputError(
                f"tensor '{name}' has shape {list(array.shape)}, "
                f"the configuration says {[n or 'any' for n in shape]}",
                path=self.path,
            )
        return array
