"""TREC text: fields apart by white space, one judgment or one retrieved document a line.

White space is ASCII's: a no-break space belongs to an id, as it does for trec_eval.
"""

import re
from pathlib import Path
from typing import NamedTuple

from searchmark.data.files import text_lines
from searchmark.errors import InputError, quoted


class QrelsRows(NamedTuple):
    """Columns of a qrels file, with the line of each row."""

    query_ids: list[str]
    doc_ids: list[str]
    grades: list[int]
    lines: list[int]


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.I
)
_BLANKS = re.compile(r"[ \t\v\f\r]+")


class RunRows(NamedTuple):
    """Columns of a run file, with the line of each row; `tag` is the last line's system name.

    A rank that is no integer is None: nothing looks at it unless ranks decide the order.
    """

    query_ids: list[str]
    doc_ids: list[str]
    ranks: list[int | None]
    scores: list[float]
    lines: list[int]
    tag: str | None


def read_trec_qrels(path: Path) -> QrelsRows:
    """Read ``query iteration document grade`` lines."""
    table = QrelsRows([], [], [], [])
    for number, text in text_lines(path):
        parts = _fields(text)
        if len(parts) != 4:
            raise InputError(
                f"{len(parts)} fields instead of 4",
                path=path,
                line=number,
                fix="a qrels line is: query-id 0 document-id grade",
            )
        table.query_ids.append(parts[0])
        table.doc_ids.append(parts[2])
        table.grades.append(parse_grade(parts[3], path, number))
        table.lines.append(number)
    return table


def read_trec_run(path: Path) -> RunRows:
    """Read ``query Q0 document rank score [tag]`` lines; the tag may be missing."""
    rows = RunRows([], [], [], [], [], None)
    tag, n_fields = None, 0
    for number, text in text_lines(path):
        parts = _fields(text)
        n_fields = n_fields or (5 if len(parts) == 5 else 6)
        if len(parts) != n_fields:
            # a line with fewer fields than those before it was cut off, perhaps inside its score
            raise InputError(
                f"{len(parts)} fields instead of {n_fields}",
                path=path,
                line=number,
                fix="a run line is: query-id Q0 document-id rank score tag",
            )
        rows.query_ids.append(parts[0])
        rows.doc_ids.append(parts[2])
        rows.ranks.append(int(parts[3]) if _INTEGER.fullmatch(parts[3]) else None)
        rows.scores.append(parse_score(parts[4], path, number))
        rows.lines.append(number)
        tag = parts[5] if len(parts) == 6 else tag
    return rows._replace(tag=tag)


def _fields(text: str) -> list[str]:
    return [part for part in _BLANKS.split(text) if part]


def parse_grade(text: str, path: Path, line: int) -> int:
    """Return the integer grade, or say where it is none."""
    if not _INTEGER.fullmatch(text):
        raise InputError(
            f"the grade {quoted(text)} is no integer",
            path=path,
            line=line,
            fix="grades are whole numbers; 0 or less means not relevant",
        )
    return int(text)


def parse_score(text: str, path: Path, line: int) -> float:
    """Return the score as a double; NaN is refused because it has no place in an order."""
    if text.strip().lower().lstrip("+-") == "nan":
        raise InputError(
            "the score is NaN, which cannot be ordered",
            path=path,
            line=line,
            fix="write a number, or leave the document out",
        )
    if not _NUMBER.fullmatch(text):
        raise InputError(f"the score {quoted(text)} is no number", path=path, line=line)
    return float(text)
