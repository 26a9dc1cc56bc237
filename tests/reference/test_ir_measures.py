"""Real runs of TREC Deep Learning 2019 and 2020 against ir_measures, and as published."""

import shutil
from pathlib import Path

import ir_measures
import pytest

from searchmark.data.hits import Hits
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.qrels import read_qrels
from searchmark.data.run import read_run
from searchmark.measures.notation import parse_measure
from searchmark.measures.score import aggregate, values


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "trec-dl"


def _hits(folder: Path, year: str, system: str) -> Hits:
    judged = prepare(read_qrels(folder / f"{year}.qrels"))
    return find_hits(read_run(folder / "runs" / f"{year}.{system}.run"), judged, scores="float32")


@pytest.mark.parametrize(
    ("system", "dl19", "dl20"),
    [
        ("bm25", 0.5058, 0.4796),
        ("tas-b", 0.7210, 0.6854),
        ("ada2", 0.7035, 0.6759),
        ("splade", 0.7308, 0.7197),
    ],
)
def test_ndcg_at_10_as_published(folder, system, dl19, dl20):
    measure = parse_measure("ndcg_cut_10", "trec")
    found = [
        aggregate(values(_hits(folder, y, system), measure), measure) for y in ("dl19", "dl20")
    ]
    assert found == pytest.approx([dl19, dl20], abs=5e-5)


THEIRS_AND_OURS = {
    "nDCG@10": "nDCG@10",
    "AP(rel=2)": "AP(rel=2)",
    "RR(rel=2)@10": "RR(rel=2)@10",
    "P(rel=2)@5": "P(rel=2)@5",
    "R(rel=2)@100": "R(rel=2)@100",
    "Success(rel=3)@3": "Success(rel=3)@3",
    "Bpref(rel=2)": "Bpref(rel=2)",
    "infAP(rel=2)": "infAP(rel=2)",
    "Rprec(rel=2)": "Rprec(rel=2)",
    "IPrec(rel=2)@0.3": "IPrec(rel=2,points=up)@0.3",
    "SetP(rel=2)": "SetP(rel=2)",
    "SetP(rel=2,relative=True)": "SetRelativeP(rel=2)",
    "SetR(rel=2)": "SetR(rel=2)",
    "SetF(rel=2)": "SetF(rel=2)",
    "SetAP(rel=2)": "SetAP(rel=2)",
    "Judged@10": "Judged@10",
    "NumRet": "NumRet",
    "NumRet(rel=2)": "NumRelRet(rel=2)",
    "NumRel": "NumRel",
    "NumQ": "NumQ",
}


@pytest.fixture(scope="module")
def theirs(folder: Path) -> dict[str, tuple[dict[str, float], float]]:
    """Return measure -> its values by query and its aggregate."""
    parsed = {ir_measures.parse_measure(m): m for m in THEIRS_AND_OURS}
    qrels = list(ir_measures.read_trec_qrels(str(folder / "dl19.qrels")))
    run = list(ir_measures.read_trec_run(str(folder / "runs" / "dl19.bm25.run")))
    found: dict[str, dict[str, float]] = {m: {} for m in THEIRS_AND_OURS}
    for metric in ir_measures.iter_calc(parsed, qrels, run):
        found[parsed[metric.measure]][metric.query_id] = metric.value
    means = ir_measures.calc_aggregate(parsed, qrels, run)
    return {name: (found[name], means[m]) for m, name in parsed.items()}


@pytest.mark.parametrize("name", THEIRS_AND_OURS)
def test_the_same_measure_gives_the_same_numbers(folder, theirs, name):
    hits = _hits(folder, "dl19", "bm25")
    measure = parse_measure(THEIRS_AND_OURS[name], "trec")
    ours = values(hits, measure)
    per_query, mean = theirs[name]
    assert dict(zip(hits.judged.query_ids, ours.tolist(), strict=True)) == pytest.approx(
        per_query, abs=1e-12
    )
    assert aggregate(ours, measure) == pytest.approx(mean, abs=1e-9)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script")
@pytest.mark.parametrize(
    ("name", "ours"), [("ERR@20", "ERR@20"), ("nDCG(dcg='exp-log2')@10", "nDCG@10")]
)
def test_gdeval(folder, name, ours):
    hits = _hits(folder, "dl19", "bm25")
    measure = ir_measures.parse_measure(name)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "dl19.qrels")))
    run = list(ir_measures.read_trec_run(str(folder / "runs" / "dl19.bm25.run")))
    expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
    found = values(hits, parse_measure(ours)).tolist()
    # gdeval prints five decimals
    assert dict(zip(hits.judged.query_ids, found, strict=True)) == pytest.approx(expected, abs=6e-6)
