"""The query set: what is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from searchmark.data.corpus import check_unique
from searchmark.data.files import sha256
from searchmark.data.filters import Filter, parse_filters
from searchmark.data.records import Records, read_records
from searchmark.errors import InputError

ID_COLUMNS = ("query_id", "_id", "id", "qid", "topic")
TEXT_COLUMNS = ("text", "query", "query_text")
_KNOWN = ("category", "capability", "split", "cluster")


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries: `query_id`, `text`, `category`, ... in file order, and each one's hard filters.

    `filters` says what a right answer must satisfy. It is for measures; no system is shown it.
    """

    frame: pl.DataFrame
    filters: Mapping[str, tuple[Filter, ...]]
    path: Path | None = None
    digest: str = ""

    def __len__(self) -> int:
        return self.frame.height

    @property
    def query_ids(self) -> list[str]:
        """Identifiers in row order."""
        return self.frame["query_id"].to_list()

    @property
    def texts(self) -> list[str]:
        """Query texts in row order."""
        return self.frame["text"].to_list()

    @property
    def categories(self) -> list[str | None]:
        """The category of each query in row order; None where the file gives none."""
        return self.frame["category"].to_list()

    @property
    def clusters(self) -> list[str | None]:
        """What each query is not independent of (a user, a session); None where nothing is said."""
        return self.frame["cluster"].to_list()


def read_queries(path: Path) -> Queries:
    """Read queries from JSONL (BEIR layout), JSON, CSV, TSV or Parquet."""
    records = read_records(path)
    if not len(records):
        raise InputError("the query set is empty", path=path, fix="one query a line")
    id_column = records.require("query id", *ID_COLUMNS)
    text_column = records.require("query text", *TEXT_COLUMNS)
    ids = records.texts(id_column, "query id")
    check_unique(records, ids, "query id")
    texts = _texts(records, text_column, ids)
    frame = records.frame(leave_out=[id_column, text_column, "filters"])
    for name in _KNOWN:
        _check_plain(records, name, ids)
    known = [_text_column(frame, name, len(ids)) for name in _KNOWN]
    columns = [pl.Series("query_id", ids, pl.String), pl.Series("text", texts, pl.String), *known]
    rest = [c for c in frame.get_columns() if c.name not in {x.name for x in columns}]
    return Queries(pl.DataFrame([*columns, *rest]), _filters(records, ids), path, sha256(path))


def _texts(records: Records, column: str, ids: list[str]) -> list[str]:
    values = records.columns[column]
    for row, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise InputError(
                f"the query '{ids[row]}' has no text",
                path=records.path,
                line=records.lines[row] or None,
                fix="give it a text or remove it",
            )
    return list(values)


def _check_plain(records: Records, name: str, ids: list[str]) -> None:
    for row, value in enumerate(records.columns.get(name, ())):
        if isinstance(value, list | dict):
            raise records.error(
                row, f"the {name} of query '{ids[row]}' is {value!r}, not text", fix="give one text"
            )


def _text_column(frame: pl.DataFrame, name: str, n: int) -> pl.Series:
    if name not in frame.columns:
        return pl.Series(name, [None] * n, pl.String)
    return frame[name].cast(pl.String, strict=False)


def _filters(records: Records, ids: list[str]) -> dict[str, tuple[Filter, ...]]:
    found = {}
    for row, value in enumerate(records.columns.get("filters", [])):
        if value is None:
            continue
        try:
            found[ids[row]] = parse_filters(_object(value))
        except (InputError, msgspec.DecodeError) as error:
            raise InputError(
                f"the filters of query '{ids[row]}' are wrong: {error}",
                path=records.path,
                line=records.lines[row] or None,
            ) from error
    return found


def _object(value: Any) -> Mapping[str, object]:
    """Return filters as a mapping; CSV and Parquet carry them as JSON text."""
    decoded = msgspec.json.decode(value) if isinstance(value, str) else value
    if not isinstance(decoded, Mapping):
        raise InputError("not an object", fix='write {"field": "value"}')
    return decoded
