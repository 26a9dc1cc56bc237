"""The gate in one step: run the system that serves users, compare, decide; or accept."""

from dataclasses import replace

import msgspec

from searchmark.data import read_queries
from searchmark.errors import NotComparableError, ProjectError
from searchmark.experiments.experiment import Experiment, run_experiment
from searchmark.experiments.inputs import Inputs
from searchmark.gate.baseline import (
    Baseline,
    baseline_of,
    differences,
    read_baseline,
    write_baseline,
)
from searchmark.gate.decision import Background, decide
from searchmark.gate.policy import pinned_problems
from searchmark.gate.verdict import Verdict
from searchmark.measures.notation import parse_measure
from searchmark.project import Project
from searchmark.systems.protocol import Progress


def run_gate(project: Project, *, progress: Progress | None = None) -> Verdict:
    """Run the gate's system and return the verdict.

    Raises NotComparableError where the baseline was made from other inputs, SystemFailedError where
    the system failed on a query.
    """
    check_pinned(project)
    baseline = read_baseline(project.baseline)
    experiment = run_experiment(project, [project.gate.system], progress=progress)
    return judge(project, experiment, baseline)


def check_pinned(project: Project) -> None:
    """Raise ProjectError where the gate pins a query that does not exist, before anything runs."""
    if project.gate.pinned:
        problems = pinned_problems(project.gate, read_queries(project.queries).query_ids)
        if problems:
            raise ProjectError(project.path, problems)


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
    policy = project.gate.renamed(_written(project))
    verdict = decide(scores, baseline, policy, background_of(experiment.inputs))
    strict = msgspec.structs.replace(project.gate, allow_changed=[])
    allowed = differences(baseline, experiment.evaluation, strict)
    notes = (f"allowed by allow_changed: {d}" for d in allowed)
    return replace(verdict, notes=(*verdict.notes, *notes))


def _written(project: Project) -> dict[str, str]:
    """Return measures as the project file names them -> as scores do: MRR is RR there."""
    return {m: parse_measure(m, project.file.profile).written for m in project.file.measures}


def background_of(inputs: Inputs) -> Background:
    """Return what a decision needs to know of the queries and measures."""
    queries = inputs.queries
    return Background(
        texts=dict(zip(queries.query_ids, queries.texts, strict=True)),
        measures={m.written: m for m in inputs.measures},
    )


def accept_baseline(project: Project, *, progress: Progress | None = None) -> Baseline:
    """Run the gate's system and write its scores as the baseline; a failing one is refused."""
    check_pinned(project)
    experiment = run_experiment(project, [project.gate.system], progress=progress)
    experiment.check()
    accepted = baseline_of(experiment.evaluation.systems[0], experiment.evaluation)
    write_baseline(project.baseline, accepted)
    return accepted
