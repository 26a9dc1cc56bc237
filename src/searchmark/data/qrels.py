"""The qrels: what was judged, and how well it answers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from searchmark.data.files import kind_of, sha256, text_lines
from searchmark.data.records import RECORD_KINDS, Records, read_records
from searchmark.data.trec import QrelsRows, parse_grade, read_trec_qrels
from searchmark.errors import InputError

QUERY_COLUMNS = ("query_id", "query-id", "qid", "query", "topic")
DOC_COLUMNS = ("doc_id", "corpus-id", "docid", "docno", "document_id", "document", "did")
GRADE_COLUMNS = ("grade", "score", "relevance", "rel", "rating", "label")


@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """Judgments: `query_id`, `doc_id`, `grade` (integer; 0 or less is judged, not relevant)."""

    frame: pl.DataFrame
    path: Path | None = None
    digest: str = ""
    lines: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.frame.height

    @classmethod
    def from_dict(cls, judgments: Mapping[str, Mapping[str, int]]) -> "Qrels":
        """Take query id -> document id -> grade."""
        rows = [(q, d, g) for q, docs in judgments.items() for d, g in docs.items()]
        return cls(_frame([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]))

    def check_documents(self, doc_ids: Iterable[str], *, corpus: Path | None = None) -> None:
        """Raise where a judged document is not in the corpus, with the line of the first one."""
        known = set(doc_ids)
        unknown = [i for i, d in enumerate(self.frame["doc_id"].to_list()) if d not in known]
        if not unknown:
            return
        row = unknown[0]
        query, document = self.frame["query_id"][row], self.frame["doc_id"][row]
        more = f" (and {len(unknown) - 1} more judgments like it)" if len(unknown) > 1 else ""
        raise InputError(
            f"the judged document '{document}' of query '{query}' is not in the corpus"
            + (f" {corpus}" if corpus else "")
            + more,
            path=self.path,
            line=(self.lines[row] or None) if self.lines else None,
            fix="correct the id, or set ignore_missing_documents = true",
        )


def read_qrels(path: Path) -> Qrels:
    """Read judgments: TREC four columns, BEIR TSV, or any table with named columns."""
    rows = _from_records(path) if _has_header(path) else read_trec_qrels(path)
    if not rows.lines:
        raise InputError("there are no judgments", path=path, fix="one judgment a line")
    _check_unique(path, rows)
    frame = _frame(rows.query_ids, rows.doc_ids, rows.grades)
    return Qrels(frame, path, sha256(path), tuple(rows.lines))


def _has_header(path: Path) -> bool:
    kind = kind_of(path)
    if kind in RECORD_KINDS and kind not in {"csv", "tsv"}:
        return True
    first = next(text_lines(path), (0, ""))[1]
    if kind in {"csv", "tsv"}:
        # a TREC file under a .tsv name has four fields and ends in a number
        parts = first.split()
        # with tabs between them, a comma is one of an id
        is_split = "\t" in first or "," not in first
        return not (len(parts) == 4 and parts[3].lstrip("+-").isdigit() and is_split)
    return False


def _from_records(path: Path) -> QrelsRows:
    records = read_records(path)
    if not len(records):
        return QrelsRows([], [], [], [])
    query = records.texts(records.require("query id", *QUERY_COLUMNS), "query id")
    doc = records.texts(records.require("document id", *DOC_COLUMNS), "document id")
    return QrelsRows(query, doc, _grades(records), records.lines)


def _grades(records: Records) -> list[int]:
    values = records.columns[records.require("grade", *GRADE_COLUMNS)]
    return [_grade(value, records, row) for row, value in enumerate(values)]


def _grade(value: Any, records: Records, row: int) -> int:
    """Return a grade that is a whole number, be it written as 2, 2.0 or text."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if -(2**63) <= value < 2**63:
            return value
        raise records.error(row, "the grade is too large for a 64-bit integer")
    try:
        return parse_grade("" if value is None else str(value), records.path, 0)
    except InputError as error:
        raise records.error(row, error.what, fix=error.fix) from None


def _check_unique(path: Path, rows: QrelsRows) -> None:
    pairs = list(zip(rows.query_ids, rows.doc_ids, strict=True))
    if len(set(pairs)) == len(pairs):
        return
    first: dict[tuple[str, str], int] = {}
    for (query, document), line in zip(pairs, rows.lines, strict=True):
        if (query, document) in first:
            raise InputError(
                f"the document '{document}' is judged twice for query '{query}'"
                + (f" (first in line {first[query, document]})" if line else ""),
                path=path,
                line=line or None,
                fix="keep one of the two judgments",
            )
        first[query, document] = line


def _frame(query_ids: list[str], doc_ids: list[str], grades: list[int]) -> pl.DataFrame:
    try:
        grade = pl.Series("grade", grades, pl.Int64)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):
        raise InputError("a grade is too large for a 64-bit integer") from None
    return pl.DataFrame(
        [
            pl.Series("query_id", query_ids, pl.String),
            pl.Series("doc_id", doc_ids, pl.String),
            grade,
        ]
    )
