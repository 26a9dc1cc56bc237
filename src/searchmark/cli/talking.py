"""The guide's two ways to speak: with a person at a terminal, and with nobody."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import click

from searchmark.cli.keys import keys, wait_for_input
from searchmark.cli.output import look, say
from searchmark.errors import InputError
from searchmark.experiments.guiding.talk import Left, Question
from searchmark.reports.table import PLAIN, Look, clean
from searchmark.reports.terminal import paragraph

T = TypeVar("T")


class Live:
    """A person at a terminal."""

    is_live = True

    @property
    def look(self) -> Look:
        """As wide as the window is now; plain on a terminal that knows nothing else."""
        found = look()
        return found._replace(color=False) if os.environ.get("TERM") == "dumb" else found

    @property
    def height(self) -> int:
        """How many lines the window has now."""
        return shutil.get_terminal_size().lines

    def tell(self, text: str) -> None:
        """Say it on standard output, where the person reads, broken at the window's width."""
        width = self.look.width
        click.echo("\n".join(paragraph(line, width=width) for line in text.split("\n")))

    def show(self, text: str) -> None:
        """Say it on standard output as it is."""
        click.echo(text)

    def ask(self, question: Question[T]) -> T:
        """Ask until the answer can be used; q and the end of input leave."""
        self.tell(question.text)
        while True:
            text = _line(f"[{question.default}] > " if question.default else "> ")
            if text.lower() == "q":
                raise Left
            if not text and question.default is None:
                continue
            try:
                return question.read(text or question.default or "")
            except InputError as error:
                self.tell(str(error))

    def keys(self) -> AbstractContextManager[Callable[[], str]]:
        """Give the terminal's keys."""
        return keys()


def _line(prompt: str) -> str:
    """Read a line; bytes that are no text become marks."""
    click.echo(prompt, nl=False)
    if os.name == "posix":
        wait_for_input(sys.stdin.fileno())
    raw = sys.stdin.buffer.readline()
    if not raw:
        click.echo()
        raise Left
    return raw.decode(sys.stdin.encoding or "utf-8", "replace").strip()


class Silent:
    """Nobody: everything comes from files and options."""

    is_live = False
    look = PLAIN
    height = 24

    def tell(self, text: str) -> None:
        """Say it on standard error: standard output is for results."""
        self.show("\n".join(map(clean, text.strip("\n").split("\n"))))

    def show(self, text: str) -> None:
        """Say it on standard error as it is."""
        say(text)

    def ask(self, question: Question[T]) -> T:
        """Take the default; without one say which option answers."""
        if question.default is None:
            raise InputError(f"{question.missing}, and nobody can be asked", fix=question.option)
        return question.read(question.default)

    def keys(self) -> AbstractContextManager[Callable[[], str]]:
        """Give nothing, for ever."""
        return _no_keys()


@contextmanager
def _no_keys() -> Iterator[Callable[[], str]]:
    yield str
