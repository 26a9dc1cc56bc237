"""What keeps code under test from ending the program, or writing among its results."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock, Thread, current_thread, get_ident
from threading import enumerate as all_threads
from typing import Any
from weakref import WeakSet

from searchmark.errors import SystemFailedError, SystemTimeoutError
from searchmark.systems.streams import Kept, Sorted
from searchmark.systems.surroundings import Surroundings, attended

STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
ENDINGS = ("_exit", "execv", "execve")
"""What of `os` ends a process at once, past every `except` and `finally`."""

MOVES = ("chdir", "fchdir")
"""What of `os` moves the working folder: for calls that are waited for."""

OWN_THREADS = "searchmark-"
"""How the names of this program's threads begin."""

Redact = Callable[[str], str]


class Call:
    """One call of code under test: what it did to end the program, and whether anybody waits.

    `thread` is the one that waits for it: that which made it, though a loop may do the work.
    """

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.thread = get_ident()
        self.is_abandoned = False

    def abandon(self) -> None:
        """Wait for it no longer: results may be written, and what it still writes is none."""
        _PROCESS.abandon(self)


_CALL: ContextVar[Call | None] = ContextVar("searchmark_call", default=None)
"""The call that a thread or a task of asyncio is in; tasks and callbacks inherit it."""


@contextmanager
def guarded(call: Call | None = None) -> Iterator[Call]:
    """Run code under test: whatever it writes goes to standard error, and it cannot exit.

    ``exit()``, ``os._exit()``, ``os.exec*()`` and a KeyboardInterrupt that no person caused raise
    SystemFailedError instead, be it caught in there or not; a person's own passes, also where the
    code catches it. Closed streams are open again afterwards, and so is a cleared ``sys.path``; the
    working folder is the program's. A forked process that comes back from the code ends. Many
    threads may be in here at once. What `hide` takes out is not written through Python's streams.

    Not stopped are signals, and C code that ends the process or keeps text back until it ends.
    """
    call, process = call or Call(), os.getpid()
    token = _CALL.set(call)
    with _imports(), attended() as person:
        raised: BaseException | None = None
        try:
            _PROCESS.enter(call)
            yield call
        except BaseException as error:
            raised = error
            if not _noted(error, call) and not person.has_interrupted:
                raise
        finally:
            if os.getpid() != process:
                _PROCESS.end_child(raised)
            _PROCESS.leave(call)
            _CALL.reset(token)
    if person.has_interrupted:
        raise KeyboardInterrupt
    if call.ended:
        raise SystemFailedError(f"{call.ended[0]}, which would have ended the program")


def _noted(error: BaseException, call: Call) -> bool:
    """Note what would end the program; the first one is told."""
    if isinstance(error, SystemExit):
        call.ended.append(f"called exit({error.code!r})")
    elif isinstance(error, KeyboardInterrupt):
        call.ended.append(f"raised {type(error).__name__}")
    else:
        return False
    return True


def abandon(thread: int) -> None:
    """Wait no longer for the calls that the thread with this number waits for."""
    for call in _PROCESS.calls():
        if call.thread == thread:
            call.abandon()


def hide(redact: Redact) -> None:
    """From now on put what code under test writes through Python's streams through `redact`."""
    _PROCESS.redact = redact


