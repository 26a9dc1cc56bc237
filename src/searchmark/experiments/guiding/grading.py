"""The judgments log brought into the qrels, whatever lines they are written in."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from searchmark.data import Qrels, read_qrels
from searchmark.data.files import BOM, kind_of, read_bytes, text_lines, write_atomically
from searchmark.data.qrels import DOC_COLUMNS, GRADE_COLUMNS, QUERY_COLUMNS
from searchmark.data.records import Records, read_records
from searchmark.errors import InputError
from searchmark.experiments.guiding.log import Entry, Pair, decisions
from searchmark.experiments.soundness import shown

NEW = "query_id\tdoc_id\tgrade\n"
"""Qrels that hold nothing yet."""

Changes = Mapping[Pair, int | None]
"""Pair -> its grade; None where it has none any longer."""


class Layout(NamedTuple):
    """How the lines of a qrels file are written."""

    line: Callable[[Pair, int], str]
    end: str


def read_grades(path: Path) -> dict[Pair, int]:
    """Return the judgments of a file; none of one that has only a header."""
    qrels = _read(path)
    if qrels is None:
        return {}
    return {Pair(q, d): g for q, d, g in qrels.frame.iter_rows()}


def changes_of(entries: Sequence[Entry], applied: int) -> dict[Pair, int | None]:
    """Return what the entries after the first `applied` ones change."""
    held = decisions(entries)
    touched = dict.fromkeys(e.pair for e in entries[applied:] if e.act != "skip")
    return {pair: held[pair].grade if pair in held else None for pair in touched}


def apply_changes(path: Path, changes: Changes) -> None:
    """Write judgments into a qrels file, in its own layout; every other line stays as it is."""
    if not changes:
        return
    layout = layout_of(path)
    qrels = _read(path)
    wanted = {pair: grade for pair, grade in changes.items() if grade is not None}
    lines: list[str | None] = [*_lines(path)]
    if qrels is not None:
        for (query_id, doc_id, _), number in zip(qrels.frame.iter_rows(), qrels.lines, strict=True):
            pair = Pair(query_id, doc_id)
            if pair in changes:
                grade = wanted.pop(pair, None)
                lines[number - 1] = None if grade is None else layout.line(pair, grade)
    lines += [layout.line(pair, grade) for pair, grade in wanted.items()]
    text = "".join(line + layout.end for line in lines if line is not None)
    write_atomically(path, lambda stream: stream.write(text.encode()))


def layout_of(path: Path) -> Layout:
    """Return how the lines of a qrels file are written; an InputError where none can be added."""
    with path.open("rb") as stream:
        first = stream.readline()
    is_packed = path.suffix.lower() in (".gz", ".zst", ".zstd")
    if is_packed or kind_of(path) in ("json", "parquet", "pq"):
        raise InputError(
            "judgments cannot be added to a file of this kind",
            path=path,
            fix="save it as .tsv or .jsonl, and name that one in the project file",
        )
    end = "\r\n" if first.endswith(b"\r\n") else "\n"
    return Layout(_writer(path, first.removeprefix(BOM).decode("utf-8", "replace")), end)


def _writer(path: Path, first: str) -> Callable[[Pair, int], str]:
    kind = kind_of(path)
    if kind in ("jsonl", "ndjson"):
        return _json_writer(read_records(path))
    parts = first.split()
    if kind not in ("tsv", "csv") or (len(parts) == 4 and parts[3].lstrip("+-").isdigit()):
        return _trec_line
    return _separated_writer(read_records(path), "\t" if kind == "tsv" else ",")


def _names(records: Records) -> tuple[str, str, str]:
    """Return the columns of query, document and grade; those we would choose in an empty file."""
    if not records.columns:
        return "query_id", "doc_id", "grade"
    return (
        records.require("query id", *QUERY_COLUMNS),
        records.require("document id", *DOC_COLUMNS),
        records.require("grade", *GRADE_COLUMNS),
    )


def _json_writer(records: Records) -> Callable[[Pair, int], str]:
    names = _names(records)

    def line(pair: Pair, grade: int) -> str:
        return msgspec.json.encode(dict(zip(names, (*pair, grade), strict=True))).decode()

    return line


def _separated_writer(records: Records, separator: str) -> Callable[[Pair, int], str]:
    names = _names(records)
    columns = [*records.columns] or [*names]

    def line(pair: Pair, grade: int) -> str:
        values = dict(zip(names, (*pair, str(grade)), strict=True))
        stream = io.StringIO()
        csv.writer(stream, delimiter=separator, lineterminator="").writerow(
            [values.get(c, "") for c in columns]
        )
        return stream.getvalue()

    return line


def _trec_line(pair: Pair, grade: int) -> str:
    if any(len(part.split()) != 1 for part in pair):
        raise InputError(
            f"the ids {shown(pair.query_id)} and {shown(pair.doc_id)} hold a blank, which the "
            "TREC layout of these qrels cannot",
            fix="save the qrels as .tsv with a header: query_id, doc_id, grade",
        )
    return f"{pair.query_id} 0 {pair.doc_id} {grade}"


def _read(path: Path) -> Qrels | None:
    """Return the qrels; None where the file holds no judgment yet."""
    first = [text for _, text in islice(text_lines(path), 2)]
    if not first or (len(first) == 1 and first[0] + "\n" == NEW):
        return None
    return read_qrels(path)


def _lines(path: Path) -> list[str]:
    """Return the lines without their ends, so that a line's number is its place."""
    text = read_bytes(path).removeprefix(BOM).decode("utf-8")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
