"""``searchmark.evaluate`` on what is in memory already, beside pytrec_eval, in one process.

    .venv/bin/python benchmarks/memory.py FOLDER [ROUNDS]

FOLDER holds qrels.txt and run.txt, as gen_run.py writes them. Rounds alternate; milliseconds are
the least, the median and the greatest. "prepared" means that the judgments were coded before (our
`prepare`, their RelevanceEvaluator); the four measures are nDCG@10, RR, R@100 and AP.
"""

import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import pytrec_eval

from searchmark.api import summarized
from searchmark.data.given import as_qrels, as_run
from searchmark.data.judged import prepare
from searchmark.data.ordering import find_hits
from searchmark.data.run import read_run
from searchmark.measures.notation import parse_measure

if TYPE_CHECKING:
    from collections.abc import Callable

MEASURES = [parse_measure(m, "trec") for m in ("nDCG@10", "RR", "R@100", "AP")]
NAMES = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}


def main() -> None:
    """Measure and print."""
    folder = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with (folder / "qrels.txt").open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with (folder / "run.txt").open() as file:
        run = pytrec_eval.parse_run(file)
    frame = read_run(folder / "run.txt").frame.select("query_id", "doc_id", "score")
    judged = prepare(as_qrels(qrels))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, NAMES)

    def ours(given: object, prepared: bool) -> None:
        to = judged if prepared else prepare(as_qrels(qrels))
        summarized({"run": find_hits(as_run(given, "run"), to)}, MEASURES, "trec", ties=False)

    cases: dict[str, Callable[[], object]] = {
        "ours, two dicts": lambda: ours(run, prepared=False),
        "pytrec_eval, two dicts": lambda: pytrec_eval.RelevanceEvaluator(qrels, NAMES).evaluate(
            run
        ),
        "ours, Polars frame, prepared": lambda: ours(frame, prepared=True),
        "pytrec_eval, dict, prepared": lambda: evaluator.evaluate(run),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(rounds + 1):
        for name, case in cases.items():
            start = perf_counter()
            case()
            if turn:  # the first one warms up
                times[name].append(1000 * (perf_counter() - start))
    for name, found in times.items():
        print(f"{name:32} {min(found):8.1f} {median(found):8.1f} {max(found):8.1f} ms")


if __name__ == "__main__":
    main()
