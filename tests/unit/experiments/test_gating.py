"""The gate of a whole project: what it reads from the files, and what it finds in the store."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from searchmark.errors import InputError, ProjectError
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.gating import accept_baseline, run_gate
from searchmark.gate.verdict import Verdict
from searchmark.project import Project, read_project
from searchmark.reports.verdict import certainty_table

N = 24
PROJECT = """
corpus = "c.jsonl"
queries = "q.jsonl"
qrels = "r.qrels"
measures = {measures}
complete = {complete}
[systems.ours]
use = "run"
path = "ours.run"
[systems.other]
use = "run"
path = "other.run"
[gate]
system = "ours"
{gate}
"""

Ranks = Mapping[int, int]
"""Query number -> the rank of its one right document; 1 where it is not given."""


def write_run(folder: Path, name: str, ranks: Ranks) -> None:
    lines = []
    for q in range(N):
        docs = ["wrong1", "wrong2"]
        docs.insert(ranks.get(q, 1) - 1, "right")
        lines += [f"q{q} Q0 {d} {rank} {10 - rank} {name}" for rank, d in enumerate(docs, 1)]
    (folder / f"{name}.run").write_text("\n".join(lines) + "\n")


def make(
    folder: Path,
    gate: str = "",
    measures: str = '["MRR"]',
    cluster: bool = False,
    complete: bool = False,
) -> Project:
    docs = ("right", "wrong1", "wrong2")
    (folder / "c.jsonl").write_text("".join(f'{{"_id": "{d}", "title": "{d}"}}\n' for d in docs))
    (folder / "q.jsonl").write_text(
        "".join(
            f'{{"_id": "q{q}", "text": "query {q}", "category": "{"x" if q < 4 else "y"}"'
            + (f', "cluster": "c{q // 4}"' if cluster else "")
            + "}\n"
            for q in range(N)
        )
    )
    (folder / "r.qrels").write_text("".join(f"q{q} 0 right 1\n" for q in range(N)))
    (folder / "searchmark.toml").write_text(
        PROJECT.format(gate=gate, measures=measures, complete=str(complete).lower())
    )
    write_run(folder, "ours", {})
    write_run(folder, "other", {q: 2 for q in range(0, N, 2)})
    return read_project(folder)


def gate_after(folder: Path, ranks: Ranks, gate: str = "", **keys: bool) -> Verdict:
    project = make(folder, gate, **keys)  # type: ignore[arg-type]
    accept_baseline(project)
    write_run(folder, "ours", ranks)
    return run_gate(project)


def test_an_unknown_pinned_query_is_a_problem_of_the_project(tmp_path: Path) -> None:
    project = make(tmp_path, 'pinned = ["q1", "q99"]')
    for call in (run_gate, accept_baseline):
        with pytest.raises(ProjectError, match=r"gate\.pinned\[1\]: the query set has no query"):
            call(project)
    assert not (tmp_path / ".searchmark").exists()


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("category_max_drop = {xx = 0.1}", r"gate\.category_max_drop\.xx: no judged .* mean 'x'\?"),
        ("category_floors = {zz = {MRR = 0.1}}", r"gate\.category_floors\.zz: no judged .* x, y"),
        ('pinned = ["q99"]\ncategory_max_drop = {zz = 0.1}', "2 problems in the project file"),
    ],
)
def test_an_unknown_category_is_a_problem_of_the_project(
    tmp_path: Path, gate: str, message: str
) -> None:
    project = make(tmp_path, gate)
    for call in (run_gate, accept_baseline):
        with pytest.raises(ProjectError, match=message):
            call(project)
    assert not (tmp_path / ".searchmark").exists()


def test_a_category_that_nobody_judged_is_as_unknown(tmp_path: Path) -> None:
    project = make(tmp_path, "category_max_drop = {x = 0.1}")
    (tmp_path / "r.qrels").write_text("".join(f"q{q} 0 right 1\n" for q in range(4, N)))
    with pytest.raises(ProjectError, match="no judged query is of category 'x'; known: y"):
        accept_baseline(project)


def test_with_complete_judgments_a_category_without_any_is_held(tmp_path: Path) -> None:
    # x has no right document: nothing may be found there, and that is what its guard holds
    gate = "category_max_drop = {x = 0}\nmax_drop = 1"
    project = make(tmp_path, gate, '["NoAnswer"]', complete=True)
    (tmp_path / "r.qrels").write_text("".join(f"q{q} 0 right 1\n" for q in range(4, N)))
    write_run(tmp_path, "ours", {})
    lines = (tmp_path / "ours.run").read_text().splitlines(keepends=True)
    silent = "".join(line for line in lines if line.split()[0] not in {"q0", "q1", "q2", "q3"})
    (tmp_path / "ours.run").write_text(silent)
    accept_baseline(project)
    assert run_gate(project).passed
    write_run(tmp_path, "ours", {})
    (because,) = run_gate(project).because
    assert because.startswith("NoAnswer in category x fell by 1.0000")


def test_with_complete_judgments_an_unknown_category_is_one_of_no_query(tmp_path: Path) -> None:
    project = make(tmp_path, "category_max_drop = {xx = 0.1}", complete=True)
    with pytest.raises(ProjectError, match="no query is of category 'xx'; did you mean 'x'"):
        run_gate(project)


def test_a_category_whose_number_was_changed_in_the_baseline_is_refused(tmp_path: Path) -> None:
    project = make(tmp_path, "category_max_drop = {x = 0.1}")
    accept_baseline(project)
    text = json.loads(project.baseline.read_text())
    text["by_category"]["x"]["RR"] = 0.2
    project.baseline.write_text(json.dumps(text))
    with pytest.raises(InputError, match=r"RR in category x is 0\.2, but .* come to 1"):
        run_gate(project)


def test_a_loss_of_queries_that_are_no_longer_answered_fails(tmp_path: Path) -> None:
    # the eight best no longer count, and one of the others improves
    project = make(tmp_path, "alpha = 0.05", '["RR(missing=skip)"]')
    write_run(tmp_path, "ours", {q: 3 for q in range(8, N)})
    accept_baseline(project)
    write_run(tmp_path, "ours", {q: 3 for q in range(9, N)})
    kept = (tmp_path / "ours.run").read_text().splitlines(keepends=True)
    (tmp_path / "ours.run").write_text("".join(x for x in kept if int(x.split()[0][1:]) >= 8))
    verdict = run_gate(project)
    (because,) = verdict.because
    # (8 x 1 + 16 / 3) / 24 = 0.5556 -> (1 + 15 / 3) / 16 = 0.375; the 16 gained (2/3) / 16 = 0.0417
    assert because.endswith(
        " fell by 0.1806 (0.5556 -> 0.3750), more than the 0.02 allowed; over the 16 queries with "
        "a value in both it got better by 0.0417, which does not explain that, so the limit alone "
        "decides"
    )
    (v,) = verdict.measures
    assert (v.low, v.high) == (None, None)
    assert v.paired_delta == pytest.approx(2 / 3 / 16)
    table = certainty_table(verdict)  # shows what its p is of
    assert table is not None
    assert table.rows[0][1:3] == (16, v.paired_delta)


@pytest.mark.parametrize("keys", ['measures = ["MRR"]', "floors = {MRR = 0.99}"])
def test_a_limit_holds_a_measure_that_is_written_in_another_way(tmp_path: Path, keys: str) -> None:
    # the scores call it RR; it falls by 0.5 / 24 = 0.0208
    verdict = gate_after(tmp_path, {1: 2}, keys)
    assert [v.measure for v in verdict.measures] == ["RR"]
    assert not verdict.passed


def test_a_pinned_query_fails_with_its_text(tmp_path: Path) -> None:
    verdict = gate_after(tmp_path, {1: 2}, 'pinned = ["q1", "q2"]\nmax_drop = 0.5')
    assert verdict.because == ("pinned query q1 got worse: RR 1.0000 -> 0.5000",)
    assert verdict.pinned[0].text == "query 1"


def test_a_guard_looks_at_its_category_only(tmp_path: Path) -> None:
    gate = 'max_drop = 0.5\ncategory_max_drop = {x = "10%"}\nalpha = 0.05'
    verdict = gate_after(tmp_path, {1: 2}, gate)
    guard = next(v for v in verdict.categories if v.category == "x")
    assert (guard.limit, guard.n_queries, guard.delta) == (pytest.approx(0.1), 4, -0.125)
    assert "RR in category x" in (guard.blind or "")


def test_queries_of_a_cluster_count_as_one(tmp_path: Path) -> None:
    fallen = {q: 2 for q in range(8)}  # eight queries, but only two clusters of six
    verdict = gate_after(tmp_path, fallen, "alpha = 0.05", cluster=True)
    assert verdict.measures[0].p == pytest.approx(1 / 4)
    assert verdict.passed
    assert "24 queries in 6 clusters cannot tell" in verdict.blind[0]


def test_without_clusters_the_same_loss_is_significant(tmp_path: Path) -> None:
    verdict = gate_after(tmp_path, {q: 2 for q in range(8)}, "alpha = 0.05")
    assert verdict.measures[0].p == pytest.approx(1 / 256, rel=0.1)
    assert not verdict.passed


def test_where_lower_is_better_is_read_from_the_measure(tmp_path: Path) -> None:
    project = make(tmp_path, "", '["NumNonrelJudgedRet"]')
    accept_baseline(project)
    write_run(tmp_path, "ours", {})
    v = run_gate(project).measures[0]
    assert (v.measure, v.higher_is_better) == ("NumNonrelJudgedRet", False)


def test_where_too_few_moved_an_earlier_run_of_another_system_is_used(tmp_path: Path) -> None:
    project = make(tmp_path)
    accept_baseline(project)
    alone = run_gate(project)
    assert alone.suggested_max_drop is None
    assert "'searchmark run' with another system" in alone.suggestions[-1]

    run_experiment(project, ["other"])
    verdict = run_gate(project)
    # 12 of 24 differ by 0.5: sd 0.2554, error 0.0521, and 2.56 of those at 23 degrees of freedom
    assert verdict.suggested_max_drop == pytest.approx(0.134, abs=0.004)
    assert "the differences to other suggest" in verdict.suggestions[-1]
    assert verdict.passed


def test_a_damaged_store_is_passed_over(tmp_path: Path) -> None:
    project = make(tmp_path)
    accept_baseline(project)
    folder = run_experiment(project, ["other"]).outcomes[0].folder
    for damaged, text in (("scores.parquet", b"PAR1"), ("manifest.json", b"{\xff")):
        (folder / damaged).write_bytes(text)
        assert run_gate(project).suggested_max_drop is None


def test_runs_over_other_judgments_are_not_used(tmp_path: Path) -> None:
    project = make(tmp_path)
    run_experiment(project, ["other"])
    (tmp_path / "r.qrels").write_text("".join(f"q{q} 0 right 2\n" for q in range(N)))
    accept_baseline(project)
    assert run_gate(project).suggested_max_drop is None
