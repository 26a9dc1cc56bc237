"""`searchmark rolling` against the service, both real processes."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from searchmark.demo import place

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

Start = Callable[..., AbstractContextManager[str]]


def rolling(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("searchmark")), "rolling", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "rolling.jsonl").read_text().splitlines()]


def test_the_demo_s_entries_come_back(tmp_path: Path, start_service: Start) -> None:
    place(tmp_path / "demo")
    with start_service(tmp_path / "demo", "keyword") as address:
        first = rolling(tmp_path, address, "--sample", 30, "--keep", 2)
        assert first.returncode == 0, first.stderr
        again = rolling(tmp_path, address, "--sample", 30, "--keep", 2)
    found = records(tmp_path)
    assert len(found) == 2
    documents = (tmp_path / "demo" / "catalog.jsonl").read_text().splitlines()
    ids = {json.loads(line)["_id"] for line in documents}
    for record in found:
        assert record["catalog"]["n_entries"] == len(ids)
        assert {i["doc_id"] for i in record["items"]} <= ids
        assert len({i["doc_id"] for i in record["items"]}) == 30
        assert (record["n_failed"], record["partial"]) == (0, None)
    assert found[0]["items"] == found[1]["items"]  # same seed, same sample, same ranks
    # an entry holds every word of its own name and description, so that all of them are found
    r20 = found[0]["whole"]["by_kind"]
    assert {kind: m["R@20"]["mean"] for kind, m in r20.items()}["description"] == 1.0
    assert again.returncode == 0, again.stderr
    assert "are the same on every query" in " ".join(again.stdout.split())

    gone = rolling(tmp_path, address, "--retries", 0)
    assert gone.returncode == 3
    assert "is the server running there?" in gone.stderr
    assert records(tmp_path) == found


PROJECT = """
corpus = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
measures = ["RR"]
[systems.keyword]
use = "bm25"
fields = { name = 1 }
"""

NAMES = {"d1": "amber", "d2": "cobalt", "d3": "cobalt", "d4": "dune"}
"""Asked for by name, d1 and d4 are first; d2 and d3 answer each other's name, and one is second."""


def test_measures_and_floors_are_those_worked_by_hand(tmp_path: Path, start_service: Start) -> None:
    lines = [json.dumps({"id": i, "name": name}) + "\n" for i, name in NAMES.items()]
    (tmp_path / "corpus.jsonl").write_text("".join(lines))
    (tmp_path / "queries.jsonl").write_text('{"id": "q1", "text": "amber"}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    with start_service(tmp_path, "keyword") as address:
        command = (address, "--text", "name=name", "--fail-under")
        holds = rolling(tmp_path, *command, "RR=0.875", "--fail-under", "R@20=1")
        fails = rolling(tmp_path, *command, "R@20=1", "--fail-under", "Success@1=0.76")
    means = {
        "nDCG@10": pytest.approx((3 + 0.6309297535714575) / 4),  # the fourth gains 1 / log2(3)
        "RR": (1 + 1 + 1 / 2 + 1) / 4,  # 0.875
        "R@20": 1.0,
        "Success@1": 3 / 4,
    }
    for record in records(tmp_path):
        assert {n: m["mean"] for n, m in record["whole"]["measures"].items()} == means
        ranks = {i["doc_id"]: i["rank"] for i in record["items"]}
        assert (ranks["d1"], sorted([ranks["d2"], ranks["d3"]]), ranks["d4"]) == (1, [1, 2], 1)
    assert len(records(tmp_path)) == 2
    assert (holds.returncode, holds.stderr) == (0, "")
    told = "not held: Success@1 (known-item upper bound) is 0.750000, under 0.76\n"
    assert (fails.returncode, fails.stderr) == (1, told)


def test_evaluations_at_once_are_all_kept(tmp_path: Path, start_service: Start) -> None:
    place(tmp_path / "demo")
    command = [str(Path(sys.executable).with_name("searchmark")), "rolling"]
    with start_service(tmp_path / "demo", "keyword") as address:
        command += [address, "--sample", "10"]
        running = [
            subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            for _ in range(3)
        ]
        ended = [process.communicate(timeout=120)[1] for process in running]
    assert ended == ["", "", ""]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(records(tmp_path)) == 3


def test_an_interrupted_evaluation_leaves_the_history_alone(
    tmp_path: Path, start_service: Start
) -> None:
    place(tmp_path / "demo")
    command = [str(Path(sys.executable).with_name("searchmark")), "rolling"]
    with start_service(tmp_path / "demo", "keyword") as address:
        assert rolling(tmp_path, address, "--sample", 5).returncode == 0
        before = (tmp_path / "rolling.jsonl").read_bytes()
        slow = tmp_path / "slow.toml"
        slow.write_text(
            f'[search]\npreset = "searchmark"\nbase = "{address}"\nrate_per_s = 2\n',
            encoding="utf-8",
        )
        process = subprocess.Popen(
            [*command, str(slow)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=4)  # at two requests a second it has minutes to go
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert told == "searchmark: error: interrupted; nothing is recorded\n"
    assert (tmp_path / "rolling.jsonl").read_bytes() == before


def test_a_catalog_that_waits_to_be_embedded_gives_partial_answers(
    tmp_path: Path,
    repository: Path,
    postgres_server: Any,
    start_service: Start,
) -> None:
    pytest.importorskip("onnxruntime")
    example = repository / "examples" / "demo-postgres" / "searchmark.toml"
    demo = (repository / "src" / "searchmark" / "demo").as_posix()
    text = example.read_text(encoding="utf-8").replace("../../src/searchmark/demo", demo)
    (tmp_path / "searchmark.toml").write_text(text, encoding="utf-8")
    schema = "rolling_waits"
    options = ("--schema", schema, "--fill")  # and no worker that would empty the queue
    try:
        with start_service(
            tmp_path, "hybrid-postgres", *options, DATABASE_URL=postgres_server.dsn
        ) as address:
            found = rolling(tmp_path, address, "--sample", 20)
            floor = rolling(tmp_path, address, "--sample", 20, "--fail-under", "R@20=0")
    finally:
        with postgres_server.connect() as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    assert found.returncode == 0, found.stderr
    record = records(tmp_path)[0]
    assert record["whole"] is None
    assert record["partial"]["n_queries"] == len(record["items"]) > 0
    assert record["partial"]["measures"]["R@20"]["mean"] > 0.5
    assert "known-item upper bound; only answers that were partial" in found.stdout
    # what is partial shows of no floor that it is held, and is compared with its like
    assert floor.returncode == 1
    assert "no answer was whole" in floor.stderr
    assert "all with partial answers" in " ".join(floor.stdout.split())
