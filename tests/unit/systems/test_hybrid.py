"""The fusion is one ranking, however much of it is asked for."""

from pathlib import Path

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.systems import SYSTEMS
from searchmark.systems.hybrid import Config as HybridConfig
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Query
from searchmark.systems.runfile import Config as RunConfig

IDS = [f"d{i:02}" for i in range(40)]
CORPUS = Corpus(pl.DataFrame({"doc_id": IDS, "text": IDS}))

ARMS = """
IDS = [f"d{i:02}" for i in range(40)]
def up(text, k):
    return IDS[:k]
def down(text, k):
    return IDS[::-1][:k]
"""


@pytest.mark.parametrize("k", [1, 7, 12, 13, 20, 21, 40])
def test_a_longer_answer_goes_on_where_a_shorter_one_ends(k: int, tmp_path: Path) -> None:
    (tmp_path / "sm_arms_of_forty.py").write_text(ARMS)
    tables = {
        "up": ("python", {"callable": "sm_arms_of_forty:up"}),
        "down": ("python", {"callable": "sm_arms_of_forty:down"}),
        "both": ("hybrid", {"of": ["up", "down"], "depth": 10}),
    }
    entries = {
        name: Entry(name, use, msgspec.convert(table, SYSTEMS.load(use).config))
        for name, (use, table) in tables.items()
    }
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path / "cache") as pool:
        hits = pool.open("both").search(Query("q", "x"), k).hits
    # the first ten of each arm, which share none: ranks 1, 1, 2, 2, ..., of each two the last id
    ranking = [doc_id for i in range(10) for doc_id in (IDS[39 - i], IDS[i])]
    assert [hit.doc_id for hit in hits] == ranking[:k]
    assert [hit.score for hit in hits] == [1 / (61 + i // 2) for i in range(min(k, 20))]


def test_an_arm_whose_file_lacks_the_query_found_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.trec").write_text("q1 Q0 d00 1 1 a\nq2 Q0 d00 1 1 a\n")
    (tmp_path / "two.trec").write_text("q1 Q0 d01 1 1 b\n")
    entries = {
        "one": Entry("one", "run", RunConfig(path="one.trec")),
        "two": Entry("two", "run", RunConfig(path="two.trec")),
        "both": Entry("both", "hybrid", HybridConfig(of=["one", "two"])),
    }
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path / "cache") as pool:
        answers = [pool.open("both").search(Query(q, "x"), 5) for q in ("q1", "q2", "q3")]
    assert [len(a.hits) for a in answers] == [2, 1, 0]
    assert [a.partial for a in answers] == [False, False, False]
    assert [a.is_given for a in answers] == [True, True, False]
