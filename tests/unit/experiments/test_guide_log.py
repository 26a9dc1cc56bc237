"""The judgments log, and how it gets into qrels of every layout."""

import json
from pathlib import Path

import pytest

from searchmark.data import read_qrels
from searchmark.errors import InputError
from searchmark.experiments.guiding.grading import (
    NEW,
    apply_changes,
    changes_of,
    layout_of,
    read_grades,
)
from searchmark.experiments.guiding.log import NAME, Pair, decisions, last_press, open_log

A, B, C = Pair("q1", "a"), Pair("q1", "b"), Pair("q2", "c")


def test_what_was_judged_is_there_when_the_log_is_opened_again(tmp_path: Path) -> None:
    with open_log(tmp_path, "ann") as log:
        log.grade(A, 3)
        on_disk = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
        log.skip([B, C])
    assert len(on_disk) == 1  # before the next one is shown
    assert on_disk[0] | {"at": ""} == {
        "query_id": "q1",
        "doc_id": "a",
        "grade": 3,
        "judge": "ann",
        "rubric": "intent-content-click/1",
        "at": "",
        "act": "grade",
        "press": 1,
    }
    with open_log(tmp_path, "bob") as log:
        held = decisions(log.entries)
        assert [(p, e.act, e.grade) for p, e in held.items()] == [
            (A, "grade", 3),
            (B, "skip", None),
            (C, "skip", None),
        ]


@pytest.mark.parametrize("cut", [1, 2, 20, -1])
def test_a_line_that_a_kill_cut_off_is_dropped_and_the_rest_kept(tmp_path: Path, cut: int) -> None:
    path = tmp_path / NAME
    with open_log(tmp_path, "ann") as log:
        log.grade(A, 3)
        whole = path.read_bytes()
        log.grade(B, 1)
    last = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + last[:cut])
    with open_log(tmp_path, "ann") as log:
        assert list(decisions(log.entries)) == [A]
        log.grade(C, 2)
    with open_log(tmp_path, "ann") as log:
        assert {p: e.grade for p, e in decisions(log.entries).items()} == {A: 3, C: 2}


def test_a_damaged_line_in_the_middle_is_told_and_nothing_is_cut(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with open_log(tmp_path, "ann") as log:
        log.grade(A, 3)
    path.write_bytes(path.read_bytes() + b"{nonsense\n" + path.read_bytes())
    before = path.read_bytes()
    with pytest.raises(InputError, match=rf"{NAME}:2: not a judgment"), open_log(tmp_path, "ann"):
        pass
    assert path.read_bytes() == before


def test_two_sessions_over_one_log_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with (
        open_log(tmp_path, "ann"),
        pytest.raises(InputError, match="another guided session"),
        open_log(tmp_path, "bob"),
    ):
        pass


def test_undo_takes_back_key_after_key_also_of_an_earlier_session(tmp_path: Path) -> None:
    with open_log(tmp_path, "ann") as log:
        log.take({Pair("q9", "z"): 1})
        log.grade(A, 3)
        log.skip([B, C])
    with open_log(tmp_path, "ann") as log:
        assert last_press(decisions(log.entries)) == [B, C]
        log.undo([B, C])
        assert last_press(decisions(log.entries)) == [A]
        log.undo([A])
        assert last_press(decisions(log.entries)) == []  # what came from a file is no key
        assert list(decisions(log.entries)) == [("q9", "z")]


def test_the_last_judgment_of_a_pair_wins_and_only_new_lines_change_the_qrels(
    tmp_path: Path,
) -> None:
    with open_log(tmp_path, "ann") as log:
        log.grade(A, 3)
        log.grade(A, 1)
        log.grade(B, 2)
        log.skip([C])
        assert changes_of(log.entries, 0) == {A: 1, B: 2}
        assert changes_of(log.entries, 2) == {B: 2}
        log.undo([A])
        assert changes_of(log.entries, 4) == {A: None}
        assert changes_of(log.entries, 5) == {}


LAYOUTS = {
    "new.tsv": (NEW, "query_id\tdoc_id\tgrade\nq1\tb\t2\nq2\tc\t0\n"),
    "named.tsv": (
        "query_id\tgrade\tnote\tdoc_id\nq1\t1\told\ta\nq7\t3\tkeep me\tz\n",
        "query_id\tgrade\tnote\tdoc_id\nq7\t3\tkeep me\tz\nq1\t2\t\tb\nq2\t0\t\tc\n",
    ),
    "beir.csv": (
        "query-id,corpus-id,score\r\nq1,a,1\r\nq1,b,1\r\n",
        "query-id,corpus-id,score\r\nq1,b,2\r\nq2,c,0\r\n",
    ),
    "trec.qrels": ("q1 0 a 1\nq7 0 z 3", "q7 0 z 3\nq1 0 b 2\nq2 0 c 0\n"),
    "lines.jsonl": (
        '{"qid": "q7", "docno": "z", "rel": 3, "why": "x"}\n',
        '{"qid": "q7", "docno": "z", "rel": 3, "why": "x"}\n'
        '{"qid":"q1","docno":"b","rel":2}\n{"qid":"q2","docno":"c","rel":0}\n',
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_qrels_grow_in_their_own_layout(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    before, after = LAYOUTS[name]
    path.write_bytes(before.encode())
    apply_changes(path, {A: None, B: 2, C: 0})
    assert path.read_bytes().decode() == after
    grades = read_grades(path)
    assert (grades[B], grades[C], A in grades) == (2, 0, False)
    assert len(read_qrels(path)) == len(grades)
    apply_changes(path, {A: None, B: 2, C: 0})  # a kill between the two files does it twice
    assert path.read_bytes().decode() == after


def test_ids_that_need_quotes_come_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(NEW)
    odd = Pair("a\tb", 'say "x"')
    apply_changes(path, {odd: 3})
    assert read_grades(path) == {odd: 3}


def test_a_trec_file_holds_no_id_with_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "trec.txt"
    path.write_text("q1 0 a 1\n")
    with pytest.raises(InputError, match="hold a blank"):
        apply_changes(path, {Pair("q1", "a b"): 3})
    assert path.read_text() == "q1 0 a 1\n"


@pytest.mark.parametrize("name", ["qrels.json", "qrels.parquet", "qrels.tsv.gz"])
def test_files_that_cannot_grow_are_told_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match="cannot be added to a file of this kind"):
        layout_of(tmp_path / name)
