"""``searchmark eval``, on its own and in trec_eval's place."""

import gzip
import json
from pathlib import Path

import pytest

from searchmark.cli.main import main

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\nq3 0 d 0\n"
RUN = """\
q1 Q0 b 1 2.0 tag
q1 Q0 a 2 2.0 tag
q2 Q0 x 1 1.0 tag
q2 Q0 c 2 0.5 tag
q9 Q0 a 1 1.0 tag
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    return qrels, run


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["eval", *(str(a) for a in arguments)])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_numbers_ties_and_counts_are_printed(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*files, "-m", "RR,P(rel=2)@1", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)["systems"]["tag"]
    # q1: a and b tie, the later id first: b, a, so 1/2; q2: 1/2; q3 is not answered and left out
    assert found["measures"]["RR"]["mean"] == 0.5
    # in the other order of the tie a is first: (1 + 1/2) / 2; on average (3/4 + 1/2) / 2
    ties = found["measures"]["RR"]["ties"]
    assert (ties["worst"], ties["expected"], ties["best"]) == (0.5, 0.625, 0.75)
    assert found["counts"] == {
        "n_queries": 3,
        "n_answered": 2,
        "n_missing": 1,
        "n_empty": 1,
        "n_unjudged_queries": 1,
        "n_retrieved": 4,
        "n_judged_retrieved": 3,
        "n_duplicates": 0,
        "n_tied": 2,
    }


def test_the_terminal_says_what_was_assumed(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*files) == 0
    printed = capsys.readouterr().out
    for expected in (
        "nDCG@10",
        "Ties: what these means",
        "What the numbers rest on",
        "profile trec",
    ):
        assert expected in printed
    assert call(*files, "--no-ties") == 0
    assert "Ties" not in capsys.readouterr().out


def test_missing_queries_count_as_zero_on_request(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*files, "-c", "-m", "RR", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    # (1/2 + 1/2 + 0) / 3
    assert found["systems"]["tag"]["measures"]["RR"]["mean"] == pytest.approx(1 / 3)
    assert found["conventions"]["RR"] == "RR(rel=1,empty=zero,missing=zero)"


def test_several_runs_stand_side_by_side(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt.gz"
    other.write_bytes(gzip.compress(RUN.replace("tag", "other").encode()))
    assert call(*files, other, files[1], "-m", "RR", "--format", "json") == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert list(systems) == ["tag", "other", str(files[1])]


def test_the_rank_of_the_file_can_be_the_truth(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[1].write_text("q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.9 t\n")
    assert call(*files, "--order", "rank", "-m", "RR", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["systems"]["t"]["measures"]["RR"]["mean"] == 1.0


def test_a_repeated_document_is_an_error_with_its_line_unless_the_first_counts(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[1].write_text("q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 a 3 1 t\n")
    assert call(*files) == 2
    assert "run.txt:3: the document 'a' occurs twice for query 'q1'" in capsys.readouterr().err
    assert call(*files, "--first", "-m", "RR", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)["systems"]["t"]
    assert found["measures"]["RR"]["mean"] == 1.0
    assert found["counts"]["n_duplicates"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q1 Q0 a 1 nan t", "run.txt:1: the score is NaN"),
        ("q1 Q0 a 1 x t", "run.txt:1: the score 'x' is no number"),
        ("q1 Q0 a", "run.txt:1: 3 fields instead of 6"),
    ],
)
def test_a_bad_line_is_named(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    files[1].write_text(line + "\n")
    assert call(*files) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_measure_and_a_stray_switch_are_told(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*files, "-m", "nDGC@10") == 2
    assert "did you mean 'nDCG'" in capsys.readouterr().err
    assert call(*files, "-l", "2") == 2
    assert "-l goes with --trec" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("switches", "kept"),
    [((), "out.official.txt"), (("-q", "-m", "all_trec"), "out.all_trec.q.txt.gz")],
)
def test_trec_prints_what_the_c_program_prints(
    shared: Path, capsys: pytest.CaptureFixture[str], switches: tuple[str, ...], kept: str
) -> None:
    folder = shared / "data" / "cranfield" / "trec_eval"
    assert call("--trec", *switches, folder / "qrels.txt", folder / "bm25.run.gz") == 0
    raw = (folder / kept).read_bytes()
    expected = gzip.decompress(raw) if kept.endswith("gz") else raw
    assert capsys.readouterr().out == expected.decode()


def test_trec_with_every_switch_and_two_queries_unanswered(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "data" / "cranfield" / "trec_eval"
    lines = (
        gzip.decompress((folder / "bm25.run.gz").read_bytes()).decode().splitlines(keepends=True)
    )
    part = tmp_path / "part.run"
    part.write_text("".join(x for x in lines if x.split()[0] not in ("7", "100")))
    switches = ("-q", "-c", "-l2", "-M20", "-m", "all_trec")
    assert call("--trec", *switches, folder / "qrels.txt", part) == 0
    expected = gzip.decompress((folder / "out.part.all_trec.q.c.l2.M20.txt.gz").read_bytes())
    assert capsys.readouterr().out == expected.decode()


@pytest.mark.parametrize(
    "more",
    [
        *(["--format", form] for form in ("terminal", "markdown", "json", "csv")),
        ["--profile", "graded", "--format", "csv"],
        ["-c", "--format", "csv"],
    ],
)
def test_a_run_with_none_of_the_queries_is_never_a_plain_zero(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    _, run = files
    told = "tag holds none of the 3 judged queries, such as 'q1': its values measure nothing"
    assert call(*files, *more) == 0
    found = capsys.readouterr()
    assert told not in " ".join((found.out + found.err).split())
    run.write_text(RUN.replace("q", "Q"))
    assert call(*files, *more) == 0
    found = capsys.readouterr()
    assert told in " ".join((found.out + found.err).split())


def test_a_comparison_tells_of_a_run_with_none_of_the_queries(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = files[1].with_name("other.txt")
    other.write_text(RUN.replace("q", "Q").replace("tag", "other"))
    with pytest.raises(SystemExit):
        main(["compare", *map(str, files), str(other)])
    assert "other holds none of the 3 judged queries" in capsys.readouterr().out
