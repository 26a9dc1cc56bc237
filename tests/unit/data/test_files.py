import gzip
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from searchmark.data.files import (
    check_writable,
    kind_of,
    read_bytes,
    sha256,
    text_lines,
    write_atomically,
    write_text_atomically,
)
from searchmark.errors import InputError

START = "from searchmark.cli.main import main; main()"
TEXT = "eins\nzwei äöü\n\ndrei\n"


def packed(path: Path, data: bytes) -> Path:
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(data))
    elif path.name.endswith(".zst"):
        path.write_bytes(zstandard.ZstdCompressor().compress(data))
    else:
        path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.zst"])
def test_text_is_read_the_same_plain_and_compressed(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, TEXT.encode())
    assert list(text_lines(path)) == [(1, "eins"), (2, "zwei äöü"), (4, "drei")]
    assert read_bytes(path) == TEXT.encode()


def test_compression_is_told_by_the_first_bytes_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(gzip.compress(b"a\n"))
    assert list(text_lines(path)) == [(1, "a")]


def test_two_zstd_frames_in_one_file_are_both_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    compressor = zstandard.ZstdCompressor()
    path.write_bytes(compressor.compress(b"a\n") + compressor.compress(b"b\n"))
    assert [text for _, text in text_lines(path)] == ["a", "b"]


def test_byte_order_mark_and_crlf_are_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfeins\r\nzwei\r\n")
    assert list(text_lines(path)) == [(1, "eins"), (2, "zwei")]


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_a_cut_off_archive_is_one_clear_error(tmp_path: Path, name: str) -> None:
    import random

    noise = random.Random(1).randbytes(200_000)
    path = packed(tmp_path / name, noise.hex().encode())
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(InputError, match="the compressed file is damaged"):
        list(text_lines(path))
    with pytest.raises(InputError, match="the compressed file is damaged"):
        read_bytes(path)


def test_bytes_that_are_not_utf8_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"eins\nzw\xff\n")
    with pytest.raises(InputError, match=r"a\.txt:2: byte 0xff is not UTF-8"):
        list(text_lines(path))


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_what_is_no_file_is_one_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"no such file|is a folder"):
        read_bytes(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.jsonl", "jsonl"), ("a.b.TSV.gz", "tsv"), ("a.run.zst", "run"), ("a", ""), ("a.gz", "")],
)
def test_the_kind_is_the_ending_before_the_compression(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


def test_sha256_is_that_of_the_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    # the first test vector of FIPS 180
    assert sha256(path).startswith("ba7816bf8f01cfea414140de5dae2223")


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text_atomically(path, "old")

    def fail(stream: object) -> None:
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_in_a_folder_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: is no regular file; name a file, or a pipe"):
        read_bytes(tmp_path / "pipe")


def test_a_device_is_refused_without_reading_it() -> None:
    zero = Path("/dev/zero")
    if not zero.is_char_device():
        pytest.skip("no such device here")
    with pytest.raises(InputError, match="is no regular file"):
        read_bytes(zero)


@contextmanager
def pipe_of(data: bytes) -> Iterator[Path]:
    """Yield the path of a pipe that holds these few bytes, as the shell makes one of a command."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        yield Path(f"/dev/fd/{reading}")
    finally:
        os.close(reading)


@pytest.mark.parametrize("name", ["a", "a.gz", "a.zst"])
def test_a_pipe_of_the_shell_can_be_read_again_and_again(tmp_path: Path, name: str) -> None:
    data = packed(tmp_path / name, TEXT.encode()).read_bytes()
    with pipe_of(data) as path:
        assert [text for _, text in text_lines(path)] == ["eins", "zwei äöü", "drei"]
        assert read_bytes(path) == TEXT.encode()
        assert sha256(path) == sha256(tmp_path / name)


def test_two_pipes_under_one_path_are_two() -> None:
    with pipe_of(b"one") as first:
        assert read_bytes(first) == b"one"
    with pipe_of(b"two") as second:
        assert second == first  # the number is free again
        assert read_bytes(second) == b"two"


def test_an_irregular_run_from_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels"
    qrels.write_text("q1 0 a 1\n")
    run = "q1\tQ0 b 1 2 t\nq2 Q0  a 1 2 t\nq1 Q0 a 2 1 t\n"  # tabs, two blanks, a split query
    done = subprocess.run(
        [sys.executable, "-c", START, "eval", qrels, "/dev/stdin", "-m", "RR"],
        input=run,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.5000" in done.stdout


def test_a_path_that_cannot_be_is_no_file() -> None:
    for name in ("a\0b", "x" * 5000):
        with pytest.raises(InputError, match=r"no such file|may not be read"):
            read_bytes(Path(name))


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text_atomically(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_link_still_leads_to_the_file_that_was_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_text_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_written_anew_keeps_who_may_read_it(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    (tmp_path / "link").symlink_to("a.txt")
    for written in (path, tmp_path / "link"):
        write_text_atomically(written, written.name)
        assert path.read_text() == written.name
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_new_file_has_the_mode_that_the_process_gives(
    tmp_path: Path, mask: int, mode: int
) -> None:
    before = os.umask(mask)
    try:
        write_text_atomically(tmp_path / "a.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_a_pipe_passes_before_its_reader_comes_and_fails_without_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    with pytest.raises(OSError, match="nobody reads this pipe"):
        write_text_atomically(pipe, "x")


def test_what_is_looked_at_is_what_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = [tmp_path]
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) not in refused)
    check_writable(Path(os.devnull))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)  # nothing is made in its folder
    with pytest.raises(PermissionError, match=r"Permission denied: .*new"):
        check_writable(tmp_path / "new")
    refused.append(pipe)
    with pytest.raises(PermissionError, match=r"Permission denied: .*pipe"):
        check_writable(pipe)
