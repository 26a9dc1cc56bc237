"""Ends what called programs leave behind; also runs alone, to do so once Searchmark is gone.

Only the standard library is used, as the file is run by its path. Alone, it reads ``+123`` and
``-123`` (a process group that began, one that ended) and ends what is left when its input ends:
that happens however Searchmark ended, by SIGKILL too.

A process is found by its group, and on Linux also by a variable of the environment that it
inherited, whatever group or session it moved to. Not found is one that left its group and dropped
the variable, and out of reach one that took another user's rights.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MARK = "SEARCHMARK_CALL"
"""The variable that every called program, and what it starts, inherits."""

PROCESSES = Path("/proc")
PATIENCE_S = 2.0
"""How long processes are looked for that begin others while they are ended."""


def end_group(group: int) -> None:
    """End every process of a group that is left."""
    with suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a zombie
        os.killpg(group, signal.SIGKILL)


def end_marked(value: str) -> None:
    """End every process whose mark begins with `value`, until none is left."""
    mark = f"{MARK}={value}".encode()
    until = time.monotonic() + PATIENCE_S
    pause = 0.001
    while any([_end(pid, mark) for pid in _pids(mark)]) and time.monotonic() < until:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _pids(mark: bytes) -> list[int]:
    own = os.getpid()
    try:
        entries = [path.name for path in PROCESSES.iterdir()]
    except OSError:
        return []  # no Linux: groups are all that is known
    pids = (int(entry) for entry in entries if entry.isdigit())
    return [pid for pid in pids if pid != own and _is_marked(pid, mark)]


def _is_marked(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as stream:  # noqa: PTH123
            return b"\0" + mark in b"\0" + stream.readall()
    except OSError:  # it ended, or is another user's
        return False


def _end(pid: int, mark: bytes) -> bool:
    """End a process if it is still the one that was found: a number may be given again."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _is_marked(pid, mark):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def watch(lines: Iterable[str], prefix: str) -> None:
    """Keep the list of groups that are under way; at its end, end them and all that is marked."""
    groups: set[int] = set()
    for line in lines:
        with suppress(ValueError):
            number = int(line)
            groups.add(number) if number > 0 else groups.discard(-number)
    for group in groups:
        end_group(group)
    end_marked(prefix)


if __name__ == "__main__":
    watch(sys.stdin, sys.argv[1])
