"""A server that dies half-way: the run is given up, keeps what it has, and goes on afterwards."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

N_QUERIES = 748
DIES_AFTER = 374

SERVER = '''
"""Ranks the guides by shared words; ends itself with SIGKILL in the middle of an answer."""
import json, os, signal, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

corpus, log, port, dies_after = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rows = [json.loads(line) for line in open(corpus, encoding="utf-8")]
words = [(row["_id"], set((row["title"] + " " + row["text"]).lower().split())) for row in rows]
lock, n_asked = threading.Lock(), 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece, or each would wait for the client's acknowledgement

    def do_GET(self):
        global n_asked
        asked = parse_qs(urlsplit(self.path).query)
        query, k = asked["query"][0], int(asked["limit"][0])
        with lock:
            n_asked += 1
            if n_asked > dies_after >= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            with open(log, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(query) + "\\n")
        wanted = set(query.lower().split())
        ranked = sorted(words, key=lambda w: (-len(wanted & w[1]), w[0]))[:k]
        hits = [{"id": d, "score": len(wanted & w)} for d, w in ranked]
        body = json.dumps({"hits": hits, "total": len(words)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
'''

PROJECT = """
corpus = "{data}/corpus.jsonl"
queries = "{data}/queries.jsonl"
qrels = "{data}/qrels.tsv"
measures = ["nDCG@10", "RR"]
depth = 10

[systems.words]
use = "bm25"
candidates = "or"

[systems.api]
use = "http"
url = "http://127.0.0.1:{port}/search?query={{query}}&limit={{k}}"
ids = "hits[].id"
scores = "hits[].score"
total = "total"
concurrency = {concurrency}
retries = 1
stop_after = 5
warmup = 3

