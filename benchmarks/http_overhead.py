"""What asking 10,000 queries over HTTP at concurrency 16 costs, beside bare clients.

    .venv/bin/python benchmarks/http_overhead.py [queries, 10000 by default]

A server in a process of its own answers at once with ten ids. Each client is a process too: the
whole `run_experiment` of a project with the http adapter (reading, asking, journal, scoring,
intervals, bundle), and, as peers, 16 threads that do nothing but send the same requests with
urllib3 and with httpx and decode the JSON. CPU seconds are those of the client's process, user and
system; rounds alternate and medians are shown.
"""

import asyncio
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

CONCURRENCY = 16
ROUNDS = 3
BODY = json.dumps({"hits": [{"id": f"d{i}", "score": 10.0 - i} for i in range(10)]}).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(BODY)).encode()
    + b"\r\n\r\n"
    + BODY
)

PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["nDCG@10"]
depth = 10

[systems.api]
use = "http"
url = "http://127.0.0.1:{port}/search?query={{query}}&limit={{k}}"
ids = "hits[].id"
scores = "hits[].score"
concurrency = {concurrency}
"""


def serve(ports: "multiprocessing.Queue[int]") -> None:
    """Answer every request on every connection until the process is ended."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=256)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def text_of(number: int) -> str:
    """Return a query; no two are the same."""
    return f'how many "words" has query {number}?'


def write_project(folder: Path, n_queries: int, port: int) -> None:
    """Write a project whose queries each have one right document."""
    documents = ({"_id": f"d{i}", "title": f"document {i}", "text": ""} for i in range(10))
    queries = ({"_id": f"q{i}", "text": text_of(i)} for i in range(n_queries))
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    judged = "".join(f"q{i}\td{i % 10}\t1\n" for i in range(n_queries))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged, encoding="utf-8")
    text = PROJECT.format(port=port, concurrency=CONCURRENCY)
    (folder / "searchmark.toml").write_text(text, encoding="utf-8")


def ask_searchmark(n_queries: int, port: int) -> None:
    """Run a whole project."""
    from searchmark.experiments.experiment import run_experiment
    from searchmark.project import read_project

    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder), n_queries, port)
        run_experiment(read_project(Path(folder))).check()


def ask_urllib3(n_queries: int, port: int) -> None:
    """Send the requests with urllib3 from 16 threads."""
    import urllib3

    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, maxsize=CONCURRENCY)

    def ask(number: int) -> None:
        path = f"/search?query={quote(text_of(number))}&limit=10"
        json.loads(pool.request("GET", path).data)

    in_threads(ask, n_queries)


def ask_httpx(n_queries: int, port: int) -> None:
    """Send the requests with httpx from 16 threads."""
    import httpx

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:

        def ask(number: int) -> None:
            client.get("/search", params={"query": text_of(number), "limit": 10}).json()

        in_threads(ask, n_queries)


def in_threads(ask: Callable[[int], None], n_queries: int) -> None:
    """Ask every query, each thread its share."""

    def share(first: int) -> None:
        for number in range(first, n_queries, CONCURRENCY):
            ask(number)

    threads = [threading.Thread(target=share, args=(i,)) for i in range(CONCURRENCY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


CLIENTS = {"searchmark": ask_searchmark, "urllib3": ask_urllib3, "httpx": ask_httpx}


def client(name: str, n_queries: int, port: int) -> None:
    """Be one client, and print what it cost as JSON."""
    ask = CLIENTS[name]
    ask(100, port)  # imports and first connections
    cpu, wall = time.process_time(), time.perf_counter()
    ask(n_queries, port)
    cost = {
        "cpu_ms": (time.process_time() - cpu) / n_queries * 1000,
        "wall_s": time.perf_counter() - wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(cost))


def main(n_queries: int) -> None:
    """Run the clients in turns and print the table."""
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(ports,), daemon=True)
    server.start()
    port = ports.get()
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    for _ in range(ROUNDS):
        for name, found in costs.items():
            command = [sys.executable, __file__, "client", name, str(n_queries), str(port)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
    server.terminate()
    print(f"{n_queries:,} queries, concurrency {CONCURRENCY}, medians of {ROUNDS} rounds")
    print(f"{'client':12} {'CPU ms a query':>16} {'wall s':>8} {'peak MB':>8}")
    for name, found in costs.items():
        cpu, wall, peak = (
            statistics.median(f[key] for f in found) for key in ("cpu_ms", "wall_s", "peak_mb")
        )
        print(f"{name:12} {cpu:16.3f} {wall:8.1f} {peak:8.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
