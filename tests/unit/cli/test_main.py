"""The door: which exit code and which line each kind of end gets."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from searchmark.cli import main as door
from searchmark.errors import InputError, NotComparableError, SystemFailedError
from searchmark.version import __version__

Install = Callable[[click.Command], None]


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        door.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


class Unending(BaseException):
    """What no `except Exception` catches."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make `searchmark schema` end with an error."""

    def install(error: BaseException) -> None:
        def fail() -> None:
            raise error

        command = click.Command("schema", callback=fail)
        monkeypatch.setattr(door.LazyGroup, "get_command", lambda *_: command)

    return install


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("is odd", path="a", line=3, fix="mend it"), 2, "a:3: is odd; mend it"),
        (SystemFailedError("it burns"), 3, "it burns"),
        (NotComparableError("other qrels"), 4, "other qrels"),
        (KeyboardInterrupt(), 130, "interrupted; what was answered is kept"),
        (click.exceptions.Abort(), 130, "interrupted; what was answered is kept"),
        (
            PermissionError(errno.EACCES, "Permission denied", "x.json"),
            2,
            "x.json: Permission denied; check the path and its permissions",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            3,
            "the machine refused: No space left on device",
        ),
        (SystemExit(0), 3, "code under test ended the program with exit(0)"),
        (Unending("odd"), 5, "a fault of our own: Unending: odd; run again with --debug"),
        (ValueError("a\nb"), 5, "a fault of our own: ValueError: a b; run again with --debug"),
        (SystemFailedError("a\r\nb"), 3, "a b"),
        (PermissionError(errno.EACCES, "Denied", "x\ny"), 2, "x y: Denied; check the path"),
        (click.UsageError("no 'a\nb'"), 2, "no 'a b'"),
        (EOFError("cut"), 5, "a fault of our own: EOFError: cut; run again with --debug"),
        (KeyError("k"), 5, "a fault of our own: KeyError: 'k'; run again with --debug"),
        (click.UsageError("no such option"), 2, "no such option"),
    ],
)
def test_each_kind_of_end_has_its_code_and_one_line(
    ends: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    line: str,
) -> None:
    ends(error)
    assert call("schema") == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"searchmark: error: {line}")
    assert len(printed.err.splitlines()) == 1


def test_debug_shows_where_by_option_or_by_environment(
    ends: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends(InputError("is odd"))
    for arguments in (["--debug", "schema"], ["schema", "--debug"]):
        assert call(*arguments) == 2
        assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SEARCHMARK_DEBUG", "0")
    assert call("schema") == 2
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("SEARCHMARK_DEBUG", "1")
    assert call("schema") == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_error_cannot_move_the_cursor(
    ends: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ends(InputError("the key \x1b[2J\r is odd\nand more"))
    assert call("schema") == 2
    assert capsys.readouterr().err == (
        "searchmark: error: the key \ufffd[2J\ufffd is odd and more\n"
    )


def test_a_verdict_is_the_exit_code(
    ends: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ends(click.exceptions.Exit(1))
    assert call("schema") == 1
    assert capsys.readouterr().err == ""


def test_wrong_words_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("schemas") == 2
    assert "there is no command 'schemas'; did you mean 'schema'?" in capsys.readouterr().err
    assert call("schema", "--nonsense") == 2
    assert "No such option" in capsys.readouterr().err
    assert call("--nonsense") == 2
    assert "No such option" in capsys.readouterr().err
    assert call("run", "--format", "xml") == 2
    assert "'xml' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["baseline"]])
def test_without_a_command_there_is_help(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert call(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Usage: searchmark")
    assert "error" not in printed.err.lower().split("commands:")[1]


def test_help_and_version_are_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"searchmark, version {__version__}\n"
    assert call("-h") == 0
    printed = capsys.readouterr().out
    for name, (_, line) in door.COMMANDS.items():
        assert any(x.split() == [name, *line.split()] for x in printed.splitlines())


def run(code: str, **more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **more},
    )


def test_a_reader_that_goes_away_is_no_error_and_no_success() -> None:
    code = (
        "import sys\n"
        "from searchmark.cli.main import main\n"
        "sys.stdin.readline()\n"  # waits until nobody reads
        "main(['schema'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write("\n")
    process.stdin.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == door.CUT_OFF


def test_the_shell_is_told_what_could_be_typed() -> None:
    process = run(
        "from searchmark.cli.main import main; main([])",
        _SEARCHMARK_COMPLETE="bash_complete",
        COMP_WORDS="searchmark sch",
        COMP_CWORD="1",
    )
    out, _ = process.communicate()
    assert "schema" in out


def test_a_folder_in_the_place_of_a_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert call("run", str(tmp_path / "file" / "searchmark.toml")) == 2
    printed = capsys.readouterr().err
    assert "searchmark.toml" in printed
    assert "fault of our own" not in printed