[gate]
system = "api"
"""

COMMAND = [sys.executable, "-c", "from searchmark.cli.main import main; main()"]


@contextmanager
def server(folder: Path, data: Path, port: int = 0, dies_after: int = -1) -> Iterator[int]:
    """Start the server in a process of its own and give its port; a dead one stays dead."""
    (folder / "server.py").write_text(SERVER)
    arguments = [data / "corpus.jsonl", folder / "asked.jsonl", port, dies_after]
    process = subprocess.Popen(
        [sys.executable, folder / "server.py", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]  # asserted above


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def bundle(folder: Path, system: str = "api") -> Path:
    """Return the one bundle of a system."""
    found = [
        path.parent
        for path in (folder / ".searchmark" / "runs").glob("*/manifest.json")
        if json.loads(path.read_text())["system"] == system
    ]
    assert len(found) == 1, found
    return found[0]


def asked(folder: Path) -> list[str]:
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]


def journaled(folder: Path) -> list[dict[str, str]]:
    """Return the calls in the journal of the system that is asked over HTTP."""
    journals = (folder / ".searchmark" / "journal").glob("*.jsonl")
    lines = [path.read_text().splitlines() for path in journals]
    calls = [[json.loads(line) for line in part] for part in lines]
    return next((c for c in calls if any(x["status"] == "error" for x in c)), [])


def undisturbed(calm: Path, data: Path, text: str, asked_times: int = 1) -> int:
    """Run a project against a server that stays up, and return its port."""
    calm.mkdir()
    with server(calm, data) as port:
        (calm / "searchmark.toml").write_text(text.format(port=port))
        done = call("run", calm)
        assert done.returncode == 0, done.stderr
    assert len(asked(calm)) == N_QUERIES * asked_times
    return port


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_system_that_dies_half_way(shared: Path, tmp_path: Path, concurrency: int) -> None:
    data = shared / "data" / "web-guides"
    text = PROJECT.replace("{data}", data.as_posix()).replace("{concurrency}", str(concurrency))
    calm, folder = tmp_path / "calm", tmp_path / "outage"
    port = undisturbed(calm, data, text)
    folder.mkdir()

    # the same address, so that the configuration, and with it the digest, is the same
    with server(folder, data, port, dies_after=DIES_AFTER):
        (folder / "searchmark.toml").write_text(text.format(port=port))
        done = call("run", folder, "--format", "json")
    assert done.returncode == 3, done.stderr
    assert len(asked(folder)) == DIES_AFTER

    # it ended early, said so in a sentence, and what was answered is kept
    statuses = [c["status"] for c in journaled(folder)]
    n_kept = statuses.count("ok")
    assert DIES_AFTER - concurrency < n_kept <= DIES_AFTER  # the last ones may not have arrived
    told = (
        r"searchmark: error: system 'api' was given up after \d+ failed queries in a row; "
        rf"{n_kept} of {N_QUERIES} queries are answered and kept, and the same command goes on "
        rf"with the rest; the last error: GET http://127.0.0.1:{port}/search.*"
    )
    assert re.fullmatch(told, done.stderr.splitlines()[-1])
    assert 5 <= statuses.count("error") <= 5 + concurrency  # those under way may fail too
    assert bundle(folder).name.endswith("-invalid")
    manifest = json.loads((bundle(folder) / "manifest.json").read_text())
    assert manifest["invalid"].startswith("the run was given up, and ")

    # the other system was run all the same; the numbers of the dead one are marked
    systems = json.loads(done.stdout)["systems"]
    assert systems["words"]["invalid"] is None
    assert systems["api"]["invalid"] == manifest["invalid"]
    assert systems["api"]["calls"]["n_failed"] == N_QUERIES - n_kept

    # while it is down nothing else takes its numbers for a measurement
    for refused in (call("compare", folder), call("baseline", "accept", folder)):
        assert (refused.returncode, refused.stdout) == (3, "")
        assert "system 'api' was given up" in refused.stderr
    assert not (folder / "baseline.json").exists()

    with server(folder, data, port):
        done = call("run", folder, "--format", "json")
    assert done.returncode == 0, done.stderr
    twice = Counter(asked(folder)) - Counter(asked(calm))
    assert not Counter(asked(calm)) - Counter(asked(folder))
    assert twice.total() == DIES_AFTER - n_kept  # only what had not arrived was asked again

    check_same(calm, folder, "api", "words")
    calls = pl.read_parquet(bundle(folder) / "calls.parquet")
    assert calls["status"].to_list() == ["ok"] * N_QUERIES
    assert calls["size"].min() > 0  # type: ignore[operator]
    assert calls["total"].unique().len() == 1
    assert calls["warmup"].sum() >= 6  # each attempt met a cold system


def check_same(calm: Path, folder: Path, *systems: str) -> None:
    """Hold the results that were interrupted against the undisturbed ones."""
    for system in systems:
        one, other = bundle(calm, system), bundle(folder, system)
        assert one.name == other.name
        for name in ("run.parquet", "scores.parquet"):
            assert (one / name).read_bytes() == (other / name).read_bytes(), f"{system}: {name}"
    assert list((folder / ".searchmark" / "journal").glob("*")) == []


FUSION = """
[systems.both]
use = "hybrid"
of = ["words", "api"]
depth = 10
"""


def test_a_fusion_whose_arm_dies_is_no_fusion(shared: Path, tmp_path: Path) -> None:
    data = shared / "data" / "web-guides"
    text = PROJECT.replace("{data}", data.as_posix()).replace("{concurrency}", "1") + FUSION
    calm, folder = tmp_path / "calm", tmp_path / "outage"
    port = undisturbed(calm, data, text, asked_times=2)
    folder.mkdir()

    with server(folder, data, port, dies_after=N_QUERIES + 300):  # when it is asked as an arm
        (folder / "searchmark.toml").write_text(text.format(port=port))
        done = call("run", folder, "--format", "json")
    assert done.returncode == 3, done.stderr
    assert "system 'both' was given up after 10 failed queries in a row; 300 of" in done.stderr
    assert "the last error: its arm 'api' is down: GET http" in done.stderr
    systems = json.loads(done.stdout)["systems"]
    assert systems["both"]["invalid"].startswith("the run was given up")
    assert systems["both"]["calls"]["n_partial"] == 5  # till it was sure that the arm is down
    assert systems["api"]["invalid"] is None

    with server(folder, data, port):
        done = call("run", folder)
    assert done.returncode == 0, done.stderr
    assert len(asked(folder)) == 2 * N_QUERIES  # partial answers were asked again, whole ones not
    check_same(calm, folder, "both")
