"""Run files and judgments as they come: each oddity has a stated outcome, however it is read."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import Qrels, read_qrels
from searchmark.data.rawtext import Irregular
from searchmark.data.rawtrec import hits_from_trec, judged_from_trec
from searchmark.data.reading import hits_in_file, judged_from_file
from searchmark.data.run import read_run
from searchmark.errors import InputError

JUDGED = prepare(Qrels.from_dict({"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}}))
RUN = "q1 Q0 b 1 3.5 t\nq1 Q0 x 2 2.5 t\nq1 Q0 a 3 2.5 t\nq2 Q0 a 1 0.5 t\n"
# a and x share a score in q1: x, the greater id, stands before a
EXPECTED = [("q1", "b", 1), ("q1", "a", 3), ("q2", "a", 1)]


def ranks(hits: Hits) -> list[tuple[str, str, int]]:
    judged = hits.judged
    return [
        (judged.query_ids[judged.query[row]], judged.doc_ids[row], int(rank))
        for row, rank in zip(hits.row, hits.rank, strict=True)
    ]


def read(path: Path, content: bytes | str, **how: object) -> list[tuple[str, str, int]]:
    """Return the ranks in a file with this content, the same through tables."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    hits = hits_in_file(path, JUDGED, **how)[1]  # type: ignore[arg-type]
    assert ranks(find_hits(read_run(path), JUDGED, **how)) == ranks(hits)  # type: ignore[arg-type]
    return ranks(hits)


def refusal(path: Path, content: str, **how: object) -> str:
    with pytest.raises(InputError) as error:
        read(path, content, **how)
    return str(error.value).removeprefix(str(path))


def is_raw(path: Path) -> bool:
    try:
        hits_from_trec(path, JUDGED)
    except Irregular:
        return False
    return True


@pytest.mark.parametrize(
    ("change", "raw"),
    [
        (lambda s: s, True),
        (lambda s: s.replace(" ", "\t"), True),
        (lambda s: s.rstrip("\n"), True),
        (lambda s: "\ufeff" + s, True),
        (lambda s: s.replace("2.5", "2.50").replace("3.5", "3.5e0"), True),
        (lambda s: s.replace(" ", "   "), False),
        (lambda s: s.replace(" ", " \t "), False),
        (lambda s: s.replace("\n", "\r\n"), False),
        (lambda s: s.replace(" t\n", "\n"), False),
        (lambda s: s.replace("q1 Q0", " q1 Q0").replace("\n", "  \n"), False),
        (lambda s: "\n" + s.replace("\n", "\n\n"), False),
        (lambda s: s.replace("3.5", "inf").replace("0.5", "-inf"), False),
        (lambda s: "".join(reversed(s.splitlines(keepends=True))), False),
    ],
    ids=[
        *["as it is", "tabs", "no final newline", "byte-order mark", "exponents"],
        *["blanks", "blanks and tabs", "CRLF", "five columns", "blanks at the ends"],
        *["blank lines", "infinite", "reversed"],
    ],
)
def test_the_same_ranking_however_it_is_written(
    tmp_path: Path, change: Callable[[str], str], raw: bool
) -> None:
    assert read(tmp_path / "run", change(RUN)) == EXPECTED
    assert is_raw(tmp_path / "run") is raw


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_archives_are_unpacked_whatever_their_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    assert read(tmp_path / "run", pack(RUN.encode())) == EXPECTED
    assert is_raw(tmp_path / "run")
    assert read(tmp_path / "other", pack(RUN.replace(" ", "  ").encode())) == EXPECTED


