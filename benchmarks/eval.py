"""``searchmark eval`` beside ir_measures, pytrec_eval and ranx: whole processes, to four means.

    make bench-eval                                     # makes the data and runs everything below
    .venv/bin/python benchmarks/eval.py FOLDER [--rounds 5] [--peers ir_measures,pytrec_eval,ranx]
                                               [--files run.txt,run.txt.gz,...]

FOLDER holds qrels.txt and the run files, as gen_run.py writes them. The processes alternate (ours,
peer, ours, peer, ...) after one round that is not counted; wall and CPU seconds and the peak memory
are the operating system's own figures of each process; the ratio is taken pair by pair, and the
median is printed with the least and the greatest. Peers read plain text only.
"""

import argparse
import compileall
import os
import sys
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, Popen
from time import perf_counter
from typing import NamedTuple

MEASURES = ["nDCG@10", "RR", "R@100", "AP"]

OURS = "from searchmark.cli.main import main; main()"
PYTREC_EVAL = """
import sys, pytrec_eval
with open(sys.argv[1]) as f: qrels = pytrec_eval.parse_qrel(f)
with open(sys.argv[2]) as f: run = pytrec_eval.parse_run(f)
names = {"ndcg_cut.10", "recip_rank", "recall.100", "map"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
for name in ("ndcg_cut_10", "recip_rank", "recall_100", "map"):
    print(name, sum(v[name] for v in found.values()) / len(found))
"""
RANX = """
import sys
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(sys.argv[1], kind="trec")
run = Run.from_file(sys.argv[2], kind="trec")
print(evaluate(qrels, run, ["ndcg@10", "mrr", "recall@100", "map"], make_comparable=True))
"""


class Cost(NamedTuple):
    """What one process cost: seconds of wall clock and CPU, and peak memory in MB."""

    wall: float
    cpu: float
    memory: float


def commands(folder: Path) -> dict[str, list[str]]:
    """Return each peer's command over the plain text files."""
    qrels, run = str(folder / "qrels.txt"), str(folder / "run.txt")
    return {
        "ir_measures": [sys.executable, "-m", "ir_measures", qrels, run, *MEASURES],
        "pytrec_eval": [sys.executable, "-c", PYTREC_EVAL, qrels, run],
        "ranx": [sys.executable, "-c", RANX, qrels, run],
    }


def ours(folder: Path, name: str) -> list[str]:
    """Return our command over one run file."""
    files = [str(folder / "qrels.txt"), str(folder / name)]
    return [sys.executable, "-c", OURS, "eval", *files, "-m", ",".join(MEASURES)]


def cost(command: list[str]) -> Cost:
    """Run a command to its end and return what it cost."""
    start = perf_counter()
    process = Popen(command, stdout=DEVNULL, stderr=DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
    return Cost(perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def alternating(a: list[str], b: list[str], rounds: int) -> list[tuple[Cost, Cost]]:
    """Return the costs of both, a round each that is not counted first."""
    cost(a), cost(b)
    return [(cost(a), cost(b)) for _ in range(rounds)]


def row(name: str, pairs: list[tuple[Cost, Cost]]) -> str:
    """Return one line of the table: ours, the other's, and the ratio of wall times."""
    sides = []
    for side in (0, 1):
        wall, cpu, memory = (median(p[side][i] for p in pairs) for i in range(3))
        sides.append(f"{wall:7.2f} {cpu:7.2f} {memory:7.0f}")
    ratios = sorted(p[0].wall / p[1].wall for p in pairs)
    spread = f"{median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})"
    return f"{name:34} | {sides[0]} | {sides[1]} | {spread}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default="ir_measures,pytrec_eval,ranx")
    parser.add_argument("--files", default="run.txt.gz,run.txt.zst,run.parquet,run.shuffled.txt")
    given = parser.parse_args()
    print(f"{given.folder}, {given.rounds} rounds; wall s, CPU s, peak MB (medians)")
    print(f"{'':34} | {'ours':^23} | {'other':^23} | ours/other, wall")
    # installing a wheel compiles it, an editable install does not: both sides start alike
    compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=1)
    text = ours(given.folder, "run.txt")
    for peer in filter(None, given.peers.split(",")):
        pairs = alternating(text, commands(given.folder)[peer], given.rounds)
        print(row(f"run.txt / {peer}", pairs), flush=True)
    for name in filter(None, given.files.split(",")):
        pairs = alternating(ours(given.folder, name), text, given.rounds)
        print(row(f"{name} / our own run.txt", pairs), flush=True)


if __name__ == "__main__":
    main()
