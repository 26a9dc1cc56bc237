"""Embedding beside a bare onnxruntime loop: sentences a second, and the ratio of the two.

    .venv/bin/python benchmarks/embed.py [texts, 600 by default]

Ours is `load_encoder().encode`, from texts to vectors of length 1. The bare loop runs the same
weights as plain MatMul and Add nodes on a session with two threads, over batches of 32 sorted by
length and padded to the longest; in int8 it runs what onnxruntime's own `quantize_dynamic` makes of
them (MatMul only, per channel). It is spared everything but the runs: its texts are tokenized
before the clock starts, it has no mask to add and pools nothing, so its vectors are not usable and
its figures are an upper bound. The rounds alternate in one process; every round's ratio counts.
"""

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from searchmark.retrieval.bert import BertConfig, build_bert
from searchmark.retrieval.encoders import OnnxEncoder, load_encoder
from searchmark.retrieval.models import find_model, read_json
from searchmark.retrieval.safetensors import read_safetensors

MOVIES = Path(__file__).resolve().parents[2] / "shared" / "data" / "movies"
THREADS = 2
BATCH = 32
ROUNDS = 7


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    with TemporaryDirectory() as folder:
        bare = {"fp32": open_session(plain_model(Path(folder)))}
        bare["int8"] = open_session(quantized_model(Path(folder)))
    print("texts     tokens  precision      ours/s      bare/s   ratio  (least - most)")
    for name, texts in read_texts(n).items():
        for precision in ("fp32", "int8"):
            encoder = load_encoder(precision=precision, threads=THREADS)
            assert isinstance(encoder, OnnxEncoder)
            ids = [t.ids for t in encoder.tokens.read(texts)]
            batches = padded(ids)
            session = bare[precision]
            ours, theirs = alternate(
                lambda e=encoder, t=texts: e.encode(t),
                lambda s=session, b=batches: [s.run(None, {"input_ids": x}) for x in b],
            )
            ratios = [t / o for o, t in zip(ours, theirs, strict=True)]
            print(
                f"{name:9} {np.mean([len(i) for i in ids]):6.1f}  {precision:9} "
                f"{len(texts) / median(ours):11.0f} {len(texts) / median(theirs):11.0f} "
                f"{median(ratios):7.2f}  ({min(ratios):.2f} - {max(ratios):.2f})"
            )


def read_texts(n: int) -> dict[str, list[str]]:
    """Return queries as they are, queries in threes (about 12 tokens), and a tenth of documents."""
    queries = field(MOVIES / "queries.jsonl", "text")
    threes = [" ".join(queries[i : i + 3]) for i in range(0, len(queries) - 2, 3)]
    return {
        "queries": queries[:n],
        "threes": threes[:n],
        "documents": field(MOVIES / "corpus.jsonl", "text")[: n // 10],
    }


def field(path: Path, name: str) -> list[str]:
    """Return one field of every line."""
    return [json.loads(line)[name] for line in path.read_text(encoding="utf-8").splitlines()]


def padded(ids: Sequence[list[int]]) -> list[NDArray[np.int64]]:
    """Return batches of texts of similar length, filled up with zeros."""
    ordered = sorted(ids, key=len)
    batches = []
    for start in range(0, len(ordered), BATCH):
        part = ordered[start : start + BATCH]
        batch = np.zeros((len(part), len(part[-1])), np.int64)
        for row, tokens in enumerate(part):
            batch[row, : len(tokens)] = tokens
        batches.append(batch)
    return batches


def alternate(a: Callable[[], object], b: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Return the seconds of both, a round of one after a round of the other."""
    seconds: tuple[list[float], list[float]] = ([], [])
    a()
    b()
    for _ in range(ROUNDS):
        for run, into in zip((a, b), seconds, strict=True):
            start = perf_counter()
            run()
            into.append(perf_counter() - start)
    return seconds


def plain_model(folder: Path) -> Path:
    """Write the graph as exporters write it: weights inside, MatMul and Add for a linear layer."""
    import onnx

    source = find_model("all-MiniLM-L6-v2").path
    config = read_json(source / "config.json", BertConfig)
    weights = source / "model.safetensors"
    built = build_bert(config, read_safetensors(weights), "fp32", weights)
    model = onnx.load_from_string(built.model)
    arrays = dict(built.weights)
    nodes: list[Any] = []
    for node in model.graph.node:
        if node.op_type != "Gemm":
            nodes.append(node)
            continue
        rows, weight, bias = node.input
        arrays[weight] = np.ascontiguousarray(arrays[weight].T)
        nodes += [
            onnx.helper.make_node("MatMul", [rows, weight], [f"{node.output[0]}_product"]),
            onnx.helper.make_node("Add", [f"{node.output[0]}_product", bias], list(node.output)),
        ]
    inside = [
        onnx.numpy_helper.from_array(arrays[t.name], t.name) if t.name in arrays else t
        for t in model.graph.initializer
    ]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(inside)
    onnx.save(model, folder / "plain.onnx")
    return folder / "plain.onnx"


def quantized_model(folder: Path) -> Path:
    """Write what onnxruntime's quantizer makes of the plain model."""
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_dynamic(
            folder / "plain.onnx",
            folder / "int8.onnx",
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    return folder / "int8.onnx"


def open_session(path: Path) -> Any:
    """Open a model as anybody would."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main()
