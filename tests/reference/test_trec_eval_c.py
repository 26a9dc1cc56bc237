"""What trec_eval 10's C program printed, line for line."""

import gzip
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import read_qrels
from searchmark.data.run import read_run
from searchmark.measures.trec import TrecOptions, trec_report


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "cranfield" / "trec_eval"


def _hits(folder: Path, without: tuple[str, ...] = ()) -> Hits:
    run = read_run(folder / "bm25.run.gz")
    frame = run.frame.filter(~pl.col("query_id").is_in(list(without)))
    return find_hits(replace(run, frame=frame, lines=()), prepare(read_qrels(folder / "qrels.txt")))


def _printed(path: Path) -> list[str]:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines()


def test_without_switches(folder):
    assert trec_report(_hits(folder), TrecOptions(), "bm25s") == _printed(
        folder / "out.official.txt"
    )


def test_every_measure_query_by_query(folder):
    options = TrecOptions(measures=("all_trec",), per_query=True)
    assert trec_report(_hits(folder), options, "bm25s") == _printed(
        folder / "out.all_trec.q.txt.gz"
    )


def test_complete_level_and_depth_with_two_queries_unanswered(folder):
    options = TrecOptions(measures=("all_trec",), per_query=True, complete=True, level=2, depth=20)
    found = trec_report(_hits(folder, without=("7", "100")), options, "bm25s")
    assert found == _printed(folder / "out.part.all_trec.q.c.l2.M20.txt.gz")


def test_without_complete_the_mean_is_over_the_answered_queries(folder):
    # what was printed for the whole run, averaged by hand over the 223 queries that are left
    printed = [line.split("\t") for line in _printed(folder / "out.all_trec.q.txt.gz")]
    left = [
        float(v)
        for name, q, v in printed
        if name.strip() == "P_10" and q not in ["7", "100", "all"]
    ]
    options = TrecOptions(measures=("P.10", "num_q"))
    found = trec_report(_hits(folder, without=("7", "100")), options)
    assert found == [
        "num_q                 \tall\t223",
        f"P_10                  \tall\t{sum(left) / 223:6.4f}",
    ]
