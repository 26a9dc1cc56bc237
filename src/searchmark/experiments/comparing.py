"""Systems of a project run and compared with each other."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from searchmark.api import check_several, compare_all
from searchmark.experiments.experiment import run_experiment
from searchmark.project import Project
from searchmark.stats.comparison import Family, Settings
from searchmark.systems.protocol import Progress


def compare_systems(
    project: Project,
    *,
    systems: Sequence[str] = (),
    reference: str | None = None,
    measures: Sequence[str] = (),
    settings: Settings,
    progress: Progress | None = None,
) -> Family:
    """Run the named systems (all by default) and compare them.

    Raises SystemFailedError where too many queries of one failed: a failure is no measured loss.
    """
    named = project.choose(list(systems) + ([reference] if reference and systems else []))
    if reference is not None:
        project.choose([reference])
    check_several(named)  # before any of them is asked
    if measures:
        file = msgspec.structs.replace(project.file, measures=list(measures))
        project = replace(project, file=file)
    experiment = run_experiment(project, named, progress=progress, sensitivity=False)
    experiment.check()
    family = compare_all(
        experiment.evaluation,
        reference=reference,
        settings=settings,
        clusters=experiment.inputs.groups.cluster or None,
    )
    return replace(family, notes=(*family.notes, *experiment.caveats))
