"""Damaged files: every reader gives a table or one clear InputError, and both ways agree.

The damage is random and the seed is fixed, so a failure names the file that can be made again.
"""

import faulthandler
import gzip
import json
import random
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
import zstandard

from searchmark.data.corpus import read_corpus
from searchmark.data.hits import Hits, ScoreType
from searchmark.data.judged import Judged, prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels, read_qrels
from searchmark.data.queries import read_queries
from searchmark.data.rawtext import Irregular
from searchmark.data.rawtrec import hits_from_trec, judged_from_trec
from searchmark.data.reading import hits_in_file, judged_from_file
from searchmark.data.run import Run, read_run
from searchmark.errors import InputError

SCORES: tuple[ScoreType, ...] = ("float32", "float64")
LONGEST = 300  # seconds until a reader that hangs is stopped with its traceback

QRELS = b"q1 0 a 1\nq1 0 bb 0\nq1 0 D12345678 3\nq2 0 a -1\nq10 0 c\xc3\xa9 2\n"
JUDGED = {"q1": {"a": 1, "bb": 0, "D12345678": 3}, "q2": {"a": -1}, "q10": {"cé": 2}}
RUN = (
    b"q1 Q0 bb 1 12.5 t\nq1 Q0 x 2 12.5 t\nq1 Q0 a 3 0.25 t\n"
    b"q3 Q0 a 1 99 t\n"
    b"q10 Q0 c\xc3\xa9 1 123456789 t\nq10 Q0 d 2 -1e-3 t\n"
)
PLAIN_RUN = RUN.replace(b"-1e-3", b"0.001").replace(b"123456789", b"12345678")

