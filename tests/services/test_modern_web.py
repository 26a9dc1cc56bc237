"""A published command line tool as a system: the npm package modern-web-guidance, 0.0.190.

RECORDED was made by hand, outside this program: each query was given to the tool in a shell, and
jq found the expected guide among the ids it printed.

    DISABLE_TELEMETRY=1 node .../modern-web.mjs search -- "$text" |
        jq --arg want "$want" '[.[].id] | index($want)'
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from searchmark.experiments.experiment import run_experiment
from searchmark.project import read_project

PACKAGE = "modern-web-guidance@0.0.190"
SCRIPT = "node_modules/modern-web-guidance/skills/modern-web-guidance/modern-web.mjs"

RECORDED = {
    "w0005": (2, 5),
    "w0042": (1, 5),
    "w0079": (2, 5),
    "w0116": (2, 5),
    "w0153": (2, 5),
    "w0190": (0, 1),
    "w0227": (1, 5),
    "w0264": (3, 5),
    "w0301": (3, 5),
    "w0338": (1, 5),
    "w0375": (1, 5),
    "w0412": (1, 5),
    "w0549": (1, 5),
    "w0586": (1, 5),
    "w0623": (2, 5),
    "w0660": (2, 5),
    "w0697": (1, 5),
    "w0734": (1, 5),
    "w0771": (1, 5),
    "w0808": (1, 5),
}
"""Query -> the rank of the guide it was written for (0: not printed), and how many were printed.

Every 37th of the 748 queries, by their place in the file, from the fifth on.
"""

PROJECT = """
corpus = "{data}/corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.tsv"
measures = ["nDCG@10", "RR"]

[systems.cli]
use = "command"
argv = ["node", "{script}", "search", "--", "{{query}}"]
cwd = "tool"
env = {{DISABLE_TELEMETRY = "1"}}
ids = "[].id"
scores = "[].similarity"
tokens = "measured"
version = ["node", "{script}", "--version"]
timeout_s = 120
concurrency = 2
"""


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package in a folder of its own; its scripts are not run."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("modern-web")
    (folder / "package.json").write_text('{"private": true}')
    options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(
        [npm, "install", *options, PACKAGE],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"npm could not install {PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    return folder


def copy_recorded(source: Path, target: Path) -> None:
    """Copy the lines of the recorded queries, and the heading of a table."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [
        x for x in lines if re.search(r"\b(w\d{4}|query-id)\b", x)[1] in {*RECORDED, "query-id"}
    ]
    target.write_text("".join(kept), encoding="utf-8")


def rank(doc_id: str, doc_ids: list[str]) -> int:
    return doc_ids.index(doc_id) + 1 if doc_id in doc_ids else 0


def test_guides_are_found_at_the_ranks_recorded_by_hand(
    shared: Path, tool: Path, tmp_path: Path
) -> None:
    data = shared / "data" / "web-guides"
    for name in ("queries.jsonl", "qrels.tsv"):
        copy_recorded(data / name, tmp_path / name)
    (tmp_path / "tool").symlink_to(tool)
    (tmp_path / "searchmark.toml").write_text(PROJECT.format(data=data, script=SCRIPT))
    wanted = dict(
        line.split("\t")[:2] for line in (tmp_path / "qrels.tsv").read_text().splitlines()[1:]
    )

    experiment = run_experiment(read_project(tmp_path), sensitivity=False)

    calls = experiment.outcomes[0].calls
    assert [call.error for call in calls] == [None] * 20
    found = {c.query_id: (rank(wanted[c.query_id], c.doc_ids), len(c.doc_ids)) for c in calls}
    assert found == RECORDED
    assert all(len(c.tokens) == len(c.doc_ids) and min(c.tokens) > 20 for c in calls)
