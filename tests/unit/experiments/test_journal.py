from pathlib import Path

import pytest

from searchmark.errors import InputError
from searchmark.experiments.journal import Call, open_journal

OK = Call("q1", "ok", 1.5, ["a", "b"], [2.0, 0.1 + 0.2])
EMPTY = Call("q2", "empty", 0.5)
ERROR = Call("q3", "error", 0.5, error="ValueError: no")


def write(path: Path, *calls: Call) -> None:
    with open_journal(path) as journal:
        for call in calls:
            journal.append(call)


def read(path: Path) -> dict[str, Call]:
    with open_journal(path) as journal:
        return dict(journal.calls)


def test_answers_are_read_back_to_the_last_bit(tmp_path: Path) -> None:
    write(tmp_path / "j", OK, EMPTY)
    assert read(tmp_path / "j") == {"q1": OK, "q2": EMPTY}


def test_failed_calls_are_not_kept_so_that_they_are_asked_again(tmp_path: Path) -> None:
    write(tmp_path / "j", OK, ERROR)
    assert read(tmp_path / "j") == {"q1": OK}


def test_partial_answers_are_asked_again_too(tmp_path: Path) -> None:
    write(tmp_path / "j", OK, Call("q2", "ok", 1.0, ["a"], [1.0], partial=True))
    assert read(tmp_path / "j") == {"q1": OK}


def test_lines_of_an_earlier_format_are_read(tmp_path: Path) -> None:
    (tmp_path / "j").write_text(
        '{"query_id":"q1","status":"ok","latency_ms":1.5,"doc_ids":["a","b"],"scores":[2.0,null],'
        '"attempts":1,"error":null,"partial":false}\n'
    )
    assert read(tmp_path / "j") == {"q1": Call("q1", "ok", 1.5, ["a", "b"], [2.0, None])}


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_cut_by_a_kill_is_dropped_and_written_over(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "j"
    write(path, OK, EMPTY)
    path.write_bytes(path.read_bytes()[:-cut])
    write(path, Call("q2", "ok", 9.0, ["z"], [None]))
    assert read(path) == {"q1": OK, "q2": Call("q2", "ok", 9.0, ["z"], [None])}


def test_rubbish_at_the_end_does_not_lose_what_stands_before(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, OK)
    path.write_bytes(path.read_bytes() + b"\x00\xffnonsense\n")
    assert read(path) == {"q1": OK}


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with (
        open_journal(path),
        pytest.raises(InputError, match=r"another run .* is under way"),
        open_journal(path),
    ):
        pass
