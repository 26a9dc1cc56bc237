"""Weights of a model from a safetensors file, memory-mapped and never trusted.

The file is an 8-byte little-endian length, a JSON header of that length, and raw little-endian
arrays that the header points into.
"""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from searchmark.errors import InputError

HEADER_LIMIT = 100_000_000
"""Longest header that is read, in bytes; the format's own limit."""

_ITEM = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}

_Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[_Natural]
    data_offsets: tuple[_Natural, _Natural]


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """Return the floating-point arrays of a file by name; integers and booleans are left out.

    Parameters
    ----------
    path
        The file. 32-bit arrays stay in the file (memory-mapped, read-only); 64-bit and 16-bit ones
        are converted.

    Returns
    -------
    Arrays in 32-bit floats, by name.

    Raises
    ------
    InputError
        The file cannot be read, or its header is not what the format says.
    """
    try:
        data = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise InputError(f"the weights cannot be read ({error})", path=path) from None
    return dict(_arrays(path, data))


def _arrays(path: Path, data: NDArray[np.uint8]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    start, header = _header(path, data)
    for name, raw in header.items():
        if name == "__metadata__":
            continue
        entry = _entry(path, name, raw, len(data) - start)
        if entry is not None:
            first, last = entry.data_offsets
            yield name, _floats(data[start + first : start + last], entry)


def _header(path: Path, data: NDArray[np.uint8]) -> tuple[int, dict[str, msgspec.Raw]]:
    """Return where the arrays start, and the header's entries still undecoded."""
    length = int.from_bytes(data[:8].tobytes(), "little") if len(data) >= 8 else -1
    if not 0 <= length <= min(len(data) - 8, HEADER_LIMIT):
        raise _broken(path, "its header does not fit into the file")
    try:
        header = msgspec.json.decode(data[8 : 8 + length].tobytes(), type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _broken(path, f"its header is no JSON object ({error})") from None
    return 8 + length, header


def _entry(path: Path, name: str, raw: msgspec.Raw, size: int) -> _Entry | None:
    """Return one checked entry; None where the array holds no floats."""
    try:
        entry = msgspec.json.decode(raw, type=_Entry)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _broken(path, f"the entry of '{name}' is malformed ({error})") from None
    first, last = entry.data_offsets
    if not first <= last <= size:
        raise _broken(path, f"'{name}' lies outside the file")
    if entry.dtype not in _ITEM:
        return None
    if last - first != prod(entry.shape) * _ITEM[entry.dtype]:
        raise _broken(path, f"'{name}' has another size than its shape says")
    return entry


def _floats(raw: NDArray[np.uint8], entry: _Entry) -> NDArray[np.float32]:
    if entry.dtype == "BF16":  # the upper half of a 32-bit float
        wide = raw.view("<u2").astype("<u4") << 16
        array = wide.view("<f4")
    else:
        array = raw.view(f"<f{_ITEM[entry.dtype]}")
    # onnxruntime wants aligned memory, which a header of odd length does not give
    return np.require(array.astype(np.float32, copy=False), requirements=["C", "A"]).reshape(
        entry.shape
    )


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"this is no usable safetensors file: {why}", path=path, fix="fetch the model again"
    )
