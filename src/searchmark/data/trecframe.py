"""TREC runs into a frame, column by column: for files that are not in order, or not quite regular.

Tabs, several blanks and CRLF are tidied on the bytes, then Polars reads the columns. Where it does
not find what a run must hold, nothing is returned, and the line-by-line reader has the last word.
"""

import io
from pathlib import Path

import polars as pl

from searchmark.data.files import BOM, read_bytes

_TO_BLANK = bytes.maketrans(b"\t\v\f", b"   ")


def read_regular(path: Path) -> tuple[pl.DataFrame, str | None] | None:
    """Return the run's frame and tag; None where a line is not as it must be."""
    data = read_bytes(path)
    return _read(data) or _read(tidied(data))


def _read(data: bytes) -> tuple[pl.DataFrame, str | None] | None:
    n_columns = data[: data.find(b"\n")].count(b" ") + 1
    if n_columns not in (5, 6):
        return None
    frame = _columns(data, n_columns, pl.Int64())
    if frame is None:
        frame = _columns(data, n_columns, pl.String())
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if frame is None or frame.height != n_lines:
        return None  # a line was passed over, so that rows are not lines any more
    if any(column.null_count() for column in frame.get_columns()) or frame["score"].is_nan().any():
        return None
    tag = str(frame["tag"][-1]) if n_columns == 6 else None
    ranks = pl.col("rank").cast(pl.Int64, strict=False)
    return frame.select("query_id", "doc_id", ranks, "score"), tag


def tidied(data: bytes) -> bytes:
    """Return text whose fields are one blank apart, without blanks at the ends of lines."""
    data = data.removeprefix(BOM)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if any(c in data for c in (b"\t", b"\v", b"\f")):
        data = data.translate(_TO_BLANK)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    if b" \n" in data:
        data = data.replace(b" \n", b"\n")
    if b"\n " in data:
        data = data.replace(b"\n ", b"\n")
    return data.strip(b" ")


def _columns(data: bytes, n_columns: int, rank: pl.DataType) -> pl.DataFrame | None:
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"][:n_columns]
    special = {"score": pl.Float64(), "rank": rank}
    kinds = {n: special.get(n, pl.String()) for n in names}
    try:
        return pl.read_csv(
            io.BytesIO(data),
            separator=" ",
            has_header=False,
            quote_char=None,
            schema=kinds,
            raise_if_empty=True,
            truncate_ragged_lines=False,
        )
    except (pl.exceptions.PolarsError, OSError, UnicodeError):
        return None
