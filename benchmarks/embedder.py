"""A small embedding endpoint to kill: vectors of hashed words, on loopback.

    .venv/bin/python benchmarks/embedder.py PORT [MODEL]

Prints its port (PORT may be 0) once it listens. The same text has the same vector in every process
of one MODEL, a word of up to 16 letters.
"""

import json
import sys
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 64
MODEL = sys.argv[2].encode() if len(sys.argv) > 2 else b""


def vector(text: str) -> list[float]:
    """Return the sum of the vectors of a text's words; no text gets zeros alone."""
    found = [0.0] * DIMENSIONS
    for word in text.lower().split() or ["-"]:
        bits = int.from_bytes(
            blake2b(word.encode(), digest_size=DIMENSIONS // 8, person=MODEL).digest()
        )
        for i in range(DIMENSIONS):
            found[i] += 1.0 if bits >> i & 1 else -1.0
    return [*found, 0.5]


class Handler(BaseHTTPRequestHandler):
    """Answers POST /v1/embeddings."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer with one vector a text."""
        if self.path != "/v1/embeddings":
            self.send_error(404)
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": i, "embedding": vector(t)} for i, t in enumerate(body["input"])]
        raw = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """The server; its port may be taken again at once."""

    request_queue_size = 512
    daemon_threads = True


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
