import json
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searchmark.errors import InputError
from searchmark.retrieval.safetensors import read_safetensors

HEADER = json.dumps(
    {
        "a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
    }
).encode()
VALID = len(HEADER).to_bytes(8, "little") + HEADER + bytes(12)

quiet = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def read_or_refuse(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    try:
        arrays = read_safetensors(path)
    except InputError:
        return
    # what is read lies inside the file
    assert sum(a.size for a in arrays.values()) <= len(raw)
    assert all(a.dtype == np.float32 for a in arrays.values())


@quiet
@given(raw=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path: Path, raw: bytes) -> None:
    read_or_refuse(tmp_path / "w", raw)


@quiet
@given(place=st.integers(0, len(VALID) - 1), byte=st.integers(0, 255), end=st.integers(0, 300))
def test_a_changed_or_cut_file_is_read_or_refused(
    tmp_path: Path, place: int, byte: int, end: int
) -> None:
    read_or_refuse(tmp_path / "w", (VALID[:place] + bytes([byte]) + VALID[place + 1 :])[:end])
