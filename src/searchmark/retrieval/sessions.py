"""Models opened in onnxruntime: from a BERT's weights, or from a file in the ONNX format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval.bert import BertConfig, build_bert, check_config
from searchmark.retrieval.lengths import lengths
from searchmark.retrieval.linear import Precision
from searchmark.retrieval.models import Pooling, read_json, read_max_length, read_pooling
from searchmark.retrieval.safetensors import read_safetensors

Floats = NDArray[np.float32]

_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_POOLED = "sentence_embedding"


@dataclass(frozen=True, slots=True)
class Model:
    """What a model's folder holds; `bert` is None where it is run from an ONNX file."""

    folder: Path
    files: tuple[Path, ...]
    bert: BertConfig | None
    pooling: Pooling
    max_length: int
    vocabulary: int | None


class _Sizes(msgspec.Struct):
    model_type: str = ""
    max_position_embeddings: int | None = None
    vocab_size: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Runner:
    """An open session; `pooling` is "model" where the model makes the sentence's vector itself."""

    session: Any
    inputs: tuple[str, ...]
    output: str
    pooling: str
    dimension: int
    path: Path

    def run(self, ids: NDArray[np.int64]) -> Floats:
        """Return the vectors, of length 1, of texts given as tokens [n_texts, length]."""
        feed = {name: _input(name, ids) for name in self.inputs}
        states: Floats = self.session.run([self.output], feed)[0]
        vectors = _pool(states, self.pooling)
        norms = lengths(vectors)
        if not np.isfinite(norms).all() or not norms.all():
            raise InputError("the model gives vectors without a direction", path=self.path)
        unit: Floats = vectors / norms
        return unit


def read_model(folder: Path) -> Model:
    """Read what lies in a model's folder; the weights of a BERT go before a converted file."""
    config, weights = folder / "config.json", folder / "model.safetensors"
    sizes = read_json(config, _Sizes) if config.is_file() else _Sizes()
    pooling = read_pooling(folder)
    converted = next(
        (p for p in (folder / "onnx" / "model.onnx", folder / "model.onnx") if p.is_file()), None
    )
    if converted is not None and not (weights.is_file() and sizes.model_type == "bert"):
        # weights too large for the file itself lie beside it, as model.onnx_data or alike
        files = tuple(sorted(p for p in converted.parent.glob("model.onnx*") if p.is_file()))
        length = read_max_length(folder, sizes.max_position_embeddings or 512)
        return Model(folder, files, None, pooling, length, sizes.vocab_size)
    if not weights.is_file():
        raise InputError("the folder holds no model.safetensors and no model.onnx", path=folder)
    bert = read_json(config, BertConfig)
    check_config(bert, config)
    length = read_max_length(folder, bert.max_position_embeddings)
    return Model(folder, (weights,), bert, pooling, length, bert.vocab_size)


def open_runner(model: Model, precision: Precision) -> Runner:
    """Open a model for running on one thread.

    Raises
    ------
    InputError
        The weights are damaged or do not fit the configuration, or int8 is asked of an ONNX file.
    """
    if model.bert is not None:
        return _open_bert(model, model.bert, precision)
    if precision != "fp32":
        raise InputError(
            f"an ONNX file runs as it is, not in {precision}",
            path=model.folder,
            fix="use precision fp32, or give a folder with a BERT's model.safetensors",
        )
    return _open_onnx(model)


def _open_bert(model: Model, config: BertConfig, precision: Precision) -> Runner:
    path = model.files[0]
    built = build_bert(config, read_safetensors(path), precision, path)
    session = _session(built.model, path, built.weights)
    output = session.get_outputs()[0].name
    return Runner(session, ("input_ids",), output, model.pooling, config.hidden_size, path)


def _open_onnx(model: Model) -> Runner:
    path = next(p for p in model.files if p.suffix == ".onnx")
    session = _session(str(path), path)
    inputs = tuple(i.name for i in session.get_inputs())
    if not {"input_ids"} <= set(inputs) <= _INPUTS:
        raise InputError(
            f"the model wants the inputs {', '.join(inputs)}; "
            f"only {', '.join(sorted(_INPUTS))} can be given",
            path=path,
        )
    shapes = {o.name: o.shape for o in session.get_outputs()}
    output = _POOLED if _POOLED in shapes else next(iter(shapes))
    rank, width = len(shapes[output] or ()), (shapes[output] or [None])[-1]
    if rank not in {2, 3} or not isinstance(width, int):
        raise InputError(f"output '{output}' is neither vectors nor states of tokens", path=path)
    return Runner(session, inputs, output, model.pooling if rank == 3 else "model", width, path)


def _session(
    model: bytes | str, path: Path, weights: Mapping[str, NDArray[Any]] | None = None
) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # one would be kept for every shape ever seen
    options.log_severity_level = 3
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in weights.values()]
        options.add_external_initializers(list(weights), values)
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common base
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"onnxruntime cannot open the model ({first})", path=path) from None


def _input(name: str, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    if name == "input_ids":
        return ids
    return np.ones_like(ids) if name == "attention_mask" else np.zeros_like(ids)


def _pool(states: Floats, pooling: str) -> Floats:
    pooled: Floats = states
    if pooling == "mean":
        pooled = states.mean(axis=1)
    elif pooling == "cls":
        pooled = states[:, 0]
    elif pooling == "max":
        pooled = states.max(axis=1)
    return pooled
