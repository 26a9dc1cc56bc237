import errno
import json
import subprocess
import sys
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


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def call(number: int) -> Call:
    return Call(f"q{number}", "ok", 1.5, ["a", "b"], [2.0, 1.0], tokens=[3.0, None], total=12)


def bare(**changed: object) -> bytes:
    """A line as early journals have it, without a checksum."""
    fields = {
        "query_id": "q2",
        "status": "ok",
        "latency_ms": 1.5,
        "doc_ids": ["a", "b"],
        "scores": [2.0, 1.0],
    }
    return json.dumps({**fields, **changed}).encode() + b"\n"


@pytest.mark.parametrize(
    "damage",
    [
        b"nonsense\n",
        b"\x00" * 40 + b"\n",
        b"\xff\xfe{}\n",
        b"[" * 5000 + b"\n",
        b"{}\n",
        b"null\n",
        bare()[:-20] + b"\n",
        bare(query_id=""),
        bare(query_id=7),
        bare(status="fine"),
        bare(status="empty"),
        bare(doc_ids=[], scores=[]),
        bare(scores=[2.0]),
        bare(scores=[2.0, 1.0, 0.5]),
        bare(scores=[2.0, "1"]),
        bare(scores=[]),
        bare(doc_ids=["a", ""]),
        bare(doc_ids=["a", 7]),
        bare(doc_ids="ab"),
        bare(tokens=[3.0]),
        bare(tokens=[3.0, -1.0]),
        bare(attempts=0),
        bare(attempts=-3),
        bare(attempts=10**9),
        bare(attempts=2**70),
        bare(attempts="1"),
        bare(latency_ms=-1.5),
        bare(latency_ms=None),
        bare(total=2**63),
        bare(total=-1),
        bare(size=2**70),
        bare(batch=0),
        bare(partial="no"),
        bare().replace(b"1.5", b"NaN"),
        bare().replace(b"2.0", b"1e999"),
        bare().replace(b"2.0", b"Infinity"),
        bare(doc_ids=["a", "\ud800"]),
    ],
)
def test_a_damaged_line_loses_only_itself(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "j"
    write(path, call(1), call(2), call(3))
    first, _, third = lines(path)
    path.write_bytes(first + damage + third)
    with open_journal(path) as journal:
        assert journal.calls == {"q1": call(1), "q3": call(3)}
        assert journal.damaged == (2,)
        journal.append(call(2))  # it is asked again
    assert read(path) == {f"q{n}": call(n) for n in (1, 2, 3)}
    assert lines(path)[1] == damage  # nothing is taken away


@pytest.mark.parametrize(
    "change",
    [
        (b'"a"', b'"c"'),
        (b"2.0", b"3.0"),
        (b'"q2"', b'"q1"'),
        (b'"sum":"', b'"sum":"?'),
        (b'"sum"', b'"sun"'),
    ],
)
def test_a_line_that_another_hand_changed_is_not_trusted(
    tmp_path: Path, change: tuple[bytes, bytes]
) -> None:
    # it reads well, and would be a wrong number
    path = tmp_path / "j"
    write(path, call(1), call(2))
    first, second = lines(path)
    assert second.count(change[0]) == 1
    path.write_bytes(first + second.replace(*change))
    with open_journal(path) as journal:
        assert (journal.calls, journal.damaged) == ({"q1": call(1)}, (2,))


def test_lines_without_a_checksum_that_are_sound_are_read(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(bare())
    assert read(path) == {"q2": Call("q2", "ok", 1.5, ["a", "b"], [2.0, 1.0])}


def test_what_an_editor_puts_around_lines_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, call(1), call(2))
    first, second = (line.rstrip(b"\n") for line in lines(path))
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\r\n  \n\n" + second + b"  \r\n")
    with open_journal(path) as journal:
        assert (list(journal.calls), journal.damaged) == (["q1", "q2"], ())


def test_zeros_that_a_power_cut_left_at_the_end_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, call(1))
    whole = path.read_bytes()
    path.write_bytes(whole + b"\x00" * 4096)
    assert list(read(path)) == ["q1"]
    assert path.read_bytes() == whole


def test_a_place_that_can_hold_no_journal_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path, told in (
        (tmp_path / "folder", "Is a directory"),
        (tmp_path / "file" / "j", "File exists|Not a directory"),
    ):
        with (
            pytest.raises(InputError, match=rf"cannot keep its answers here \(({told})\)"),
            open_journal(path),
        ):
            pass


FULL = """
import resource, sys
from pathlib import Path
from searchmark.errors import OutsideError
from searchmark.experiments.journal import Call, open_journal

path = Path(sys.argv[1])
with open_journal(path) as journal:
    journal.append(Call("q1", "ok", 1.5, ["a"], [1.0]))
    room = path.stat().st_size + 10
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        journal.append(Call("q2", "ok", 1.5, ["a"], [1.0]))
    except OutsideError as error:
        print(error)
    print(sorted(journal.calls), path.read_bytes().count(b"\\n"), path.stat().st_size == room - 10)
"""


def test_where_there_is_no_room_left_that_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "j"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    told, kept = done.stdout.splitlines()
    assert told.startswith(f"{path}: an answer cannot be kept (")
    assert "make room there" in told
    assert kept == "['q1'] 1 True"  # ten bytes of the second were written, and taken back
    assert list(read(path)) == ["q1"]


def test_a_drive_that_knows_no_locks_is_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(stream: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("searchmark.experiments.holding.fcntl.flock", flock)
    write(tmp_path / "j", OK)
    assert read(tmp_path / "j") == {"q1": OK}
