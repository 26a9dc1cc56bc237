import json
from pathlib import Path

import numpy as np
import pytest

from searchmark.errors import InputError
from searchmark.retrieval.safetensors import read_safetensors


def write(path: Path, header: object, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: str, shape: list[int], first: int, last: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, last]}


def test_floats_of_every_width_are_read_and_integers_are_not(tmp_path: Path) -> None:
    # bfloat16 is the upper half of a float32: 1.5 is 0x3FC00000
    data = (
        np.array([[1, 2, 3]], "<f4").tobytes()
        + np.array([0.5, -2], "<f2").tobytes()
        + bytes([0xC0, 0x3F])
        + np.array([7], "<i8").tobytes()
        + np.array(0.25, "<f8").tobytes()
    )
    header = {
        "__metadata__": {"format": "pt"},
        "wide": entry("F32", [1, 3], 0, 12),
        "half": entry("F16", [2], 12, 16),
        "brain": entry("BF16", [1], 16, 18),
        "whole": entry("I64", [1], 18, 26),
        "double": entry("F64", [], 26, 34),
    }
    arrays = read_safetensors(write(tmp_path / "w", header, data))
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "wide": [[1, 2, 3]],
        "half": [0.5, -2],
        "brain": [1.5],
        "double": 0.25,
    }
    assert all(a.dtype == np.float32 and a.flags.aligned for a in arrays.values())


def test_arrays_at_odd_places_are_aligned(tmp_path: Path) -> None:
    header = b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]}}'
    path = write(tmp_path / "w", header, b"x" + np.array([1, 2], "<f4").tobytes())
    array = read_safetensors(path)["a"]
    assert array.tolist() == [1, 2]
    assert array.flags.aligned


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"{", "no JSON object"),
        (b"[1]", "no JSON object"),
        (b"\xff\xfe", "no JSON object"),
        (b"[" * 100_000, "no JSON object"),
        ({"a": 3}, "entry of 'a'"),
        ({"a": {"dtype": "F32", "shape": [1]}}, "entry of 'a'"),
        ({"a": entry("F32", [-1], 0, 4)}, "entry of 'a'"),
        ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}}, "entry of 'a'"),
        ({"a": entry("F32", [2], 0, 8)}, "outside the file"),
        ({"a": entry("F32", [1], 4, 0)}, "outside the file"),
        ({"a": entry("F32", [2], 0, 4)}, "another size"),
        ({"a": entry("F32", [2**40, 2**40], 0, 4)}, "another size"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, header: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read_safetensors(write(tmp_path / "w.safetensors", header, b"\0\0\0\0"))
    assert str(tmp_path / "w.safetensors") in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"123", b"\xff" * 8, (50).to_bytes(8, "little") + b"{}"])
def test_a_file_without_room_for_its_header_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "w").write_bytes(raw)
    with pytest.raises(InputError):
        read_safetensors(tmp_path / "w")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_safetensors(tmp_path / "none")
