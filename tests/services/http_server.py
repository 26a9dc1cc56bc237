"""A server of the tests in a process of its own: answers well, and in every wrong way.

``python http_server.py [CERT KEY [CA]]`` prints its port. The path says what happens; ``/log``
gives every request that came, as it came: the number of its connection, the raw path, the body.
"""

import gzip
import json
import ssl
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOG: list[dict[str, Any]] = []
LOCK = Lock()
CONNECTIONS = count(1)
DOCUMENTS = [f"d{i}" for i in range(45)]


def hits(*ids: str, **more: Any) -> bytes:
    found = [{"id": doc_id, "score": 9.5 - i} for i, doc_id in enumerate(ids)]
    return json.dumps({"hits": found, "total": len(ids), **more}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with LOCK:
            self.number = next(CONNECTIONS)

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        if parts.path == "/log":
            self.reply(json.dumps(LOG).encode())
            return
        entry = {
            "connection": self.number,
            "method": self.command,
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "body": body.decode(),
        }
        with LOCK:
            LOG.append(entry)
        self.asked = {n: v[-1] for n, v in parse_qs(parts.query, keep_blank_values=True).items()}
        name = parts.path.strip("/").replace("-", "_").split("/")[0]
        getattr(self, f"on_{name}")()

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        usual = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for header, value in {**usual, **headers}.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def on_ok(self) -> None:
        self.reply(hits("b", "a", "c"), int(self.asked.get("status", 200)))

    def on_lists(self) -> None:
        self.reply(b'{"hits": [[], []]}')

    def on_numbers(self) -> None:
        self.reply(b'{"hits": [{"id": 12, "score": 1}, {"id": "12", "score": 1}]}')

    def on_status(self) -> None:
        status = int(self.asked["status"])
        body = json.dumps({"error": self.asked.get("said", "no")}).encode()
        headers = {"Retry_After": self.asked["after"]} if "after" in self.asked else {}
        self.reply(b"" if status == 204 else body, status, **headers)

    def on_secret(self) -> None:
        self.reply(json.dumps({"error": dict(self.headers)}).encode(), 403)

    def on_html(self) -> None:
        page = b"<!DOCTYPE html><html><head><title>Please log in</title></head></html>"
        self.reply(page, Content_Type="text/html")

    def on_nothing(self) -> None:
        self.reply(b"")

    def on_raw(self) -> None:
        self.reply(self.asked["body"].encode())

    def on_trickle(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.drip(b" " * 1000)

    def on_trickle_head(self) -> None:
        self.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000)

    def drip(self, text: bytes) -> None:
        try:
            for byte in text:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            self.close_connection = True

    def on_stall(self) -> None:
        time.sleep(20)

    def on_cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"hits": []}')
        self.close_connection = True

    def on_cut_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b'c\r\n{"hits": []}\r\n')
        self.close_connection = True

    def on_slam(self) -> None:
        self.close_connection = True

    def on_chunked(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        text = hits("b", "a", "c")
        for i in range(0, len(text), 7):
            piece = text[i : i + 7]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def on_closing(self) -> None:
        self.reply(hits("b", "a", "c"), Connection="close")
        self.close_connection = True

    def on_big(self) -> None:
        self.reply(hits("a", padding="x" * int(self.asked["bytes"])))

    def on_big_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for _ in range(2000):
                self.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        except OSError:
            self.close_connection = True

    def on_gzip(self) -> None:
        self.reply(gzip.compress(hits("b", "a", "c")), Content_Encoding="gzip")

    def on_gzip_twice(self) -> None:
        text = hits("b", "a", "c")
        packed = gzip.compress(text[:20]) + gzip.compress(text[20:])
        self.reply(packed, Content_Encoding="gzip")

    def on_gzip_cut(self) -> None:
        self.reply(gzip.compress(hits("b", "a", "c"))[:-12], Content_Encoding="gzip")

    def on_gzip_wrong(self) -> None:
        self.reply(b"\x1f\x8b\x08" + b"no gzip at all", Content_Encoding="gzip")

    def on_bomb(self) -> None:
        engine = zlib.compressobj(9, wbits=31)
        packed = b"".join(engine.compress(b" " * 1_000_000) for _ in range(60)) + engine.flush()
        self.reply(packed, Content_Encoding="gzip")

    def on_brotli(self) -> None:
        self.reply(b"\x0b\x02\x80{}\x03", Content_Encoding="br")

    def on_redirect(self) -> None:
        self.reply(b"", int(self.asked.get("status", "302")), Location=self.asked["to"])

    def on_loop(self) -> None:
        self.reply(b"", 302, Location=self.path)

    def on_pages(self) -> None:
        size = min(int(self.asked["limit"]), 20)
        start = int(self.asked.get("offset") or 0)
        if "page" in self.asked:
            start = (int(self.asked["page"]) - 1) * size
        if "cursor" in self.asked:
            start = int(self.asked["cursor"] or 0)
        if self.asked.get("fail_at") == str(start):
            self.reply(b'{"error": "busy"}', 503)
            return
        found = DOCUMENTS[start : start + size]
        end = start + size
        more = {"next": str(end) if end < len(DOCUMENTS) else None}
        self.reply(json.dumps({"hits": [{"id": d} for d in found], **more}).encode())

    def on_late_pages(self) -> None:
        time.sleep(0.2)
        start = int(self.asked["offset"])
        self.reply(hits(f"l{start}"))

    def on_lines(self) -> None:
        self.reply(b'{"id": "b"}\n\n{"id": "a"}\r\n', Content_Type="application/x-ndjson")

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        if len(sys.argv) > 3:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
