"""The run: one system's rankings over the queries."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from searchmark.data.columns import Source, Wanted, typed
from searchmark.data.files import kind_of, text_lines, write_text_atomically
from searchmark.data.numerals import finite_number
from searchmark.data.qrels import DOC_COLUMNS, QUERY_COLUMNS
from searchmark.data.rawtext import Irregular
from searchmark.data.records import RECORD_KINDS, UNREADABLE, Records, read_parquet, read_records
from searchmark.data.trec import parse_score, read_trec_run
from searchmark.data.trecframe import read_regular
from searchmark.errors import InputError, quoted

PIECE = 1 << 19
"""Rows of a Parquet file that are read at a time."""

SCORE_COLUMNS = ("score", "sim", "similarity")

_TOKENS_FIX = "leave it empty where nobody counted them"

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Retrieved documents: `query_id`, `doc_id`, `score`, perhaps `rank` (from 1) and `tokens`.

    The rows stand as they were given; which order counts is decided by `hits`, nowhere else.
    `empty` are the queries that were answered with nothing; only dicts can tell.
    """

    frame: pl.DataFrame
    name: str = "run"
    path: Path | None = None
    lines: Sequence[int] = ()
    empty: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.frame.height

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], name: str = "run") -> "Run":
        """Take query id -> document id -> score."""
        rows = [(q, d, float(s)) for q, docs in scores.items() for d, s in docs.items()]
        frame = run_frame([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
        return cls(frame, name, empty=tuple(q for q, docs in scores.items() if not docs))

    def write_trec(self, path: Path) -> None:
        """Write six-column TREC text with scores that read back to the same doubles."""
        tag = "_".join(self.name.split()) or "run"
        for column in ("query_id", "doc_id"):
            spaced = self.frame.filter(pl.col(column).str.contains(r"\s"))[column]
            if len(spaced):
                raise InputError(
                    f"the id '{spaced[0]}' has white space, which TREC files cannot carry",
                    path=path,
                    fix="write Parquet or JSONL instead",
                )
        rows = with_rank(self.frame).select("query_id", "doc_id", "rank", "score").iter_rows()
        write_text_atomically(path, "".join(f"{q} Q0 {d} {r} {s!r} {tag}\n" for q, d, r, s in rows))


def run_frame(
    query_ids: list[str],
    doc_ids: list[str],
    scores: list[float],
    ranks: Sequence[int | None] | None = None,
) -> pl.DataFrame:
    """Return a run's frame, with ranks where they are given."""
    columns = [
        pl.Series("query_id", query_ids, pl.String),
        pl.Series("doc_id", doc_ids, pl.String),
        pl.Series("score", scores, pl.Float64),
    ]
    if ranks is not None:
        columns.append(pl.Series("rank", ranks, pl.Int64))
    return pl.DataFrame(columns)


def with_rank(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with ranks; where it has none, rows are counted in the order given."""
    if "rank" in frame.columns:
        return frame
    return frame.with_columns(pl.int_range(1, pl.len() + 1).over("query_id").alias("rank"))


def read_run(path: Path, *, name: str | None = None) -> Run:
    """Read rankings: TREC six (or five) columns, or any table with named columns."""
    run = _from_records(path, name) if _has_header(path) else _from_trec(path, name)
    if not len(run):
        raise InputError("the run is empty", path=path, fix="one retrieved document a line")
    return run


def _from_trec(path: Path, name: str | None) -> Run:
    quick = read_regular(path)
    if quick is not None:
        frame, tag = quick
        return Run(frame, name or tag or stem(path), path, range(1, frame.height + 1))
    rows = read_trec_run(path)
    frame = run_frame(rows.query_ids, rows.doc_ids, rows.scores, rows.ranks)
    return Run(frame, name or rows.tag or stem(path), path, tuple(rows.lines))


def _has_header(path: Path) -> bool:
    kind = kind_of(path)
    if kind not in RECORD_KINDS:
        return False
    if kind in {"csv", "tsv"}:
        parts = next(text_lines(path), (0, ""))[1].split()
        return not (len(parts) in (5, 6) and parts[1] == "Q0")
    return True


def _from_records(path: Path, name: str | None) -> Run:
    if kind_of(path) in {"parquet", "pq"}:
        return _from_parquet(path, name or stem(path))
    records = read_records(path)
    if not len(records):
        return Run(run_frame([], [], []), name or stem(path), path)
    query = records.texts(records.require("query id", *QUERY_COLUMNS), "query id")
    doc = records.texts(records.require("document id", *DOC_COLUMNS), "document id")
    ranks = _ranks(records)
    frame = run_frame(query, doc, _scores(records, ranks), ranks)
    column = records.find("tokens")
    if column is not None:
        tokens = [_tokens(value, records, row) for row, value in enumerate(records.columns[column])]
        frame = frame.with_columns(pl.Series("tokens", tokens, pl.Float64))
    return Run(frame, name or stem(path), path, tuple(records.lines))


def _scores(records: Records, ranks: list[int] | None) -> list[float]:
    column = records.find(*SCORE_COLUMNS)
    is_empty = column is not None and all(v is None or v == "" for v in records.columns[column])
    if column is not None and not (is_empty and ranks is not None):
        return records.parsed(column, parse_score)
    if ranks is None:
        records.require("score", *SCORE_COLUMNS, "rank")
    return [float(-rank) for rank in ranks or []]


def _ranks(records: Records) -> list[int] | None:
    column = records.find("rank", "position")
    if column is None:
        return None
    return [_rank(value, records, row) for row, value in enumerate(records.columns[column])]


def _rank(value: Any, records: Records, row: int) -> int:
    """Return a rank that is a whole number, be it written as 2, 2.0 or text."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    is_whole = is_whole or (isinstance(value, float) and value.is_integer())
    if is_whole or (isinstance(value, str) and _WHOLE.fullmatch(value)):
        rank = int(value)
        if -(2**63) <= rank < 2**63:
            return rank
    shown = quoted(str(value))
    raise records.error(row, f"the rank {shown} is no integer", fix="ranks are whole numbers")


def _tokens(value: Any, records: Records, row: int) -> float | None:
    """Return a result's tokens; none are known where the field is empty."""
    if value is None:
        return None
    number: Any = finite_number(value) if isinstance(value, str) else value
    with suppress(TypeError, ValueError, OverflowError):
        if not isinstance(number, bool) and 0 <= (tokens := float(number)) < float("inf"):
            return tokens
    shown = quoted(str(value))
    raise records.error(row, f"the tokens {shown} are no number from 0 on", fix=_TOKENS_FIX)


def _from_parquet(path: Path, name: str) -> Run:
    file = read_parquet(path)
    frame = _typed(file, _filled_columns(path, file), path)
    if (column := _tokens_column(path, file.columns)) is not None:
        frame = frame.with_columns(_tokens_of(file[column], path))
    is_nan = frame["score"].is_nan()
    if is_nan.any():
        row = int(is_nan.arg_max() or 0)
        raise InputError(f"the score of row {row + 1} is NaN, which cannot be ordered", path=path)
    return Run(frame, name, path)


def _tokens_column(path: Path, names: Sequence[str]) -> str | None:
    return Records(path, {name: [] for name in names}, []).find("tokens")


def _tokens_of(column: pl.Series, path: Path) -> pl.Series:
    """Return numbers from 0 on; what is missing stays so."""
    is_number = column.dtype.is_numeric() or column.dtype == pl.Null
    tokens = column.cast(pl.Float64).alias("tokens") if is_number else None
    wrong = None if tokens is None else ~((tokens >= 0) & tokens.is_finite())
    if tokens is None or wrong is None or wrong.any():
        row = 0 if wrong is None else int(wrong.arg_max() or 0)
        raise InputError(
            f"the tokens {column[row]!r} of row {row + 1} are no number from 0 on",
            path=path,
            fix=_TOKENS_FIX,
        )
    return tokens


def run_columns(path: Path, names: Sequence[str]) -> list[Wanted]:
    """Return `query_id`, `doc_id`, `rank` and `score`, those there are, out of columns' names."""
    found = Records(path, {name: [] for name in names}, [])
    wanted = [
        Wanted(found.require("query id", *QUERY_COLUMNS), "query_id", "id"),
        Wanted(found.require("document id", *DOC_COLUMNS), "doc_id", "id"),
    ]
    rank, score = found.find("rank", "position"), found.find(*SCORE_COLUMNS)
    if rank is not None:
        wanted.append(Wanted(rank, "rank", "whole number"))
    if score is not None:
        wanted.append(Wanted(score, "score", "number"))
    elif rank is None:
        found.require("score", *SCORE_COLUMNS, "rank")
    return wanted


def _filled_columns(path: Path, file: pl.DataFrame) -> list[Wanted]:
    """Return a run's columns, without scores where there are ranks and no score is given."""
    wanted = run_columns(path, file.columns)
    has_rank = any(w.name == "rank" for w in wanted)
    return [
        w
        for w in wanted
        if w.name != "score" or not has_rank or file[w.column].null_count() < file.height
    ]


def _typed(table: pl.DataFrame, wanted: Sequence[Wanted], path: Path) -> pl.DataFrame:
    """Return a run's columns; without scores the ranks make them."""
    frame = typed(table, wanted, Source("run", path))
    if "score" in frame.columns:
        return frame
    return frame.with_columns(-pl.col("rank").cast(pl.Float64).alias("score"))


def parquet_pieces(path: Path) -> Iterator[pl.DataFrame]:
    """Yield a run's columns piece by piece, the next one being read while one is worked on."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        file = pl.scan_parquet(path, glob=False)
        names = file.collect_schema().names()
        if _tokens_column(path, names) is not None:
            raise Irregular  # hits with tokens are made from whole tables
        wanted = run_columns(path, names)
        table = file.select(w.column for w in wanted)
        with ThreadPoolExecutor(1) as reader:
            start, waiting = 0, reader.submit(table.slice(0, PIECE).collect)
            while (piece := waiting.result()).height:
                start += PIECE
                waiting = reader.submit(table.slice(start, PIECE).collect)
                yield _typed(piece, wanted, path)
    except (InputError, *UNREADABLE):
        raise Irregular from None  # read whole, it is told what is wrong with it, and in which row


def stem(path: Path) -> str:
    """Return the name of a run that its file does not name."""
    return path.name.split(".")[0] or "run"
