"""A run that is interrupted, ended or killed at any moment ends up as an undisturbed one."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import polars as pl
import pytest

N = 24

PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = ["RR", "nDCG@10"]

[systems.flaky]
use = "python"
callable = "flaky_engine:search"
retries = 1
concurrency = CONCURRENCY

[systems.many]
use = "python"
callable = "flaky_engine:many"
batch_form = true
batch = 5

[systems.words]
use = "bm25"
fields = ["title"]
"""

ENGINE = """
import time
from pathlib import Path

here, seen = Path(__file__).parent, set()

def search(text, k):
    with (here / "asked").open("a") as stream:
        stream.write("x")
    time.sleep(0.004)
    number = int(text)
    if number % 6 == 5 and text not in seen:
        seen.add(text)
        raise ConnectionResetError("try again")
    return [(f"d{(number + i) % 24}", 0.1 + 0.2 * i) for i in range(number % 4)]

def many(texts, k):
    if "7" in texts and len(texts) > 1:
        raise ValueError("not together with others")
    return [[f"d{text}"] for text in texts]
"""

MAIN = "from searchmark.cli.main import main; main()"

ENDING = """
import os, signal
import searchmark.{module} as module

owner = getattr(module, "{owner}", module)
kept, left = owner.{name}, {n}

def ending(*arguments, **keys):
    global left
    left -= 1
    if left == 0 and "{when}" == "before":
        os.kill(os.getpid(), signal.{signal})
    done = kept(*arguments, **keys)
    if left == 0:
        os.kill(os.getpid(), signal.{signal})
    return done

owner.{name} = ending
"""

TORN = """
import os, signal
import searchmark.experiments.journal as module

kept, left = module._line_of, {n}

def torn(call):
    global left
    line, left = kept(call), left - 1
    if left == 0:
        for stream in __import__("gc").get_objects():
            if isinstance(stream, module.Journal):
                stream._stream.write(line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    return line

module._line_of = torn
"""

JOURNAL = {"module": "experiments.journal", "owner": "Journal", "name": "append"}
TABLES = {"module": "experiments.store", "owner": "", "name": "write_atomically"}
MANIFEST = {"module": "experiments.store", "owner": "", "name": "write_text_atomically"}
SCORES = {"module": "experiments.experiment", "owner": "", "name": "write_bundle"}
NOTES = {"module": "experiments.experiment", "owner": "", "name": "_evaluation"}

MOMENTS = [
    (JOURNAL, 1, "before"),
    (JOURNAL, 1, "after"),
    (JOURNAL, N - 3, "after"),
    (TABLES, 2, "before"),
    (TABLES, 3, "after"),
    (MANIFEST, 1, "before"),
    (MANIFEST, 1, "after"),
    (SCORES, 2, "after"),
    (SCORES, 3, "after"),
    (NOTES, 1, "after"),
]


def make(folder: Path, concurrency: int = 1) -> Path:
    folder.mkdir()
    docs = "".join(json.dumps({"_id": f"d{i}", "title": str(i)}) + "\n" for i in range(N))
    asked = "".join(json.dumps({"_id": f"q{i}", "text": str(i)}) + "\n" for i in range(N))
    (folder / "c.jsonl").write_text(docs)
    (folder / "q.jsonl").write_text(asked)
    (folder / "r.qrels").write_text("".join(f"q{i} 0 d{(i + 1) % N} 1\n" for i in range(N)))
    (folder / "flaky_engine.py").write_text(ENGINE)
    (folder / "searchmark.toml").write_text(PROJECT.replace("CONCURRENCY", str(concurrency)))
    return folder


def start(folder: Path, script: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script + MAIN, "run", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> int:
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    known = (0, 130, 128 + signal.SIGTERM, -signal.SIGTERM, -signal.SIGINT, -signal.SIGKILL)
    assert process.returncode in known, said
    return process.returncode


def results(folder: Path) -> dict[str, object]:
    """Return all that a run is, without measured times; run to the end first."""
    process = start(folder)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "damaged" not in out + said
    found: dict[str, object] = {}
    for manifest in (folder / ".searchmark" / "runs").glob("*/manifest.json"):
        bundle, name = manifest.parent, json.loads(manifest.read_text())["system"]
        calls = pl.read_parquet(bundle / "calls.parquet").drop("latency_ms")
        tables = [(bundle / f"{t}.parquet").read_bytes() for t in ("run", "scores")]
        found[name] = (bundle.name, calls.rows(), *tables)
    assert not list((folder / ".searchmark" / "journal").iterdir())
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    found = results(make(tmp_path_factory.mktemp("run") / "undisturbed"))
    assert sorted(found) == ["flaky", "many", "words"]
    return found


def test_at_each_step(tmp_path: Path, undisturbed: dict[str, object]) -> None:
    folder = make(tmp_path / "run")
    for (what, n, when), how in zip(MOMENTS, cycle(["SIGKILL", "SIGINT", "SIGTERM"]), strict=False):
        assert ended(start(folder, ENDING.format(**what, n=n, when=when, signal=how))) != 0
    assert results(folder) == undisturbed


def test_in_the_middle_of_a_line(tmp_path: Path, undisturbed: dict[str, object]) -> None:
    folder = make(tmp_path / "run")
    for n in (3, 1):
        assert ended(start(folder, TORN.format(n=n))) == -signal.SIGKILL
        (journal,) = (folder / ".searchmark" / "journal").iterdir()
        assert not journal.read_bytes().endswith(b"\n")
    assert results(folder) == undisturbed


@pytest.mark.parametrize("concurrency", [1, 4])
def test_at_random_moments(
    tmp_path: Path, undisturbed: dict[str, object], concurrency: int
) -> None:
    draw = random.Random(concurrency)
    folder = make(tmp_path / "run", concurrency)
    hows = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    for _ in range(3):
        n = draw.randrange(1, 12)
        process = start(folder)
        deadline = time.monotonic() + 30
        while process.poll() is None and asked(folder) < n and time.monotonic() < deadline:
            time.sleep(0.001)
        with suppress(ProcessLookupError):
            process.send_signal(draw.choice(hows))
        ended(process)
        (folder / "asked").unlink(missing_ok=True)
    assert results(folder) == undisturbed


def asked(folder: Path) -> int:
    """Return how many calls were made of the engine since the file was taken away."""
    path = folder / "asked"
    return path.stat().st_size if path.exists() else 0
