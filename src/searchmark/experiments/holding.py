"""One process at a time: a file that is held while something is written."""

from contextlib import suppress
from typing import IO, Any

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows has none; two processes at once are not noticed
    fcntl = None  # type: ignore[assignment]


def hold(stream: IO[Any]) -> bool:
    """Take a file until it is closed; False where another process has it.

    Some network drives know no locks: there, as on Windows, two processes are not noticed.
    """
    if fcntl is not None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True


def wait_for(stream: IO[Any]) -> None:
    """Take a file until it is closed, as soon as no other process has it."""
    if fcntl is not None:
        with suppress(OSError):  # a network drive without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
