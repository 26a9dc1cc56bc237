"""One run of a program: in a session of its own, within its limits, with nothing left behind."""

import errno
import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.command import warden
from searchmark.systems.command.pipes import Pipes
from searchmark.systems.command.warden import MARK, end_group, end_marked

REAPING_S = 5.0
"""How long an ended program is waited for: one that the system itself holds up cannot be helped."""

LOOKING_S, LOOKING_WITHOUT_HANDLE_S = 60.0, 0.02
"""How often it is looked whether a program has ended: only Linux tells by itself."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, where, with which environment, and within which limits."""

    argv: tuple[bytes, ...]
    cwd: Path
    environment: Mapping[str, str]
    stdin: bytes | None = None
    timeout_s: float | None = None
    max_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended: exit code (below 0: the signal), what it printed, how long it ran."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float


class Processes:
    """Runs programs and ends what they leave; a context manager that ends all still under way.

    A warden is told of each group. It ends them when it hears no more: this process may be killed.
    """

    def __init__(self) -> None:
        self._prefix = f"{os.environ.get(MARK, '')}{uuid4().hex}."
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._under_way: set[int] = set()
        self._is_closed = False
        self._warden: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Processes":
        """Start the warden.

        Raises
        ------
        InputError
            Whoever started this process made it impossible to learn how others end.
        """
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            raise InputError(
                "the exit codes of programs cannot be had, as the signal SIGCHLD is ignored here",
                fix="start Searchmark from a shell, or set the signal to its default first",
            )
        command = [sys.executable, "-I", "-S", warden.__file__, self._prefix]
        null = subprocess.DEVNULL
        with suppress(OSError):  # no interpreter of its own: nothing outlives a kill but by luck
            self._warden = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=null, stderr=null, start_new_session=True
            )
        return self

    def __exit__(self, *_: object) -> None:
        """End every program that is still under way, wherever it was started."""
        with self._lock:
            self._is_closed = True
            for group in self._under_way:
                end_group(group)
        end_marked(self._prefix)
        if self._warden is not None and self._warden.stdin is not None:
            with suppress(OSError):
                self._warden.stdin.close()
            self._warden.wait()

    def run(self, program: Program) -> Finished:
        """Run a program to its end, and end what it left.

        Raises
        ------
        SystemFailedError
            It could not be started, printed too much, or the system was closed meanwhile.
        SystemTimeoutError
            It did not end in time.
        """
        if self._is_closed:
            raise SystemFailedError("was asked after it had been closed")
        mark = f"{self._prefix}{next(self._numbers)};"
        began = time.monotonic()
        with (
            self._started(program, mark) as process,
            Pipes(process, program.stdin, program.max_bytes) as pipes,
        ):
            try:
                _wait(process, pipes, program, began)
                seconds = time.monotonic() - began
            finally:
                end_group(process.pid)
                end_marked(mark)
            pipes.drain()
        if process.returncode is None:
            raise SystemFailedError("cannot be ended: the system itself holds it up")
        if self._is_closed and process.returncode < 0:
            raise SystemFailedError("was ended, as the run was")
        return Finished(process.returncode, bytes(pipes.stdout), bytes(pipes.stderr), seconds)

    @contextmanager
    def _started(self, program: Program, mark: str) -> "Iterator[subprocess.Popen[bytes]]":
        process = _start(program, mark)
        try:
            self._note(process.pid)
            yield process
        finally:
            end_group(process.pid)  # before its number is free to be given again
            self._note(-process.pid)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(REAPING_S)

    def _note(self, number: int) -> None:
        """Note that a group began, or that one ended (below 0), and tell the warden."""
        with self._lock:
            if number > 0 and self._is_closed:
                raise SystemFailedError("was ended, as the run was")
            if number > 0:
                self._under_way.add(number)
            else:
                self._under_way.discard(-number)
            if self._warden is not None and self._warden.stdin is not None:
                with suppress(OSError, ValueError):  # it was ended, or is no longer needed
                    self._warden.stdin.write(b"%d\n" % number)
                    self._warden.stdin.flush()


def _start(program: Program, mark: str) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            program.argv,
            cwd=program.cwd,
            env={**program.environment, MARK: mark},
            stdin=subprocess.DEVNULL if program.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        may_go_well = error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        raise SystemFailedError(_unstarted(error), retry=may_go_well) from None


def _unstarted(error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return (
            "cannot be started: the query is too long for a command line; "
            'give it on standard input: stdin = "{query}"'
        )
    if error.errno == errno.ENOEXEC:
        return "cannot be started: it is no program, and its first line names none (#!...)"
    return f"cannot be started ({error.strerror})"


def _wait(process: "subprocess.Popen[bytes]", pipes: Pipes, program: Program, began: float) -> None:
    """Move bytes until the program itself has ended: others may hold its output open."""
    handle = _handle(process.pid)
    try:
        if handle is not None:
            pipes.wake_for(handle)
        until = began + (math.inf if program.timeout_s is None else program.timeout_s)
        while not _has_ended(process):
            left = until - time.monotonic()
            if left <= 0:
                raise SystemTimeoutError(f"did not end within {program.timeout_s:g} s")
            pipes.move(min(left, LOOKING_S if handle is not None else LOOKING_WITHOUT_HANDLE_S))
    finally:
        if handle is not None:
            pipes.forget(handle)
            os.close(handle)


def _handle(pid: int) -> int | None:
    """Return what can be waited for like a pipe and tells the end, where the system has it."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Tell whether the program has ended; its number stays taken where the system can do that."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, how) is not None
    except ChildProcessError:  # after which Popen would say 0
        raise SystemFailedError("ended, and its exit code was taken by somebody else") from None