def test_parquet_and_tables_hold_the_same_ranking(tmp_path: Path) -> None:
    rows = [line.split() for line in RUN.splitlines()]
    frame = pl.DataFrame(
        [(r[0], r[2], float(r[4])) for r in rows], ["query_id", "doc_id", "score"], orient="row"
    )
    frame.write_parquet(tmp_path / "r.parquet")
    frame.write_ndjson(tmp_path / "r.jsonl")
    frame.write_csv(tmp_path / "r.csv")
    for name in ("r.parquet", "r.jsonl", "r.csv"):
        assert read(tmp_path / name, (tmp_path / name).read_bytes()) == EXPECTED, name


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        (("1e-5", "0.00002"), "ba"),
        (("1e-5", "0.00001"), "ba"),  # equal: b is the greater id
        (("-inf", "-1e300"), "ba"),
        (("10", "9"), "ab"),
        (("123456780", "123456789"), "ba"),
        (("1234567891", "1234567890"), "ab"),
        (("12345678.25", "12345678.125"), "ab"),
        (("1.0000000002", "1.0000000001"), "ab"),
        (("-2", "-10"), "ab"),
    ],
)
def test_scores_are_compared_as_numbers(
    tmp_path: Path, scores: tuple[str, str], order: str
) -> None:
    a, b = scores
    lines = [f"q1 Q0 a 1 {a} t\n", f"q1 Q0 b 1 {b} t\n"]
    for content in (lines, lines[::-1]):
        found = read(tmp_path / "run", "".join(content))
        assert [doc for _, doc, _ in found] == list(order)


def test_scores_may_be_compared_as_floats(tmp_path: Path) -> None:
    content = "q1 Q0 a 1 1.0000000002 t\nq1 Q0 b 2 1.0000000001 t\n"
    assert read(tmp_path / "run", content, scores="float32")[0][1] == "b"
    too_large = "q1 Q0 a 1 1e300 t\nq1 Q0 b 2 1e200 t\n"  # both are infinite as floats
    assert read(tmp_path / "run", too_large, scores="float32")[0][1] == "b"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 nan t\n", ":2: the score is NaN, which cannot be ordered"),
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 1_0 t\n", ":2: the score '1_0' is no number"),
        ("q1 Q0 a 1 1 t\nq1 Q0 b 2 0x1 t\n", ":2: the score '0x1' is no number"),
        ("q1 Q0 a 1 1 t\nq1 Q0 b\n", ":2: 3 fields instead of 6"),
        ("q1 Q0 a 1 12.5 t\nq1 Q0 b 2 1", ":2: 5 fields instead of 6"),  # was it 1 or 12?
        ("q1 Q0 a 1 12.5\nq1 Q0 b 2", ":2: 4 fields instead of 5"),
        ("q1 Q0 a 1 1 t t\n", ":1: 7 fields instead of 6"),
        ("", ": the run is empty"),
        ("\n \n", ": the run is empty"),
        (
            "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq1 Q0 a 3 0 t\n",
            ":3: the document 'a' occurs twice for query 'q1'",
        ),
        (  # the one that stands twice is not judged
            "\nq1 Q0 x 1 2 t\nq1 Q0 b 2 1 t\nq1 Q0 x 3 0 t\n",
            ":4: the document 'x' occurs twice for query 'q1'",
        ),
    ],
)
def test_what_cannot_be_ranked_names_its_line(tmp_path: Path, content: str, message: str) -> None:
    assert refusal(tmp_path / "run", content).startswith(message)


def test_bytes_that_are_not_utf8_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(RUN.encode() + b"q2 Q0 \xff 2 0 t\n")
    with pytest.raises(InputError, match=r"run:5: byte 0xff is not UTF-8"):
        hits_in_file(path, JUDGED)


def test_a_damaged_archive_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(RUN.encode())[:-6])
    with pytest.raises(InputError, match=r"run\.gz: the compressed file is damaged"):
        hits_in_file(path, JUDGED)


def test_of_a_document_that_stands_twice_the_first_place_may_count(tmp_path: Path) -> None:
    content = "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq1 Q0 b 3 1 t\nq1 Q0 c 4 0 t\n"
    assert read(tmp_path / "run", content, keep_first=True) == [
        ("q1", "b", 1),
        ("q1", "a", 2),
        ("q1", "c", 3),
    ]
    assert hits_in_file(tmp_path / "run", JUDGED, keep_first=True)[1].n_duplicates == 1


