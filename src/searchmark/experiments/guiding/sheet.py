"""Judging without a terminal: a sheet to fill in, and the grades read from one."""

import csv
import io
from collections.abc import Container, Sequence
from pathlib import Path

from searchmark.data.files import write_text_atomically
from searchmark.data.qrels import DOC_COLUMNS, GRADE_COLUMNS, QUERY_COLUMNS
from searchmark.data.records import Records, read_records
from searchmark.diagnosis.documents import Documents
from searchmark.errors import InputError
from searchmark.experiments.guiding.log import Pair
from searchmark.experiments.guiding.pool import QueryPool

NAME = "to-judge.tsv"
COLUMNS = ("query_id", "doc_id", "grade", "query", "document", "text")
GRADES = range(4)

_SHOWN = 300
"""Characters of a document's text in a sheet."""


def write_sheet(
    path: Path, pools: Sequence[QueryPool], decided: Container[Pair], documents: Documents
) -> None:
    """Write the documents that are still to judge, with an empty column for the grades."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for pool in pools:
        for pair in pool.pairs:
            if pair not in decided:
                texts = (pool.text, documents.title(pair.doc_id), _text(documents, pair.doc_id))
                writer.writerow([*pair, "", *map(_plain, texts)])
    write_text_atomically(path, stream.getvalue())


def _text(documents: Documents, doc_id: str) -> str:
    title = documents.title(doc_id)
    texts = (documents.text(doc_id, field) for field in documents.fields)
    return " ".join(t for t in texts if t and t != title)


def _plain(text: str) -> str:
    """Return text on one line that no spreadsheet takes for a formula."""
    line = " ".join(text.split())
    line = line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "\u2026"
    return "'" + line if line[:1] in ("=", "+", "-", "@") else line


def read_sheet(path: Path, query_ids: Container[str], doc_ids: Container[str]) -> dict[Pair, int]:
    """Return the grades of a filled-in sheet, or of any table of judgments.

    A row without a grade says nothing; of a pair that is there twice the last row counts.
    """
    records = read_records(path)
    if not len(records):
        raise InputError("there are no judgments", path=path, fix="one judgment a line")
    queries = records.texts(records.require("query id", *QUERY_COLUMNS), "query id")
    docs = records.texts(records.require("document id", *DOC_COLUMNS), "document id")
    column = records.columns[records.require("grade", *GRADE_COLUMNS)]
    found: dict[Pair, int] = {}
    for row, (query_id, doc_id, value) in enumerate(zip(queries, docs, column, strict=True)):
        if value is None or str(value).strip() == "":
            continue
        _check_known(records, row, "query", query_id, query_ids)
        _check_known(records, row, "document", doc_id, doc_ids)
        found[Pair(query_id, doc_id)] = _grade(records, row, value)
    return found


def _grade(records: Records, row: int, value: object) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or text not in map(str, GRADES):
        raise InputError(
            f"the grade is '{text}'",
            path=records.path,
            line=records.lines[row] or None,
            fix="write 3 (perfect), 2 (relevant), 1 (marginal), 0 (irrelevant) or nothing",
        )
    return int(text)


def _check_known(records: Records, row: int, what: str, value: str, known: Container[str]) -> None:
    if value not in known:
        raise InputError(
            f"there is no {what} '{value}'",
            path=records.path,
            line=records.lines[row] or None,
            fix=f"correct the id of the {what}",
        )
