import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from searchmark.errors import InputError
from searchmark.retrieval import models
from searchmark.retrieval.encoders import load_encoder
from searchmark.retrieval.static import TEXTS_AT_ONCE

pytest.importorskip("tokenizers")

TABLE = np.array([[0, 0], [3, 0], [0, 4], [-3, 0]], np.float16)
"""Of: unknown, sun, rain, moon."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a package with a table, under the name that is loaded."""
    from tokenizers import Tokenizer, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    folder = tmp_path / "some_static_table"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('must not be imported')")
    write_table(folder, TABLE)
    words = {"[UNK]": 0, "sun": 1, "rain": 2, "moon": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    # a mark before every text, which must be left out
    tokenizer.post_processor = processors.TemplateProcessing(
        single="sun $A", special_tokens=[("sun", 1)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    monkeypatch.syspath_prepend(tmp_path)
    files = ("some_static_table", "table.safetensors", "tokenizer.json")
    monkeypatch.setitem(models.STATIC, "wordllama", files)
    return folder


def write_table(folder: Path, table: NDArray[np.floating], dtype: str = "F16") -> None:
    raw = table.astype({"F16": "<f2", "F32": "<f4"}[dtype]).tobytes()
    entry = {"dtype": dtype, "shape": list(table.shape), "data_offsets": [0, len(raw)]}
    header = json.dumps({"embedding.weight": entry}).encode()
    path = folder / "table.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + raw)


def test_a_text_is_the_direction_of_its_sum(package: Path) -> None:
    vectors = load_encoder("wordllama").encode(["sun rain", "rain", "", " ", "rain rain sun"])
    # (3, 4) / 5; (0, 4) / 4; nothing; blank; (3, 8) / sqrt(73)
    expected = [[0.6, 0.8], [0, 1], [0, 0], [0, 0], np.array([3, 8]) / np.sqrt(73)]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert vectors.dtype == np.float32


def test_words_that_cancel_out_or_are_unknown_have_no_direction(package: Path) -> None:
    vectors = load_encoder("wordllama").encode(["sun moon", "fog"])
    assert vectors.tolist() == [[0, 0], [0, 0]]


def test_vectors_that_single_precision_cannot_measure_are_refused(package: Path) -> None:
    write_table(package, TABLE.astype(np.float32) * 1e30, "F32")  # 3e30 ** 2 is more than 3.4e38
    with pytest.raises(InputError, match="the vectors of the table 'wordllama' are too long"):
        load_encoder("wordllama").encode(["sun"])


def test_order_and_progress_over_several_rounds(package: Path) -> None:
    told: list[tuple[int, int]] = []
    texts = ["sun", "rain", ""] * TEXTS_AT_ONCE
    vectors = load_encoder("wordllama").encode(texts, progress=lambda *now: told.append(now))
    assert vectors.tolist() == [[1, 0], [0, 1], [0, 0]] * TEXTS_AT_ONCE
    n = len(texts)
    assert told == [(TEXTS_AT_ONCE, n), (2 * TEXTS_AT_ONCE, n), (n, n)]


def test_generation(package: Path) -> None:
    encoder = load_encoder("wordllama")
    assert (encoder.generation.model, encoder.generation.dimension) == ("wordllama", 2)
    assert encoder.count_truncated(["sun " * 70_000, "sun"]) == 1
    write_table(package, TABLE * 2)
    assert load_encoder("wordllama").generation.key != encoder.generation.key


def test_what_does_not_fit_is_refused(package: Path) -> None:
    with pytest.raises(InputError, match="has no int8"):
        load_encoder("wordllama", precision="int8")
    write_table(package, TABLE[:3])
    with pytest.raises(InputError, match="knows 4 tokens, the model has vectors for 3"):
        load_encoder("wordllama")
    write_table(package, np.full((4, 2), np.inf, np.float16))
    with pytest.raises(InputError, match="no usable table"):
        load_encoder("wordllama")
    (package / "table.safetensors").unlink()
    with pytest.raises(InputError, match="pip install --no-deps some_static_table"):
        load_encoder("wordllama")
