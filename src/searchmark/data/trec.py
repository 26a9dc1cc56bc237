"""TREC text: fields apart by white space, one judgment or one retrieved document a line."""

from pathlib import Path
from typing import NamedTuple

from searchmark.data.files import text_lines
from searchmark.errors import InputError


class QrelsRows(NamedTuple):
    """Columns of a qrels file, with the line of each row."""

    query_ids: list[str]
    doc_ids: list[str]
    grades: list[int]
    lines: list[int]


class RunRows(NamedTuple):
    """Columns of a run file, with the line of each row; `tag` is the last line's system name."""

    query_ids: list[str]
    doc_ids: list[str]
    ranks: list[int]
    scores: list[float]
    lines: list[int]
    tag: str | None


def read_trec_qrels(path: Path) -> QrelsRows:
    """Read ``query iteration document grade`` lines."""
    table = QrelsRows([], [], [], [])
    for number, text in text_lines(path):
        parts = text.split()
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
    tag = None
    for number, text in text_lines(path):
        parts = text.split()
        if len(parts) not in (5, 6):
            raise InputError(
                f"{len(parts)} fields instead of 6",
                path=path,
                line=number,
                fix="a run line is: query-id Q0 document-id rank score tag",
            )
        rows.query_ids.append(parts[0])
        rows.doc_ids.append(parts[2])
        rows.ranks.append(_parse_rank(parts[3], path, number))
        rows.scores.append(parse_score(parts[4], path, number))
        rows.lines.append(number)
        tag = parts[5] if len(parts) == 6 else tag
    return rows._replace(tag=tag)


def parse_grade(text: str, path: Path, line: int) -> int:
    """Return the integer grade, or say where it is none."""
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"the grade '{text}' is no integer",
            path=path,
            line=line,
            fix="grades are whole numbers; 0 or less means not relevant",
        ) from None


def parse_score(text: str, path: Path, line: int) -> float:
    """Return the score as a double; NaN is refused because it has no place in an order."""
    try:
        score = float(text)
    except ValueError:
        raise InputError(f"the score '{text}' is no number", path=path, line=line) from None
    if score != score:
        raise InputError(
            "the score is NaN, which cannot be ordered",
            path=path,
            line=line,
            fix="write a number, or leave the document out",
        )
    return score


def _parse_rank(text: str, path: Path, line: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"the rank '{text}' is no integer", path=path, line=line) from None
