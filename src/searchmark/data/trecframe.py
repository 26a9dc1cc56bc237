"""TREC runs into a frame, column by column: for files that are not in order, or not quite regular.

Tabs, several blanks and CRLF are tidied on the bytes, then Polars reads the columns. Where it does
not find what a run must hold, nothing is returned, and the line-by-line reader has the last word.
"""

import io
from pathlib import Path

import polars as pl

from searchmark.data.files import read_bytes

_BOM = b"\xef\xbb\xbf"
_TO_BLANK = bytes.maketrans(b"\t\v\f", b"   ")


def read_regular(path: Path) -> tuple[pl.DataFrame, str | None] | None:
    """Return the run's frame and tag; None where a line is not as it must be."""
    data = tidied(read_bytes(path))
    if not data or data.startswith(b"\n") or b"\n\n" in data or b"\r" in data:
        return None
    n_columns = data.split(b"\n", 1)[0].count(b" ") + 1
    if n_columns not in (5, 6):
        return None
    frame = _columns(data, n_columns)
    if frame is None or any(column.null_count() for column in frame.get_columns()[:5]):
        return None
    if frame["score"].is_nan().any() or (frame["rank"] == "").any():
        return None
    tag = str(frame["tag"][-1]) if n_columns == 6 and frame["tag"].null_count() == 0 else None
    if n_columns == 6 and tag is None:
        return None
    ranks = pl.col("rank").cast(pl.Int64, strict=False)
    return frame.select("query_id", "doc_id", ranks, "score"), tag


def tidied(data: bytes) -> bytes:
    """Return text whose fields are one blank apart, without blanks at the ends of lines."""
    data = data.removeprefix(_BOM)
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


def _columns(data: bytes, n_columns: int) -> pl.DataFrame | None:
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"][:n_columns]
    kinds = {n: pl.Float64 if n == "score" else pl.String for n in names}
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
