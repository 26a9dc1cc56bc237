"""The gate in one step: run the system that serves users, compare, decide; or accept."""

from dataclasses import replace
from typing import NamedTuple

import msgspec

from searchmark.data import Queries, read_qrels, read_queries
from searchmark.errors import NotComparableError, Problem, ProjectError, shown_path
from searchmark.experiments.experiment import run_experiment
from searchmark.experiments.inputs import Inputs
from searchmark.experiments.outcome import Experiment
from searchmark.experiments.store import Store
from searchmark.experiments.stored import Values, stored_scores
from searchmark.gate.baseline import (
    Baseline,
    baseline_of,
    check_categories,
    differences,
    read_baseline,
    write_baseline,
)
from searchmark.gate.cases import Background
from searchmark.gate.decision import decide
from searchmark.gate.policy import category_problems, pinned_problems
from searchmark.gate.suggestions import suggestion_from_others
from searchmark.gate.verdict import Verdict
from searchmark.measures.notation import parse_measure
from searchmark.project import Project
from searchmark.systems.protocol import Progress


def run_gate(project: Project, *, progress: Progress | None = None) -> Verdict:
    """Run the gate's system and return the verdict.

    Raises NotComparableError where the baseline was made from other inputs, SystemFailedError where
    too many of the system's queries failed.
    """
    check_named(project)
    baseline = read_baseline(project.baseline)
    experiment = run_experiment(
        project, [project.gate.system], progress=progress, sensitivity=False
    )
    return judge(project, experiment, baseline)


def check_named(project: Project) -> None:
    """Raise ProjectError where the gate names queries or categories that do not exist.

    That is told before anything runs.
    """
    gate, problems = project.gate, list[Problem]()
    if gate.pinned or gate.category_max_drop or gate.category_floors:
        queries = read_queries(project.queries)
        problems += pinned_problems(gate, queries.query_ids)
        if project.file.complete:  # then a query without judgments is scored too
            problems += category_problems(gate, set(filter(None, queries.categories)), "query")
        else:
            problems += category_problems(gate, _judged_categories(project, queries))
    if problems:
        raise ProjectError(project.path, problems)


def _judged_categories(project: Project, queries: Queries) -> set[str]:
    judged = set(read_qrels(project.qrels).frame["query_id"].to_list())
    pairs = zip(queries.query_ids, queries.categories, strict=True)
    return {category for query_id, category in pairs if category and query_id in judged}


def judge(project: Project, experiment: Experiment, baseline: Baseline) -> Verdict:
    """Hold the gate's system of a finished experiment against the baseline."""
    changed = differences(baseline, experiment.evaluation, project.gate)
    if changed:
        raise NotComparableError(
            f"{shown_path(project.baseline)}: not comparable with the baseline: "
            f"{'; '.join(changed)}; if that is meant, look at the scores and run "
            "'searchmark baseline accept'",
            reasons=changed,
        )
    scores = next(s for s in experiment.evaluation.systems if s.system == project.gate.system)
    experiment.check([project.gate.system])
    policy = project.gate.renamed(_written(project))
    known = background_of(experiment.inputs)
    check_categories(project.baseline, baseline, known.groups.category)
    verdict = decide(scores, baseline, policy, known)
    if verdict.suggested_max_drop is None:
        found = suggestion_from_others(scores, _others(project, experiment), policy, known)
        verdict = replace(
            verdict,
            suggestions=(*verdict.suggestions, found.text),
            suggested_max_drop=found.max_drop,
        )
    strict = msgspec.structs.replace(project.gate, allow_changed=[])
    allowed = differences(baseline, experiment.evaluation, strict)
    notes = (
        *verdict.notes,
        *experiment.caveats,
        *(f"allowed by allow_changed: {d}" for d in allowed),
    )
    return replace(verdict, notes=notes, caveats=experiment.caveats)


def _others(project: Project, experiment: Experiment) -> dict[str, Values]:
    """Return the values of the project's other systems, of this experiment or an earlier one."""
    names = [name for name in project.systems if name != project.gate.system]
    stored = stored_scores(Store(project.folder / ".searchmark"), experiment.inputs, names)
    fresh = {
        s.system: s.per_query
        for s in experiment.evaluation.systems
        if s.system in names and s.invalid is None
    }
    return {**stored, **fresh}


def _written(project: Project) -> dict[str, str]:
    """Return measures as the project file names them -> as scores do: MRR is RR there."""
    return {m: parse_measure(m, project.file.profile).written for m in project.file.measures}


def background_of(inputs: Inputs) -> Background:
    """Return what a decision needs to know of the queries and measures."""
    queries = inputs.queries
    return Background(
        texts=dict(zip(queries.query_ids, queries.texts, strict=True)),
        measures={m.written: m for m in inputs.measures},
        groups=inputs.groups,
    )


class Accepted(NamedTuple):
    """A baseline that was written, and what to know of the run that it is of."""

    baseline: Baseline
    caveats: tuple[str, ...]


def accept_baseline(project: Project, *, progress: Progress | None = None) -> Accepted:
    """Run the gate's system and write its scores as the baseline; an invalid run is refused."""
    check_named(project)
    experiment = run_experiment(
        project, [project.gate.system], progress=progress, sensitivity=False
    )
    experiment.check()
    accepted = baseline_of(experiment.evaluation.systems[0], experiment.evaluation)
    write_baseline(project.baseline, accepted)
    return Accepted(accepted, experiment.caveats)