def test_interleaved_queries_are_put_together(tmp_path: Path) -> None:
    content = "q1 Q0 b 1 3 t\nq2 Q0 a 1 3 t\nq1 Q0 a 2 2 t\nq2 Q0 x 2 2 t\nq1 Q0 c 3 1 t\n"
    expected = [("q1", "b", 1), ("q1", "a", 2), ("q1", "c", 3), ("q2", "a", 1)]
    assert read(tmp_path / "run", content) == expected
    assert not is_raw(tmp_path / "run")
    with pytest.raises(Irregular):  # also where the pieces lie in different blocks
        hits_from_trec(tmp_path / "run", JUDGED, block=1)


@pytest.mark.parametrize("doc", ["12345678901234567890", "007", "é", "語", "a\u00a0b", '"q', "#"])
def test_ids_are_text_and_are_never_altered(tmp_path: Path, doc: str) -> None:
    # a neighbour that differs in the last digit, the zeros or the accent only
    near = {"12345678901234567890": "12345678901234567891", "007": "7", "é": "e"}.get(doc, doc[:1])
    near = near if near != doc else "z"
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text(f"{doc} 0 {doc} 1\n", encoding="utf-8")
    run.write_text(f"{doc} Q0 {near} 1 2 t\n{doc} Q0 {doc} 2 1 t\n", encoding="utf-8")
    for judged in (judged_from_trec(qrels), judged_from_file(qrels), prepare(read_qrels(qrels))):
        assert ranks(hits_from_trec(run, judged)[1]) == [(doc, doc, 2)]
        assert ranks(find_hits(read_run(run), judged)) == [(doc, doc, 2)]


def test_long_ids_beside_short_ones(tmp_path: Path) -> None:
    # the longest has more words than the last line has bytes
    content = f"{'q' * 900} Q0 {'d' * 900} 1 1 t\nq1 Q0 {'a' * 900} 1 2 t\nq1 Q0 a 2 1 t\n"
    assert read(tmp_path / "run", content) == [("q1", "a", 2)]


def test_queries_that_are_missing_or_not_judged_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert read(path, "q9 Q0 a 1 1 t\nq1 Q0 c 1 1 t\nq8 Q0 a 1 1 t\n") == [("q1", "c", 1)]
    hits = hits_in_file(path, JUDGED)[1]
    assert is_raw(path)
    assert hits.n_unjudged_queries == 2
    assert hits.answered.tolist() == [True, False]
    assert hits.n_retrieved.tolist() == [1, 0]


def test_a_run_of_one_line(tmp_path: Path) -> None:
    assert read(tmp_path / "run", "q2 Q0 a 1 1 t") == [("q2", "a", 1)]


def test_the_name_is_the_last_tag_or_the_file_s(tmp_path: Path) -> None:
    path = tmp_path / "best.run.txt"
    for content, name in [
        ("q1 Q0 a 1 2 one\nq1 Q0 b 2 1 two\n", "two"),
        ("q1 Q0 a 1 1 one\nq1 Q0 b 2 2 two\n", "two"),  # not in order
        ("q1 Q0 a 1 2\n", "best"),
    ]:
        path.write_text(content)
        assert hits_in_file(path, JUDGED)[0] == read_run(path).name == name


def test_given_ranks_decide_where_they_are_the_truth(tmp_path: Path) -> None:
    content = "q1 Q0 a 2 9 t\nq1 Q0 b 1 1 t\n"
    assert read(tmp_path / "run", content) == [("q1", "a", 1), ("q1", "b", 2)]
    assert read(tmp_path / "run", content, order="rank") == [("q1", "b", 1), ("q1", "a", 2)]
    with_words = "q1 Q0 a first 9 t\nq1 Q0 b 2 1 t\n"
    assert read(tmp_path / "run", with_words) == [("q1", "a", 1), ("q1", "b", 2)]
    assert refusal(tmp_path / "run", with_words, order="rank").startswith(
        ":1: the rank is no integer"
    )


