"""The corpus: what can be found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from searchmark.data.files import sha256
from searchmark.data.records import Records, read_records
from searchmark.errors import InputError, nearest

ID_COLUMNS = ("doc_id", "_id", "id", "docid", "docno", "document_id")


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Documents: `doc_id`, `title`, `text` and any further typed field, in file order.

    `lines` are the lines of the file that they came from, 0 where a format has none.
    """

    frame: pl.DataFrame
    path: Path | None = None
    digest: str = ""
    lines: Sequence[int] = ()

    def __len__(self) -> int:
        return self.frame.height

    @property
    def doc_ids(self) -> list[str]:
        """Identifiers in row order."""
        return self.frame["doc_id"].to_list()

    def texts(self, field: str) -> list[str]:
        """Return one field as text, an entry a document: lists joined by blanks, gaps empty."""
        if field not in self.frame.columns:
            raise InputError(
                f"the corpus has no field '{field}'",
                path=self.path,
                fix=nearest(field, [c for c in self.frame.columns if c != "doc_id"]),
            )
        column = self.frame[field]
        if column.dtype == pl.List(pl.String):
            column = column.list.join(" ")
        return column.cast(pl.String).fill_null("").to_list()

    def joined(self, fields: Sequence[str]) -> list[str]:
        """Return several fields joined by blanks into one text a document."""
        columns = [self.texts(field) for field in fields]
        return [" ".join(filter(None, parts)) for parts in zip(*columns, strict=True)]


def read_corpus(path: Path) -> Corpus:
    """Read documents from JSONL (BEIR layout), JSON, CSV, TSV or Parquet."""
    records = read_records(path)
    if not len(records):
        raise InputError("the corpus is empty", path=path, fix="one document a line")
    id_column = records.require("document id", *ID_COLUMNS)
    ids = records.texts(id_column, "document id")
    check_unique(records, ids, "document id")
    frame = records.frame(leave_out=[id_column])
    missing = [
        pl.Series(n, [None] * len(ids), pl.String)
        for n in ("title", "text")
        if n not in frame.columns
    ]
    frame = pl.DataFrame([pl.Series("doc_id", ids, pl.String), *missing, *frame.get_columns()])
    return Corpus(frame, path, sha256(path), tuple(records.lines))


def check_unique(records: Records, ids: Sequence[str], what: str) -> None:
    """Raise where an identifier occurs twice, naming both lines."""
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for row, identifier in enumerate(ids):
        if identifier in first:
            before = records.lines[first[identifier]]
            raise InputError(
                f"the {what} '{identifier}' occurs twice"
                + (f" (first in line {before})" if before else ""),
                path=records.path,
                line=records.lines[row] or None,
                fix="remove or rename one of them",
            )
        first[identifier] = row
