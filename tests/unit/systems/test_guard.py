"""Code under test may do what it likes: the program goes on, and its results stay its own."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click
import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems.guard import ENDINGS, guarded


def leave() -> None:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (leave, r"exit\(0\)"),
        (lambda: os._exit(0), r"os\._exit\(0\)"),
        (lambda: os.execv("/nothing", ["x"]), r"os\.execv\(\.\.\.\)"),
        (lambda: os.execlp("sh", "sh"), r"os\.execv\(\.\.\.\)"),
        (lambda: os.execle("/nothing", "x", {}), r"os\.execve\(\.\.\.\)"),
    ],
)
def test_what_would_end_the_program_is_a_failure(end: Callable[[], None], told: str) -> None:
    before = [getattr(os, name) for name in ENDINGS]
    with (
        pytest.raises(SystemFailedError, match=f"called {told}, which would have ended"),
        guarded(),
    ):
        end()
    assert [getattr(os, name) for name in ENDINGS] == before


def test_an_end_that_the_code_itself_catches_is_a_failure_too() -> None:
    kept = []
    with guarded():
        kept.append(os._exit)  # as `from os import _exit` does in a module
    for end in (lambda: os._exit(0), lambda: kept[0](0)):
        with (
            pytest.raises(SystemFailedError, match=r"os\._exit\(0\)"),
            guarded(),
            suppress(BaseException),
        ):
            end()


def test_a_forked_process_ends_itself_as_it_wants() -> None:
    with guarded():
        child = os.fork()
        if not child:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_whatever_is_written_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with guarded():
        click.echo("1 echo")
        assert sys.__stdout__ is not None
        sys.__stdout__.write("2 stream\n")
        sys.stdout.buffer.write(b"3 buffer\n")
        sys.stdout.flush()
        os.write(1, b"4 descriptor\n")
        os.system("echo 5 process")
    click.echo("result")
    printed = capfd.readouterr()
    assert printed.out == "result\n"
    assert printed.err == "1 echo\n2 stream\n3 buffer\n4 descriptor\n5 process\n"


def test_streams_cannot_be_closed(capfd: pytest.CaptureFixture[str]) -> None:
    with guarded():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            assert stream is not None
            with stream:
                pass
            stream.buffer.close()
            stream.detach().close()
            stream.close()
        os.close(1)
        os.close(2)
    click.echo("result")
    click.echo("message", err=True)
    os.write(1, b"below\n")
    assert capfd.readouterr() == ("result\nbelow\n", "message\n")


def test_a_stream_that_is_not_there_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with guarded():
        click.echo("to nobody")
    assert sys.stderr is None


def test_what_was_put_in_the_place_of_a_stream_is_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = io.StringIO()
    monkeypatch.setattr(sys, "stdout", ours)
    with guarded():
        sys.stdout = io.StringIO()
    assert sys.stdout is ours


@pytest.mark.parametrize("cleared", [[], None])
def test_what_imports_need_is_put_back(
    monkeypatch: pytest.MonkeyPatch, cleared: list[str] | None
) -> None:
    path, modules = list(sys.path), set(sys.modules)
    monkeypatch.setattr(sys, "path", path)
    with guarded():
        sys.path = cleared  # type: ignore[assignment]
        sys.modules.clear()
    assert sys.path == path
    assert modules <= set(sys.modules)


def test_what_code_adds_to_the_path_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)
    with guarded():
        sys.path.insert(0, str(tmp_path))
    assert sys.path == [str(tmp_path), *before]


def test_errors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (KeyboardInterrupt(), GeneratorExit(), StopIteration(), ValueError("x")):
        with pytest.raises(type(error)) as caught, guarded():
            raise error
        assert caught.value is error
    click.echo("result")
    assert capsys.readouterr() == ("result\n", "")
