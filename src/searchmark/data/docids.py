"""Document ids of the judgments, as text for tables and as bytes for the reader of raw files."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

SEED = 7
"""Of the hashes of ids in Polars columns: any number, but one for judgments and runs."""

PAD = 64
"""Zero bytes behind a buffer, so that windows of 8 to 32 bytes may start at any field."""


class Packed(NamedTuple):
    """Texts in one buffer of bytes: entry i is ``buffer[start[i] : start[i] + length[i]]``."""

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]


class DocIds:
    """The ids of judged documents, one a row; each form is made when it is first needed."""

    def __init__(self, *, series: "pl.Series | None" = None, packed: Packed | None = None) -> None:
        self._series, self._packed = series, packed

    @cached_property
    def series(self) -> "pl.Series":
        """The ids as a Polars column."""
        if self._series is not None:
            return self._series
        import polars as pl

        if not len(self):
            return pl.Series("doc_id", [], pl.String)
        lines = pl.Series("doc_id", [self._lines()], pl.String)
        return lines.str.split("\n").explode()

    @cached_property
    def packed(self) -> Packed:
        """The ids as bytes."""
        return self._packed if self._packed is not None else pack(self.series.to_list())

    def of(self, rows: NDArray[np.int64]) -> "DocIds":
        """Return the ids of some rows."""
        if self._packed is None:
            return DocIds(series=self.series[rows])
        buffer, start, length = self._packed
        return DocIds(packed=Packed(buffer, start[rows], length[rows]))

    def _lines(self) -> str:
        """Return the ids one a line, put together from their bytes; none has a line end in it."""
        buffer, start, length = self.packed
        size = length + 1
        end = np.cumsum(size)
        found = buffer[np.arange(end[-1]) + np.repeat(start - (end - size), size)]
        found[end - 1] = ord("\n")
        return bytes(found[:-1]).decode()

    def __len__(self) -> int:
        return len(self._packed.start if self._packed is not None else self.series)

    def __getitem__(self, row: int) -> str:
        if self._packed is None:
            return str(self.series[int(row)])
        at = int(self._packed.start[row])
        return self._packed.buffer[at : at + int(self._packed.length[row])].tobytes().decode()


def pack(texts: Sequence[str]) -> Packed:
    """Return texts packed as UTF-8."""
    encoded = [t.encode() for t in texts]
    length = np.fromiter(map(len, encoded), np.int64, len(encoded))
    start = np.cumsum(length) - length
    return Packed(padded(b"".join(encoded)), start, length)


def padded(data: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array with `PAD` zeros behind them."""
    buffer = np.zeros(len(data) + PAD, np.uint8)
    buffer[: len(data)] = np.frombuffer(data, np.uint8)
    return buffer
