"""A linear layer in an ONNX graph, in two precisions.

``fp32`` multiplies as the model was trained. ``int8`` multiplies integers: each token's activations
are mapped to 0..255 by a scale and a zero point of their own, the weights of each output to
-63..63. The usual dynamic quantization has one scale for a whole batch, which makes a text's vector
depend on the texts beside it; here it depends on the text alone. Weights have seven bits because
the sum of two products must fit into 16 bits on CPUs without VNNI instructions: with eight bits it
is cut off there, and results differ from CPU to CPU.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.retrieval.graph import MICROSOFT, UINT8, Graph

Precision = Literal["fp32", "int8"]

_TINY = 1e-30
"""Least scale, so that a row or an output of zeros divides by something."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer's name in the graph, its weight [outputs, inputs] and its bias [outputs]."""

    name: str
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]


def multiply_floats(graph: Graph, rows: str, layer: Layer, least: float | None = None) -> str:
    """Write ``rows @ weight.T + bias``."""
    weight = graph.weight(f"{layer.name}.weight", layer.weight)
    return graph.node(
        "Gemm", rows, weight, graph.weight(f"{layer.name}.bias", layer.bias), transB=1
    )


def multiply_integers(graph: Graph, rows: str, layer: Layer, least: float | None = None) -> str:
    """Write ``rows @ weight.T + bias`` over integers.

    With a row's scale s, its zero point z, its integers q and integer weights W in steps of t:
    ``s * (q - z) @ W * t = s * (q @ W * t) - (s * z) * (sums(W) * t)``. The second term and the
    bias are one product of two columns with two rows. `least` is a bound that no value of `rows`
    lies below, where one is known; finding it costs a pass over them.
    """
    integers, scale, columns = _quantize(graph, rows, least)
    whole, step = quantize_weight(layer.weight)
    sums = -(whole.sum(axis=1, dtype=np.int32) * step).astype(np.float32)
    product = graph.node(
        "MatMulIntegerToFloat",
        integers,
        graph.weight(f"{layer.name}.integers", whole.T),
        graph.constant(1.0, np.float32),
        graph.weight(f"{layer.name}.step", step),
        graph.constant(0, np.uint8),
        domain=MICROSOFT,
    )
    shifts = graph.weight(f"{layer.name}.shifts", np.stack([sums, layer.bias]))
    return graph.node("Gemm", columns, shifts, graph.node("Mul", product, scale))


def quantize_weight(
    weight: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a weight to integers.

    Parameters
    ----------
    weight
        Shape [outputs, inputs].

    Returns
    -------
    Integers from -63 to 63 of the same shape, and the step of each output: ``weight`` is about
    ``integers * step[:, None]``.

    Examples
    --------
    >>> integers, step = quantize_weight(np.array([[6.3, -0.3]], np.float32))
    >>> integers.tolist(), round(float(step[0]), 6)
    ([[63, -3]], 0.1)
    """
    largest = np.abs(weight).max(axis=1)
    step = np.maximum(largest, np.float32(_TINY)) / np.float32(63)
    return np.rint(weight / step[:, None]).astype(np.int8), step


def _quantize(graph: Graph, rows: str, least: float | None) -> tuple[str, str, str]:
    """Map each row to 0..255; return integers, scales, and columns: scale times zero point, one."""
    node, axis = graph.node, graph.constant([1])
    zero, tiny = graph.constant(0.0, np.float32), graph.constant(_TINY, np.float32)
    # zero lies within the range, so that the zero point lies within 0..255
    high = node("Max", node("ReduceMax", rows, axis, keepdims=0), zero)
    if least is None:
        low = node("Min", node("ReduceMin", rows, axis, keepdims=0), zero)
    else:
        low = graph.constant(min(least, 0.0), np.float32)
    share = graph.constant(1 / 255, np.float32)
    scale = node("Max", node("Mul", node("Sub", high, low), share), tiny)
    point = node("Round", node("Neg", node("Div", low, scale)))
    integers = node("QuantizeLinear", rows, scale, node("Cast", point, to=UINT8), axis=0)
    column = node("Unsqueeze", scale, axis)
    offset = node("Mul", column, node("Unsqueeze", point, axis))
    return integers, column, node("Concat", offset, node("Div", column, column), axis=1)
