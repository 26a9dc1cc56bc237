"""One key from a terminal, without waiting for Enter; whole lines where that cannot be had."""

import codecs
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    import termios
except ImportError:  # pragma: no cover - Windows has none: keys are then lines
    termios = None  # type: ignore[assignment]

ENDED = ""
"""What is read when nobody can type any more: Ctrl-D, or a closed terminal."""

ESCAPE = "\x1b"
"""Any key that sends more than a character: arrows, function keys."""

_END_OF_TEXT = "\x04"
_AFTER_ESCAPE = 0.02
"""Seconds within which the rest of a key's sequence has come."""

ReadKey = Callable[[], str]


@contextmanager
def keys() -> Iterator[ReadKey]:
    """Give a function that waits for one key of the terminal on standard input and returns it.

    While it is open, keys are neither shown nor kept back until Enter; Ctrl-C interrupts as ever.
    What was typed ahead is not lost. Without a terminal of this kind the first character of a line
    counts.
    """
    settings = _settings()
    if settings is None:
        yield _line_key
        return
    stdin = sys.stdin.fileno()
    changed = [*settings]
    changed[3] &= ~(termios.ECHO | termios.ICANON)
    changed[6] = [*settings[6]]
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0

    def take(*_: object) -> None:
        termios.tcsetattr(stdin, termios.TCSADRAIN, changed)

    take()
    # whoever stopped the program with Ctrl-Z and comes back would find the shell's settings
    before = signal.signal(signal.SIGCONT, take)
    try:
        yield lambda: _key(stdin)
    finally:
        signal.signal(signal.SIGCONT, before)
        termios.tcsetattr(stdin, termios.TCSADRAIN, settings)


def _settings() -> list[Any] | None:
    """Return the terminal's settings; None where standard input is no terminal that has any."""
    if termios is None:
        return None
    try:
        return termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError):
        return None


def _key(source: int) -> str:
    """Read one character, however many bytes it has, and the rest of an escape sequence with it."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    while not text:
        try:
            wait_for_input(source)
            byte = os.read(source, 1)
        except OSError:  # the terminal is gone
            return ENDED
        if not byte:
            return ENDED
        text = decoder.decode(byte)
    if text == ESCAPE:
        _skip_sequence(source)
    return ENDED if text == _END_OF_TEXT else text


def wait_for_input(source: int) -> None:
    """Wait until something can be read, or Ctrl-C interrupts.

    Polars has reads go on after a signal, as if none had come; a wait like this one ends at once.
    """
    select.select([source], [], [])


def _skip_sequence(source: int) -> None:
    """Read what a key sends after the escape: one byte, or up to a letter after [ and O."""
    begun = False
    while select.select([source], [], [], _AFTER_ESCAPE)[0]:
        byte = os.read(source, 1)
        if not begun and byte in (b"[", b"O"):
            begun = True
        elif not begun or byte == b"" or b"@" <= byte <= b"~":
            return


def _line_key() -> str:
    line = sys.stdin.readline()
    return line.strip()[:1] or "\n" if line else ENDED
