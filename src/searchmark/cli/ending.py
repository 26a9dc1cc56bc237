"""Signals that end the program: whoever sends one, it ends as it does by Ctrl-C.

What is under way is interrupted, and so every `finally` is run: schemas are dropped, programs under
test ended, answers kept.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")

SAME_WISH_S = 2.0
"""A signal that comes again so soon is the same wish: wrappers and terminals send some twice."""

AGAIN_S = 0.05
"""After so long a signal is sent again that came where nothing can be interrupted."""

INTERRUPTED = 128 + signal.SIGINT
"""What shells give for a command that was interrupted."""

_exit = os._exit  # before code under test is kept from it


def numbers() -> list[int]:
    """Return the signals that end the program, as far as the machine has them."""
    return [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class Ending:
    """Takes the signals: the first one interrupts, one that comes later ends all at once."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._since = 0.0
        self._process = os.getpid()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal; a forked process of code under test ends by it as processes do."""
        if os.getpid() != self._process:
            _exit(128 + number)
        if self.number is None:
            self.number, self._since = number, monotonic()
            raise KeyboardInterrupt
        if self.number is not None and monotonic() - self._since > SAME_WISH_S:
            _exit(128 + self.number)

    def swallowed(self, told: "sys.UnraisableHookArgs") -> bool:
        """Take the signal again where Python dropped what it raised, as in a ``__del__``."""
        if self.number is None or not isinstance(told.exc_value, KeyboardInterrupt):
            return False
        number, self.number = self.number, None
        Timer(AGAIN_S, os.kill, (os.getpid(), number)).start()  # when the hook is left again
        return True

    def code(self, code: int) -> int:
        """Return the exit code, which for an interrupted command says by which signal."""
        if code == INTERRUPTED and self.number is not None:
            return 128 + self.number
        return code

    @property
    def told(self) -> str:
        """What happened, for people."""
        if self.number in (None, signal.SIGINT):
            return "interrupted"
        return f"ended by {signal.Signals(self.number).name}"


@contextmanager
def listening() -> Iterator[Ending]:
    """Take the signals meanwhile, none once one came; those that are ignored stay so."""
    ending = Ending()
    before: dict[int, Any] = {}
    if current_thread() is main_thread():
        before = {n: signal.getsignal(n) for n in numbers()}
    ours = {n: was for n, was in before.items() if was not in (None, signal.SIG_IGN)}
    hook = sys.unraisablehook
    sys.unraisablehook = lambda told: None if ending.swallowed(told) else hook(told)
    for number in ours:
        signal.signal(number, ending)
    try:
        yield ending
    finally:
        sys.unraisablehook = hook
        # Python takes its own handlers away before it ends, and a signal would change the code then
        for number, was in ours.items():
            signal.signal(number, was if ending.number is None else signal.SIG_IGN)