class _Process:
    """What code under test shares with the program: streams, descriptors, calls that end it.

    They are replaced while at least one call is waited for. While only abandoned calls go on, or
    threads that calls have left behind, the program writes to its own streams, and those to
    standard error.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._waited: set[Call] = set()
        self._left: set[Call] = set()
        self._streams: dict[str, Any] = {}
        self._descriptors: list[tuple[int, int]] = []
        self._endings: dict[str, Callable[..., Any]] = {}
        self._surroundings = Surroundings()
        self._threads: WeakSet[Thread] = WeakSet()
        self._strays: WeakSet[Thread] = WeakSet()
        self._owner = 0
        self.redact: Redact | None = None

    def calls(self) -> list[Call]:
        """Return the calls that are waited for."""
        with self._lock:
            return list(self._waited)

    def enter(self, call: Call) -> None:
        """Replace everything, unless another call has done so."""
        with self._lock:
            if call.is_abandoned:
                raise SystemTimeoutError("was given up before it began")
            if not self._waited:
                self._owner = os.getpid()
                self._threads = WeakSet(all_threads())
                self._surroundings.take()
                self._take_streams()
                self._take_descriptors()
                self._take_endings()
            self._waited.add(call)

    def leave(self, call: Call) -> None:
        """Put everything back where this is the last call."""
        with self._lock:
            self._left.discard(call)
            self._end(call)

    def abandon(self, call: Call) -> None:
        """Do the same while the call goes on."""
        with self._lock:
            call.is_abandoned = True
            if call in self._waited:
                self._left.add(call)
                self._end(call)

    def _end(self, call: Call) -> None:
        if call in self._waited:
            self._waited.remove(call)
            self._mend_descriptors()
            if self._waited:
                return
            self._note_strays()
            self._give_descriptors()
            self._give_streams()
            self._surroundings.give()
        if not self._waited and not self._is_sorting():
            self._unsort_streams()
            self._give_endings()

    def _note_strays(self) -> None:
        """Note the threads that calls have started; those of this program are named after it."""
        for thread in all_threads():
            if thread not in self._threads and not thread.name.startswith(OWN_THREADS):
                self._strays.add(thread)

    def _is_sorting(self) -> bool:
        """Tell whether code under test goes on though nobody waits for it."""
        return bool(self._left) or any(thread.is_alive() for thread in list(self._strays))

    def _take_streams(self) -> None:
        """Hand out standard error for every stream."""
        now = {name: getattr(sys, name) for name in STREAMS}
        self._streams = {n: s.own if isinstance(s, Sorted) else s for n, s in now.items()}
        error = self._streams["stderr"]
        kept = None if error is None else Kept(error, self._without_secrets)
        for name in STREAMS:
            setattr(sys, name, kept)

    def _give_streams(self) -> None:
        """Put the streams back, sorted by who writes where code under test goes on."""
        error, is_sorting = self._streams.get("stderr"), self._is_sorting()
        for name, stream in self._streams.items():
            if not is_sorting or stream is None or error is None:
                setattr(sys, name, stream)
            else:
                kept = Kept(error, self._without_secrets)
                setattr(sys, name, Sorted(stream, kept, self.is_outside))

    def _unsort_streams(self) -> None:
        """Take the sorting out again, where nobody has put another stream in its place."""
        for name in STREAMS:
            if isinstance(now := getattr(sys, name), Sorted):
                setattr(sys, name, now.own)

    def _take_descriptors(self) -> None:
        """Do the same for what writes past Python's streams, such as a process that is started."""
        self._descriptors = []
        with suppress(OSError):  # a stream that is not open needs no keeping
            for number in (2, 1):
                self._descriptors.append((number, os.dup(number)))
            os.dup2(2, 1)

    def _mend_descriptors(self) -> None:
        """Open again what a call has closed; the others still write to standard error."""
        for number, _ in self._descriptors:
            with suppress(OSError):
                os.dup2(self._descriptors[0][1], number)

    def _give_descriptors(self) -> None:
        for number, copy in self._descriptors:
            with suppress(OSError):
                os.dup2(copy, number)
                os.close(copy)
        self._descriptors = []

    def _take_endings(self) -> None:
        for name, refuse in _REFUSING.items():
            if getattr(os, name) is not refuse:
                self._endings[name] = getattr(os, name)
                setattr(os, name, refuse)

    def _give_endings(self) -> None:
        for name, real in self._endings.items():
            setattr(os, name, real)

    def end(self, name: str, *arguments: Any, **keys: Any) -> Any:
        """End the process, or note that code under test wanted to."""
        is_forked = os.getpid() != self._owner  # such a process ends itself so, and should
        if is_forked or self.is_outside():
            return self._endings[name](*arguments, **keys)
        shown = repr(arguments[0]) if name == "_exit" and arguments else "..."
        call = _CALL.get()
        for blamed in [call] if call is not None else self.calls():  # a thread that one started
            blamed.ended.append(f"called os.{name}({shown})")
        raise SystemExit

    def end_child(self, raised: BaseException | None) -> None:
        """End a forked process before it goes on as the program, beside the program."""
        code = raised.code if isinstance(raised, SystemExit) else 0 if raised is None else 1
        self._endings["_exit"](code if isinstance(code, int) else 0 if code is None else 1)

    def move(self, name: str, *arguments: Any, **keys: Any) -> None:
        """Move the working folder, unless it is the program's by now."""
        call = _CALL.get()
        if call is not None and call.is_abandoned:
            raise SystemTimeoutError("was given up, and cannot move the program's working folder")
        self._endings[name](*arguments, **keys)

    def is_outside(self) -> bool:
        """Tell whether whoever asks is the program itself, no call of code under test."""
        if _CALL.get() is not None or self._waited:
            return False
        return current_thread() not in self._strays

    def _without_secrets(self, text: str) -> str:
        return text if self.redact is None else self.redact(text)


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


def _refusing(name: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **keys: Any) -> Any:
        return _PROCESS.end(name, *arguments, **keys)

    return refuse


def _moving(name: str) -> Callable[..., None]:
    def move(*arguments: Any, **keys: Any) -> None:
        _PROCESS.move(name, *arguments, **keys)

    return move


_REFUSING = {name: _refusing(name) for name in ENDINGS} | {
    name: _moving(name) for name in MOVES if hasattr(os, name)
}
_PROCESS = _Process()
"""One a process, as its streams and descriptors are."""
