"""A small search server: `python server.py` listens on http://127.0.0.1:8123 until it is ended.

It answers twice: as the discovery API (GET), and with a JSON body, a few results a page (POST).
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

CORPUS = Path(__file__).with_name("corpus.jsonl")
PAGE = 2
"""As few as this, so that the example asks for more than one."""

DOCUMENTS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def search(query: str) -> list[tuple[str, int]]:
    """Return the ids of the documents that hold a word of the query, most words first."""
    asked = set(words(query))
    found = [(d["id"], len(asked & set(words(f"{d['title']} {d['text']}")))) for d in DOCUMENTS]
    return sorted(((i, n) for i, n in found if n), key=lambda hit: (-hit[1], hit[0]))


class Handler(BaseHTTPRequestHandler):
    """Answers both forms of the search."""

    protocol_version = "HTTP/1.1"  # keeps connections open
    wbufsize = -1  # head and body leave together: apart, each answer waits 40 ms for a receipt

    def do_GET(self) -> None:
        """Answer a search whose words are in the address."""
        parts = urlsplit(self.path)
        if parts.path != "/discovery/search":
            self.reply({"error": "no such path"}, 404)
            return
        asked = parse_qs(parts.query, keep_blank_values=True)
        found = search(asked["query"][0])
        shown = [{"resource": i} for i, _ in found[: int(asked["limit"][0])]]
        self.reply({"resources": shown, "partialResults": False, "total": len(found)})

    def do_POST(self) -> None:
        """Answer a search whose words are in a JSON body."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = search(asked["text"])
        start = asked["from"]
        shown = found[start : start + min(asked["size"], PAGE)]
        hits = [{"doc": {"id": i}, "score": n} for i, n in shown]
        self.reply({"hits": hits, "total": len(found)})

    def reply(self, answer: Any, status: int = 200) -> None:
        """Send an answer as JSON."""
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing for each request."""


def main() -> None:
    """Serve until the program is ended."""
    parser = argparse.ArgumentParser(description="Serve the example's documents.")
    parser.add_argument("--port", type=int, default=8123)
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
