"""The end of the process after code under test ran in it: soon, and with nothing more to read."""

import os
import sys
from contextlib import suppress
from threading import Thread
from time import sleep

GRACE_S = 10.0
"""For so long what code under test left running (threads, processes) may end by itself."""

_END = os._exit  # code under test meets another one


def leave(code: int) -> None:
    """Let the process end with this code: standard output is over, and nothing keeps it for long.

    Python waits for threads, pools and child processes, and calls what is registered for its end.
    """
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # all of ours is written
    Thread(target=_end, args=(code,), daemon=True, name="searchmark-end").start()


def _end(code: int) -> None:
    sleep(GRACE_S)
    with suppress(Exception):
        _end_children()
    with suppress(Exception):
        sys.stderr.write("searchmark: code under test went on behind its calls, and was ended\n")
        sys.stderr.flush()
    _END(code)


def _end_children() -> None:
    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
