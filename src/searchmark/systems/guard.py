"""What keeps code under test from ending the program, or writing among its results."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from searchmark.errors import SystemFailedError

STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
ENDINGS = ("_exit", "execv", "execve")
"""What of `os` ends a process at once, past every `except` and `finally`."""


@contextmanager
def guarded() -> Iterator[None]:
    """Run code under test: whatever it writes goes to standard error, and it cannot exit.

    ``exit()``, ``os._exit()`` and ``os.exec*()`` raise SystemFailedError instead, be it caught in
    there or not; closed streams are open again afterwards, and so is a cleared ``sys.path``.

    Not stopped are signals, C code that ends the process or keeps text back until it ends, and
    threads that go on after the call.
    """
    ended: list[str] = []
    with _imports(), _descriptors(), _streams(), _endings(ended):
        try:
            yield
        except SystemExit as error:
            ended.append(f"exit({error.code!r})")  # the first one is told
    if ended:
        raise SystemFailedError(f"called {ended[0]}, which would have ended the program")


class _Kept:
    """A stream that can be written to but not closed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        return _Kept(found) if name in ("buffer", "raw") else found

    def __enter__(self) -> "_Kept":
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def close(self) -> None:
        """Write what is kept back, and stay open."""
        self.flush()

    def detach(self) -> "_Kept":
        """Give what lies below, as it stands."""
        return _Kept(self._stream.buffer)


@contextmanager
def _streams() -> Iterator[None]:
    """Hand out standard error for every stream."""
    before = {name: getattr(sys, name) for name in STREAMS}
    kept = None if sys.stderr is None else _Kept(sys.stderr)
    for name in STREAMS:
        setattr(sys, name, kept)
    try:
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)


@contextmanager
def _descriptors() -> Iterator[None]:
    """Do the same for what writes past Python's streams, such as a process that is started."""
    kept: list[tuple[int, int]] = []
    with suppress(OSError):  # a stream that is not open needs no keeping
        for number in (2, 1):
            kept.append((number, os.dup(number)))
        os.dup2(2, 1)
    try:
        yield
    finally:
        for number, copy in kept:
            with suppress(OSError):
                os.dup2(copy, number)
                os.close(copy)


@contextmanager
def _imports() -> Iterator[None]:
    """Put back what imports need: entries of the path, and modules where all were thrown out."""
    path, modules = list(sys.path), dict(sys.modules)
    try:
        yield
    finally:
        if "searchmark" not in sys.modules:
            sys.modules.update(modules)
        now = getattr(sys, "path", None)
        if not isinstance(now, list):
            now = sys.path = []
        now.extend(entry for entry in path if entry not in now)


@contextmanager
def _endings(ended: list[str]) -> Iterator[None]:
    """Make the calls that end a process raise; `ended` notes them."""
    before = {name: getattr(os, name) for name in ENDINGS}
    for name, real in before.items():
        setattr(os, name, _refusing(name, real, ended))
    try:
        yield
    finally:
        for name, real in before.items():
            setattr(os, name, real)


def _refusing(name: str, real: Callable[..., Any], ended: list[str]) -> Callable[..., Any]:
    owner = os.getpid()

    def refuse(*arguments: Any, **keys: Any) -> Any:
        if os.getpid() != owner:  # a forked process ends itself in this way, and should
            return real(*arguments, **keys)
        now = getattr(os, name)
        if now not in (refuse, real):  # `from os import _exit` in an earlier call: note it in this
            return now(*arguments, **keys)
        shown = repr(arguments[0]) if name == "_exit" and arguments else "..."
        ended.append(f"os.{name}({shown})")
        raise SystemExit

    return refuse
