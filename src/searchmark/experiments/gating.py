"""The gate in one step: run the system that serves users, compare, decide; or accept."""

from dataclasses import replace

import msgspec

from searchmark.errors import NotComparableError
from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.gate.baseline import (
    Baseline,
    baseline_of,
    differences,
    read_baseline,
    write_baseline,
)
from searchmark.gate.verdict import Verdict, decide
from searchmark.project import Project
from searchmark.systems.protocol import Progress


def run_gate(project: Project, *, progress: Progress | None = None) -> Verdict:
    """Run the gate's system and return the verdict.

    Raises NotComparableError where the baseline was made from other inputs, SystemFailedError where
    the system failed on a query.
    """
    baseline = read_baseline(project.baseline)
    experiment = run_experiment(project, [project.gate.system], progress=progress)
    return judge(project, experiment, baseline)


def judge(project: Project, experiment: Experiment, baseline: Baseline) -> Verdict:
    """Hold the gate's system of a finished experiment against the baseline."""
    changed = differences(baseline, experiment.evaluation, project.gate)
    if changed:
        raise NotComparableError(
            f"{project.baseline}: not comparable with the baseline: {'; '.join(changed)}; if that "
            "is meant, look at the scores and run 'searchmark baseline accept'"
        )
    scores = next(s for s in experiment.evaluation.systems if s.system == project.gate.system)
    experiment.check([project.gate.system])
    queries = experiment.inputs.queries
    texts = dict(zip(queries.query_ids, queries.texts, strict=True))
    verdict = decide(scores, baseline, project.gate, texts)
    strict = msgspec.structs.replace(project.gate, allow_changed=[])
    allowed = differences(baseline, experiment.evaluation, strict)
    return replace(verdict, notes=tuple(f"allowed by allow_changed: {d}" for d in allowed))


def accept_baseline(project: Project, *, progress: Progress | None = None) -> Baseline:
    """Run the gate's system and write its scores as the baseline; a failing one is refused."""
    experiment = run_experiment(project, [project.gate.system], progress=progress)
    experiment.check()
    accepted = baseline_of(experiment.evaluation.systems[0], experiment.evaluation)
    write_baseline(project.baseline, accepted)
    return accepted
