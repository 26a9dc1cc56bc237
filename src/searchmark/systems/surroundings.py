"""What code under test may change of the process, and is the program's own again afterwards."""

import locale
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType, MappingProxyType
from typing import Any

KEPT_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals by which people end the program; who takes the others over may keep them."""


class Apart:
    """Something of which a process has one, and the program and code under test one each.

    Code under test finds it as it left it, unless the program itself has changed its own meanwhile.
    """

    def __init__(self, read: Callable[[], str | None], put: Callable[[str], None]) -> None:
        self._read, self._put = read, put
        self._own: str | None = None
        self._theirs: str | None = None

    def take(self) -> None:
        """Note what is the program's, and put what is theirs."""
        own = self._read()
        if self._theirs is not None and own == self._own:
            self._put(self._theirs)
        self._own = own

    def give(self) -> None:
        """Note what is theirs, and put what is the program's."""
        now = self._read()
        self._theirs = None if now == self._own else now
        if self._own is not None and now != self._own:
            self._put(self._own)


class Surroundings:
    """The working folder, the locale and the mask of new files.

    A module may choose the first two when it is imported, and find them so when it is called; the
    program's never change.
    """

    def __init__(self) -> None:
        self._folder = Apart(_working_folder, _go)
        self._locale = Apart(_current_locale, _speak)
        self._mask = 0

    def take(self) -> None:
        """Hand them to code under test."""
        self._folder.take()
        self._locale.take()
        self._mask = os.umask(0o077)  # it can only be read by setting it
        os.umask(self._mask)

    def give(self) -> None:
        """Take them back."""
        self._folder.give()
        self._locale.give()
        os.umask(self._mask)


class Person:
    """Whoever may end the program: tells a signal from an exception that looks like one."""

    def __init__(self, handlers: Mapping[int, Any] = MappingProxyType({})) -> None:
        self._handlers = handlers
        self.has_interrupted = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take the signal as it was taken before, and note that it came."""
        try:
            self._handlers[number](number, frame)
        except KeyboardInterrupt:
            self.has_interrupted = True
            raise


@contextmanager
def attended() -> Iterator[Person]:
    """Note whether a person interrupts what goes on meanwhile; only the main thread is told.

    What code under test did to these signals itself is undone.
    """
    if current_thread() is not main_thread():
        yield Person()
        return
    numbers = [getattr(signal, name) for name in KEPT_SIGNALS if hasattr(signal, name)]
    before = {n: signal.getsignal(n) for n in numbers}
    person = Person(before)
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, person)
    try:
        yield person
    finally:
        for number, was in before.items():
            if was is not None and signal.getsignal(number) is not was:
                signal.signal(number, was)


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - it is asked twice a call, and a path costs more
    except OSError:
        return None  # it was removed


def _go(folder: str) -> None:
    with suppress(OSError):  # it was removed
        _CHDIR(folder)


def _current_locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _speak(language: str) -> None:
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, language)


_CHDIR: Callable[[str], None] = os.chdir
