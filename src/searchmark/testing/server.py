"""A real HTTP server, in a process of its own, that misbehaves on command."""

import base64
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from threading import Lock
from types import TracebackType
from typing import Any

from searchmark.testing.dialects import Request
from searchmark.testing.plan import Plan


class MisbehavingServer:
    """Speaks one `dialect` on a free port of the loopback; a context manager that ends it.

    `dialect` is a name in `searchmark.testing.dialects.DIALECTS`, or ``module:attribute``, which
    the server's process imports with the path that Python has here. `patience_s` is how long the
    slow behaviours last where nobody ends them.
    """

    def __init__(self, dialect: str = "json", *, patience_s: float = 60.0) -> None:
        self._arguments = [dialect, str(patience_s)]
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()
        self._port = 0

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return self._port

    def behave(self, plan: Plan) -> None:
        """Do as the plan says from the next request on; waiting answers are given up."""
        self._tell({"do": "behave", **asdict(plan)})

    def queries(self) -> list[str]:
        """Return the query texts that came since the last `behave`, in the order they came in."""
        found: list[str] = self._tell({"do": "queries"})["queries"]
        return found

    def requests(self) -> list[Request]:
        """Return every request since the last `behave`, with headers and body."""
        found = self._tell({"do": "requests"})["requests"]
        return [Request(**{**r, "body": base64.b64decode(r["body"])}) for r in found]

    def n_connections(self) -> int:
        """Return how many connections were made since the server listens."""
        return int(self._tell({"do": "count"})["n_connections"])

    def __enter__(self) -> "MisbehavingServer":
        """Start the process and wait until it listens."""
        path = json.dumps([p for p in sys.path if p])
        code = (
            f"import sys; sys.path[:0] = [p for p in {path} if p not in sys.path]; "
            "from searchmark.testing.serving import main; main()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._port = self._read()["port"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _tell(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._process is None or self._process.stdin is None:
            raise RuntimeError("the server is not running: use it in a 'with' statement")
        with self._lock:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            return self._read()

    def _read(self) -> dict[str, Any]:
        if self._process is None or self._process.stdout is None:
            raise RuntimeError("the server is not running")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the server's process has ended; its standard error says why")
        found: dict[str, Any] = json.loads(line)
        return found
