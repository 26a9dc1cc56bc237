"""Where results, messages and progress go."""

import io
import sys

import click
import pytest
from click.testing import CliRunner

from searchmark.cli.output import FORMATS, digits_option, format_option, look, say
from searchmark.reports.render import FORMATS as RENDERED


@click.command()
@format_option
@digits_option
def command(form: str, digits: int) -> None:
    click.echo(f"{form} {digits}")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_formats_offered_are_those_that_can_be_rendered() -> None:
    assert FORMATS == RENDERED
    for form in FORMATS:
        result = CliRunner().invoke(command, ["--format", form])
        assert (result.exit_code, result.output) == (0, f"{form} 4\n")
    assert CliRunner().invoke(command, ["--format", "html"]).exit_code == 2


@pytest.mark.parametrize(("digits", "code"), [("1", 0), ("15", 0), ("0", 2), ("16", 2)])
def test_digits_have_a_range(digits: str, code: int) -> None:
    assert CliRunner().invoke(command, ["--digits", digits]).exit_code == code


def test_messages_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")


def test_a_pipe_is_plain_and_a_terminal_as_wide_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert (look().width, look().color) == (100, False)
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert (look(6).width, look(6).color, look(6).digits) == (72, True, 6)
    monkeypatch.setenv("NO_COLOR", "1")
    assert look().color is False
