"""A regular expression with a time limit: matched by processes that can be ended."""

import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.errors import SystemFailedError
from searchmark.systems.command import matcher

LIMIT_S = 10.0
"""How long one text may take. A pattern that needs more for what a program prints is wrong."""


class Found(NamedTuple):
    """One match: from where to where, its id, and its groups called score and tokens."""

    start: int
    end: int
    doc_id: str | None
    groups: dict[str, str | None]


@dataclass(slots=True)
class _Worker:
    """A process and how it is spoken to."""

    process: "subprocess.Popen[bytes]"

    def ask(self, head: dict[str, Any], text: bytes) -> bytes:
        """Return its answer; nothing where it ended before."""
        given, answers = self.process.stdin, self.process.stdout
        if given is None or answers is None:
            return b""
        try:
            given.write(json.dumps(head).encode() + b"\n" + text)
            given.flush()
        except BrokenPipeError:
            return b""
        return answers.readline()

    def end(self) -> int:
        """End it and return how it ended."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # of what was not written yet
                    stream.close()
        return self.process.wait()


class Matching:
    """Looks for one pattern, any number of threads at once; a context manager that ends them.

    `key` is where the pattern stands in the project file. Processes begin when they are needed and
    are used again.
    """

    def __init__(self, pattern: str, key: str, flags: int = 0, *, limit_s: float = LIMIT_S) -> None:
        self._pattern = {"pattern": pattern, "flags": flags, "limit_s": limit_s}
        self._key, self._limit_s = key, limit_s
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def find(self, text: str, most: int) -> list[Found]:
        """Return the first matches, `most` of them."""
        return [Found(*one) for one in self._ask(text, most, is_whole=False)]

    def is_all_of(self, text: str) -> bool:
        """Tell whether the whole text matches."""
        return bool(self._ask(text, 1, is_whole=True)[0])

    def __enter__(self) -> "Matching":
        """Return it; no process is begun yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes that have nothing to do."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def _ask(self, text: str, most: int, *, is_whole: bool) -> list[Any]:
        raw = text.encode()
        worker = self._taken()
        is_good = False
        try:
            answer = worker.ask({"length": len(raw), "most": most, "whole": is_whole}, raw)
            is_good = answer.endswith(b"\n")
        finally:  # Ctrl-C leaves none behind that would answer the next one with this one's
            code = 0 if is_good and self._kept(worker) else worker.end()
        if not is_good:
            raise SystemFailedError(self._told(code, len(raw)))
        found: list[Any] = json.loads(answer)
        return found

    def _taken(self) -> _Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(matcher.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the command
        )
        worker = _Worker(process)
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(self._pattern).encode() + b"\n")
        return worker

    def _kept(self, worker: _Worker) -> bool:
        with self._lock:
            if not self._is_closed:
                self._idle.append(worker)
            return not self._is_closed

    def _told(self, code: int, length: int) -> str:
        if code == -signal.SIGALRM:
            return (
                f"printed {length:,} bytes in which {self._key} was looked for longer than "
                f"{self._limit_s:g} s; repetitions inside repetitions, as in (a+)+, try every way "
                "to divide a text"
            )
        return f"{self._key} could not be matched (its process ended with {code})"
