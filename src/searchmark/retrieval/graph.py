"""A small ONNX graph under construction: nodes in order, constants, and weights kept outside."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

OPSET = 20
"""First version of the standard's operators that has Gelu."""

MICROSOFT = "com.microsoft"
"""Domain of the operators that onnxruntime adds to the standard's."""

UINT8 = 2
"""The standard's number for the type of unsigned bytes."""


class Graph:
    """Collects nodes; `weights` are the arrays that the session gets beside the serialized graph.

    External weights spare a converted copy of the model on disk, and a protobuf has a limit of
    2 GB that they do not count towards.
    """

    def __init__(self) -> None:
        self.weights: dict[str, NDArray[Any]] = {}
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []

    def node(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output and return that output's name."""
        return self.nodes(kind, *inputs, n_outputs=1, domain=domain, **attributes)[0]

    def nodes(
        self, kind: str, *inputs: str, n_outputs: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add an operator and return the names of its outputs."""
        from onnx import helper

        names = [f"{kind}_{len(self._nodes)}_{i}" for i in range(n_outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def constant(self, value: "float | Sequence[int]", dtype: Any = np.int64) -> str:
        """Add a small array that is written into the graph."""
        from onnx import numpy_helper

        name = f"constant_{len(self._initializers)}"
        # np.array keeps a number 0-d; as a 1-d array it would change the ranks of results
        self._initializers.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, name: str, array: NDArray[Any]) -> str:
        """Add a large array that stays outside the graph."""
        from onnx import TensorProto, helper

        self.weights[name] = np.require(array, requirements=["C", "A"])
        tensor = TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            dims=array.shape,
            data_location=TensorProto.EXTERNAL,
        )
        # the format demands a place; no file of this name is ever opened
        for key, value in (("location", "weights"), ("length", str(array.nbytes))):
            tensor.external_data.add(key=key, value=value)
        self._initializers.append(tensor)
        return name

    def serialize(self, output: str, *, inputs: "Sequence[str]", width: int) -> bytes:
        """Return the model: integer inputs [batch, length], one output [batch, length, width]."""
        from onnx import TensorProto, helper

        size = ["batch", "length"]
        model = helper.make_model(
            helper.make_graph(
                self._nodes,
                "encoder",
                [helper.make_tensor_value_info(n, TensorProto.INT64, size) for n in inputs],
                [helper.make_tensor_value_info(output, TensorProto.FLOAT, [*size, width])],
                self._initializers,
            ),
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)],
            ir_version=9,
        )
        return bytes(model.SerializeToString())