PIECES = [
    *[b" ", b"  ", b"\t", b"\n", b"\n\n", b"\r", b"\r\n", b"\0", b"\v", b"\xef\xbb\xbf", b"\xff"],
    *[b"\xc3", b"\xc2\xa0", b'"', b"'", b",", b"#", b"{", b"}", b"[", b"\\", b"\\u0000", b"null"],
    *[b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"-", b".", b"+5", b"1_0", b"0x1F", b"1e"],
    *[b"9" * 20, b"0.1" + b"3" * 40, b"q1 ", b"q10 ", b"bb", b"true", b"\xef\xbc\x91", b"-0"],
]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with one to four random changes."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(data))
        to = min(len(data), at + chance.randint(0, 12))
        kind = chance.randint(0, 6)
        if kind == 0:
            data = data[:at] + chance.choice(PIECES) + data[at:]
        elif kind == 1:
            data = data[:at] + chance.choice(PIECES) + data[to:]
        elif kind == 2:
            data = data[:at] + data[to:]
        elif kind == 3:
            data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        elif kind == 4:
            lines = data.splitlines(keepends=True)
            chance.shuffle(lines)
            data = b"".join(lines)
        elif kind == 5:
            lines = data.splitlines(keepends=True) or [b""]
            data += chance.choice(lines)
        elif chance.random() < 0.3:
            data = data[:at]
    return data


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    faulthandler.dump_traceback_later(LONGEST, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def seen(hits: Hits) -> list[object]:
    parts = (hits.row, hits.rank, hits.tie_first, hits.tie_last, hits.n_retrieved, hits.answered)
    return [*(part.tolist() for part in parts), hits.n_unjudged_queries, hits.n_duplicates]


def or_error(read: Callable[[], object]) -> object:
    """Return what is read, or the message of an InputError."""
    try:
        return read()
    except InputError as error:
        return str(error)


def check_run(path: Path, judged: Judged, scores: ScoreType) -> bool:
    """Read a run in every way; tell whether its raw bytes were read."""
    table = or_error(lambda: ranked(read_run(path), judged, scores))
    assert or_error(lambda: named(hits_in_file(path, judged, scores=scores))) == table
    try:
        raw = hits_from_trec(path, judged, scores=scores, block=40, threads=1)
    except Irregular:
        return False
    assert named(raw) == table  # what is read from bytes is what is read through tables
    return True


def ranked(run: Run, judged: Judged, scores: ScoreType) -> list[object]:
    return named((run.name, find_hits(run, judged, scores=scores)))


def named(found: tuple[str, Hits]) -> list[object]:
    return [found[0], *seen(found[1])]


@pytest.mark.parametrize(("data", "n"), [(RUN, 1200), (PLAIN_RUN, 1200)], ids=["any", "plain"])
def test_run_text(tmp_path: Path, data: bytes, n: int) -> None:
    chance, path, n_raw = random.Random(3), tmp_path / "run", 0
    judged = prepare(Qrels.from_dict(JUDGED))
    for i in range(n):
        path.write_bytes(content := damaged(data, chance))
        try:
            n_raw += check_run(path, judged, SCORES[i % 2])
        except Exception as error:
            pytest.fail(f"file {i}, {content!r}: {error!r}")
    assert n_raw > n // 20  # the comparison is not an empty one


def check_qrels(path: Path) -> bool:
    table = or_error(lambda: judgments(prepare(read_qrels(path))))
    assert or_error(lambda: judgments(judged_from_file(path))) == table
    try:
        raw = judged_from_trec(path)
    except Irregular:
        return False
    assert judgments(raw) == table
    return True


def judgments(judged: Judged) -> list[object]:
    ids = judged.doc_ids.series.to_list()
    return [judged.query_ids, judged.query.tolist(), ids, judged.grade.tolist()]


def test_qrels_text(tmp_path: Path) -> None:
    chance, path, n_raw = random.Random(4), tmp_path / "qrels", 0
    for i in range(3000):
        path.write_bytes(content := damaged(QRELS, chance))
        try:
            n_raw += check_qrels(path)
        except Exception as error:
            pytest.fail(f"file {i}, {content!r}: {error!r}")
    assert n_raw > 500


ROWS = [
    {"query_id": "q1", "doc_id": "a", "score": 2.5, "rank": 1},
    {"query_id": "q1", "doc_id": "bb", "score": 1.0, "rank": 2},
    {"query_id": "q10", "doc_id": "cé", "score": -0.5, "rank": 1},
]
JUDGMENTS = [
    {"query_id": "q1", "doc_id": "a", "grade": 1},
    {"query_id": "q1", "doc_id": "bb", "grade": 0},
    {"query_id": "q10", "doc_id": "cé", "grade": -2},
]
ASKED = [
    {"_id": "q1", "text": "what is it", "category": "plain", "filters": '{"n": {"<": 5}}'},
    {"_id": "007", "text": 'so, is "it"', "category": None, "filters": None},
]
DOCUMENTS = [
    {"_id": "a", "title": "A", "text": "first,\nand more", "n": 1, "leaf": True},
    {"_id": "cé", "title": "", "text": "second", "n": None, "leaf": False},
]


def content(rows: list[dict[str, object]], kind: str) -> bytes:
    if kind == "jsonl":
        return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    if kind == "json":
        return json.dumps(rows).encode()
    frame, stream = pl.DataFrame(rows), BytesIO()
    if kind == "parquet":
        frame.write_parquet(stream)
    else:
        frame.write_csv(stream, separator="\t" if kind == "tsv" else ",")
    return stream.getvalue()


READERS: dict[str, tuple[Callable[[Path], object], list[dict[str, object]]]] = {
    "run": (read_run, ROWS),
    "qrels": (read_qrels, JUDGMENTS),
    "queries": (read_queries, ASKED),
    "corpus": (read_corpus, DOCUMENTS),
}
N_OF_KIND = {"jsonl": 800, "csv": 800, "tsv": 400, "json": 300, "parquet": 250}


@pytest.mark.parametrize("kind", N_OF_KIND)
@pytest.mark.parametrize("what", READERS)
def test_tables(tmp_path: Path, what: str, kind: str) -> None:
    read, rows = READERS[what]
    path, chance, n_read = tmp_path / f"{what}.{kind}", random.Random(5), 0
    good = content(rows, kind)
    path.write_bytes(good)
    assert len(read(path)) == len(rows)  # type: ignore[arg-type]
    for i in range(N_OF_KIND[kind]):
        path.write_bytes(bad := damaged(good, chance))
        try:
            n_read += not isinstance(or_error(lambda: read(path)), str)
        except Exception as error:
            pytest.fail(f"file {i}, {bad!r}: {error!r}")
    assert 0 < n_read < N_OF_KIND[kind]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_archives(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    chance, path = random.Random(6), tmp_path / "run"
    judged = prepare(Qrels.from_dict(JUDGED))
    good = pack(RUN)
    for i in range(600):
        path.write_bytes(bad := damaged(good, chance))
        try:
            check_run(path, judged, SCORES[i % 2])
        except Exception as error:
            pytest.fail(f"file {i}, {bad!r}: {error!r}")
