"""What commands share: the --format option, where results and messages go."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from searchmark.reports.table import Look

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("terminal", "json", "csv", "markdown")


def format_option(function: F) -> F:
    """Add --format to a command that prints a table."""
    return format_option_with()(function)


def format_option_with(*more: str) -> Callable[[F], F]:
    """Return what adds --format, with formats that only one command knows."""
    return click.option(
        "--format",
        "form",
        type=click.Choice((*FORMATS, *more)),
        default="terminal",
        show_default=True,
        help="How results are written to standard output.",
    )


def digits_option(function: F) -> F:
    """Add --digits to a command that prints measured values for people."""
    return click.option(
        "--digits",
        type=click.IntRange(1, 15),
        default=4,
        show_default=True,
        help="Decimals shown (terminal and markdown; json and csv are always exact).",
    )(function)


def look(digits: int = 4) -> "Look":
    """Return how results look: as wide as the terminal, plain and 100 columns wide in a pipe."""
    from searchmark.reports.table import Look

    if not sys.stdout.isatty():
        return Look(digits=digits)
    import shutil  # brings three compression libraries

    columns = shutil.get_terminal_size((Look().width, 24)).columns
    return Look(columns, color=not os.environ.get("NO_COLOR"), digits=digits)


def mind(caveats: Iterable[str], form: str) -> None:
    """Tell on standard error what a table rests on, where its format has no room for sentences."""
    if form == "csv":
        for caveat in caveats:
            say(f"mind: {caveat}")


def say(message: str) -> None:
    """Write a message to standard error; standard output is for results.

    A message that cannot be written is no reason to fail: exit codes say the same.
    """
    with suppress(OSError):
        click.echo(message, err=True)
