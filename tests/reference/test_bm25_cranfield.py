"""The built-in keyword search against bm25s on the Cranfield collection."""

import json
from collections.abc import Mapping
from math import log2
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import bm25s
import numpy as np
import pytest
import pytrec_eval
from numpy.typing import NDArray

from searchmark.retrieval.analysis import analyze
from searchmark.retrieval.bm25f import BM25F

Run = Mapping[str, Mapping[str, float]]


class Collection(NamedTuple):
    doc_ids: list[str]
    titles: list[str]
    texts: list[str]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]

    @property
    def joined(self) -> list[str]:
        return [f"{a} {b}" for a, b in zip(self.titles, self.texts, strict=True)]

    def run(self, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> dict[str, float]:
        return {self.doc_ids[row]: float(score) for row, score in zip(rows, scores, strict=True)}


def read_jsonl(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def cranfield(shared: Path) -> Collection:
    folder = shared / "data" / "cranfield"
    documents = read_jsonl(folder / "corpus.jsonl")
    queries = read_jsonl(folder / "queries.jsonl")
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query_id, doc_id, grade = line.split("\t")
        qrels.setdefault(query_id, {})[doc_id] = int(grade)
    return Collection(
        [d["_id"] for d in documents],
        [d["title"] for d in documents],
        [d["text"] for d in documents],
        {q["_id"]: q["text"] for q in queries},
        qrels,
    )


@pytest.fixture(scope="module")
def theirs(cranfield: Collection) -> Run:
    """Rank with bm25s over the same terms."""
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([analyze(text) for text in cranfield.joined], show_progress=False)
    run = {}
    for query_id, text in cranfield.queries.items():
        scores = index.get_scores(analyze(text))
        rows = np.flatnonzero(scores)
        run[query_id] = cranfield.run(rows, scores[rows])
    return run


def ours(cranfield: Collection, fields: dict[str, list[str]]) -> Run:
    index = BM25F.build(fields, weights=dict.fromkeys(fields, 1.0))
    return {
        query_id: cranfield.run(*index.scores(text, candidates="or"))
        for query_id, text in cranfield.queries.items()
    }


def ndcg(run: Run, qrels: Mapping[str, Mapping[str, int]]) -> float:
    """Return the mean of nDCG@10 with gain 2^grade - 1."""

    def dcg(grades: list[int]) -> float:
        return sum((2**g - 1) / log2(i + 2) for i, g in enumerate(grades[:10]))

    values = []
    for query_id, judged in qrels.items():
        ranked = sorted(run[query_id].items(), key=lambda item: (item[1], item[0]), reverse=True)
        best = sorted(judged.values(), reverse=True)
        values.append(dcg([judged.get(doc_id, 0) for doc_id, _ in ranked]) / dcg(best))
    return fmean(values)


def average_precision(run: Run, qrels: Mapping[str, Mapping[str, int]]) -> float:
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    return fmean(values["map"] for values in found.values())


def test_one_field_has_the_scores_of_bm25s(cranfield: Collection, theirs: Run) -> None:
    run = ours(cranfield, {"all": cranfield.joined})
    for query_id, scores in theirs.items():
        assert run[query_id].keys() == scores.keys()
        mine = [run[query_id][doc_id] for doc_id in scores]
        # theirs are 32-bit floats
        np.testing.assert_allclose(mine, list(scores.values()), rtol=1e-5)


def test_two_fields_rank_as_well_as_bm25s(cranfield: Collection, theirs: Run) -> None:
    run = ours(cranfield, {"title": cranfield.titles, "text": cranfield.texts})
    value, precision = ndcg(run, cranfield.qrels), average_precision(run, cranfield.qrels)
    assert value == pytest.approx(ndcg(theirs, cranfield.qrels), abs=0.01)
    assert precision == pytest.approx(average_precision(theirs, cranfield.qrels), abs=0.01)
    # what bm25s gives with its own, shorter list of stop words
    assert value == pytest.approx(0.534, abs=0.01)
    assert precision == pytest.approx(0.412, abs=0.01)


def test_documents_without_text_are_found_by_no_query(cranfield: Collection) -> None:
    empty = {
        d for d, text in zip(cranfield.doc_ids, cranfield.joined, strict=True) if not text.strip()
    }
    assert len(empty) == 2
    run = ours(cranfield, {"title": cranfield.titles, "text": cranfield.texts})
    assert not any(empty & found.keys() for found in run.values())
