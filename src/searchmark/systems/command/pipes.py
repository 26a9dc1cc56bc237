"""The three pipes of a running program, none of which is waited for alone."""

import os
import selectors
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from searchmark.errors import SystemFailedError

if TYPE_CHECKING:
    import subprocess

CHUNK = 65_536
KEPT = 65_536
"""Bytes of the end of standard error that are kept, for messages."""

DRAINING_S = 1.0
"""How long what a program left in its pipes is read: others may go on writing into them."""


class Pipes:
    """Feeds standard input and collects output, as far as it comes; a context manager."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", given: bytes | None, max_bytes: int
    ) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._process, self._max = process, max_bytes
        self._given = memoryview(given or b"")
        self._selector = selectors.PollSelector()
        for stream, events in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, events, stream)

    def __enter__(self) -> "Pipes":
        """Return the pipes."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for none any more; who started the program closes them."""
        self._selector.close()

    def wake_for(self, handle: int) -> None:
        """End waiting as soon as `handle` can be read."""
        self._selector.register(handle, selectors.EVENT_READ, None)

    def forget(self, handle: int) -> None:
        """Wait for `handle` no longer."""
        self._selector.unregister(handle)

    def move(self, wait_s: float | None) -> bool:
        """Move what can be moved, after waiting for it; tell whether anything was."""
        has_moved = False
        for key, _ in self._selector.select(wait_s):
            if key.data is None:
                continue
            has_moved = True
            move = self._write if key.events == selectors.EVENT_WRITE else self._read
            move(key.data)
        return has_moved

    def drain(self) -> None:
        """Read what lies in the pipes after the program has ended."""
        until = time.monotonic() + DRAINING_S
        while self.move(0) and time.monotonic() < until:
            pass

    def _write(self, stream: IO[bytes]) -> None:
        try:
            self._given = self._given[os.write(stream.fileno(), self._given[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # a program need not read what it is given
            self._given = self._given[:0]
        if not self._given:
            self._drop(stream)

    def _read(self, stream: IO[bytes]) -> None:
        try:
            data = os.read(stream.fileno(), CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._drop(stream)
        elif stream is self._process.stdout:
            self.stdout += data
            if len(self.stdout) > self._max:
                raise SystemFailedError(
                    f"printed more than {self._max:,} bytes and was ended; "
                    "max_bytes sets how many may come"
                )
        else:
            self.stderr += data
            del self.stderr[:-KEPT]

    def _drop(self, stream: IO[bytes]) -> None:
        self._selector.unregister(stream)
        with suppress(OSError):
            stream.close()