def test_hashes_are_never_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_length(words: object, start: object, length: pl.Series) -> object:
        return length.astype("uint64") << 26  # type: ignore[attr-defined]

    # ids of one length have one hash now: "z" looks like a judgment of q2, which it is not
    for module in ("rawtrec", "judged"):
        monkeypatch.setattr(f"searchmark.data.{module}.hashes", by_length)
    judged = prepare(Qrels.from_dict({"q2": {"a": 1}}))
    path = tmp_path / "run"
    path.write_text("q2 Q0 z 1 2 t\nq2 Q0 aa 2 1 t\n")
    assert ranks(hits_from_trec(path, judged)[1]) == []
    path.write_text("q2 Q0 zz 1 2 t\nq2 Q0 a 2 1 t\n")
    assert ranks(hits_from_trec(path, judged)[1]) == [("q2", "a", 2)]


@pytest.mark.parametrize(
    ("content", "grades"),
    [
        ("q 0 a 1\nq 0 b 0\n", [1, 0]),
        ("q 0 a -2\nq 0 b 10\n", [-2, 10]),
        ("q\t0\ta\t+3\nq\t0\tb\t007\n", [3, 7]),
        ("\ufeffq 0 a 1\r\nq  0  b 2", [1, 2]),
        ("q 0 a 0\nq 0 b 0\n", [0, 0]),
    ],
)
def test_grades_are_whole_numbers(tmp_path: Path, content: str, grades: list[int]) -> None:
    path = tmp_path / "qrels"
    path.write_text(content, encoding="utf-8", newline="")
    for judged in (judged_from_file(path), prepare(read_qrels(path))):
        assert judged.query_ids == ("q",)
        assert judged.grade.tolist() == grades
        assert list(judged.doc_ids) == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 a 1\nq 0 b 1.5\n", ":2: the grade '1.5' is no integer"),
        ("q 0 a 1\nq 0 b --1\n", ":2: the grade '--1' is no integer"),
        ("q 0 a 1\nq 0 b\n", ":2: 3 fields instead of 4"),
        ("q 0 a 1\nr 0 a 1\nq 0 a 0\n", ":3: the document 'a' is judged twice for query 'q'"),
        ("", ": there are no judgments"),
    ],
)
def test_judgments_that_are_wrong_name_their_line(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "qrels"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        judged_from_file(path)
    assert str(error.value).removeprefix(str(path)).startswith(message)


def test_regular_text_is_scored_without_polars(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "run").write_text(RUN)
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from searchmark.data import hits_in_file, judged_from_file\n"
        "from searchmark.measures.notation import parse_measure\n"
        "from searchmark.measures.score import values\n"
        "name, hits = hits_in_file(Path('run'), judged_from_file(Path('qrels')))\n"
        "print(values(hits, parse_measure('RR', 'trec')).tolist())\n"
        "print(sorted({'polars', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # a stands third in q1, behind x of the same score, and first in q2
    assert done.stdout == "[0.3333333333333333, 1.0]\n[]\n"


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_rank_counts_where_the_column_of_scores_is_empty(tmp_path: Path, kind: str) -> None:
    rows = {"query_id": ["q1", "q1", "q2"], "doc_id": ["c", "a", "a"], "rank": [2, 1, 1]}
    path = tmp_path / f"own.{kind}"
    frame = pl.DataFrame({**rows, "score": pl.Series([None] * 3, dtype=pl.Float64)})
    write = {
        "parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson
    }[kind]  # fmt: skip
    write(path)
    wanted = [("q1", "a", 1), ("q1", "c", 2), ("q2", "a", 1)]
    assert sorted(ranks(find_hits(read_run(path), JUDGED))) == wanted
    assert sorted(ranks(hits_in_file(path, JUDGED)[1])) == wanted
    path = tmp_path / "some.parquet"
    frame.with_columns(score=pl.Series([1.0, None, None])).write_parquet(path)
    with pytest.raises(InputError, match="score"):  # one score that is there makes the others lack
        read_run(path)
