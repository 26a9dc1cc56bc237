"""``searchmark guide``: a first evaluation step by step, from documents to a verdict."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.progress import progress_bar

if TYPE_CHECKING:
    from searchmark.diagnosis.diagnosis import Diagnosis
    from searchmark.diagnosis.evidence import Evidence
    from searchmark.experiments.guiding.talk import Talk
    from searchmark.experiments.guiding.walk import Walk
    from searchmark.experiments.outcome import Experiment
    from searchmark.project import Project

STEPS = ("documents", "queries", "project", "run", "judge")
"""Steps that can be taken anew."""

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--documents", type=_FILE, metavar="FILE", help="The documents to search.")
@click.option("--name-field", "names", multiple=True, help="A field that holds a title or name.")
@click.option("--field", "fields", multiple=True, help="A field to search (may be repeated).")
@click.option("--queries", type=_FILE, metavar="FILE", help="The queries: a table, or one a line.")
@click.option(
    "--generate", type=click.IntRange(1, 10_000), metavar="N", help="Have N stand-ins made."
)
@click.option("--judgments", type=_FILE, metavar="FILE", help="Grades to take: a filled-in sheet.")
@click.option(
    "-k", "--k", type=click.IntRange(1, 100), help="How deep to judge; 5 in a new project."
)
@click.option("--judge", default="assessor", show_default=True, help="Who judges, for the log.")
@click.option("--seed", type=int, help="Seed of stand-ins and of the order while judging.")
@click.option("--dense/--no-dense", default=True, help="With search by meaning, where it is here.")
@click.option("--restart-step", "restart", type=click.Choice(STEPS), help="Take this step anew.")
@click.option("--no-input", is_flag=True, help="Ask nothing: files and options say everything.")
def guide(folder: Path, *, no_input: bool, **given: Any) -> None:
    """Walk through a first evaluation in FOLDER: documents, queries, judgments, verdict.

    Every step can be left (q, Ctrl-C, a closed terminal): the same command goes on from there.
    Without a terminal nothing is asked, and what is missing is said.
    """
    from searchmark.cli.talking import Live, Silent
    from searchmark.experiments.guiding.talk import Given, Left
    from searchmark.experiments.guiding.walk import Walk

    is_live = not no_input and sys.stdin.isatty() and sys.stdout.isatty()
    walk = Walk(folder, Given(**given), Live() if is_live else Silent())
    try:
        _walk(walk)
    except Left:
        walk.talk.tell(f"\nLeft, with everything kept. '{_command(folder)}' goes on from here.")


def _walk(walk: "Walk") -> None:
    from searchmark.experiments.guiding.asking import forget_answers
    from searchmark.experiments.guiding.judging import ask_project, cutoff_of, judge_project
    from searchmark.experiments.guiding.preparing import prepare_project

    project = prepare_project(walk)
    asked, corpus = ask_project(walk, project, progress_bar)
    if not judge_project(walk, project, asked, corpus):
        walk.talk.tell("Nothing is judged, so there are no numbers.")
        walk.talk.tell(f"'{_command(walk.folder)} --restart-step judge' shows what was skipped.")
        return
    experiment = _metrics(walk, project, asked.calls)
    if not any(o.invalid for o in experiment.outcomes):
        forget_answers(project)
    found, setup = _findings(walk, project, experiment, cutoff_of(walk, project))
    _next(walk, project, found, setup)
    experiment.check()


def _metrics(walk: "Walk", project: "Project", calls: Any) -> "Experiment":
    from searchmark.experiments.experiment import run_experiment
    from searchmark.reports.render import evaluation_text

    walk.begin("metrics")
    with progress_bar() as progress:
        experiment = run_experiment(project, answers=calls, progress=progress)
    shown = project.shown(None, list(project.systems))
    click.echo(
        evaluation_text(
            experiment.evaluation,
            "terminal",
            system=shown,
            with_calls=False,
            look=walk.talk.look,
        ),
        nl=False,
    )
    return experiment


def _findings(
    walk: "Walk", project: "Project", experiment: "Experiment", k: int
) -> "tuple[Diagnosis, Evidence]":
    from searchmark.diagnosis.diagnosis import diagnosis_of
    from searchmark.experiments.diagnosing import evidence_of, serving_system
    from searchmark.reports.render import diagnosis_text

    walk.begin("findings")
    setup = evidence_of(project, experiment, k=k)
    found = diagnosis_of(setup, serving_system(project, setup))
    click.echo(diagnosis_text(found, "terminal", walk.talk.look), nl=False)
    return found, setup


def _next(walk: "Walk", project: "Project", found: "Diagnosis", setup: "Evidence") -> None:
    """Show the ways on as commands; a person can have the first one taken at once."""
    folder = shlex.quote(str(walk.folder))
    walk.begin("next")
    lines = (
        f"r  Restart with the improvements: searchmark diagnose {folder} --restart",
        f"d  Deploy as it is: searchmark baseline accept {folder}, then searchmark gate {folder}",
        f"e  Keep experimenting: edit {project.path.name}, then searchmark run {folder}; other "
        f"queries: {_command(walk.folder)} --restart-step queries",
    )
    for line in lines:
        walk.talk.tell(line)
    if walk.talk.is_live and _wants_restart(walk.talk):
        _restart(walk.talk, project, found, setup)


def _wants_restart(talk: "Talk") -> bool:
    talk.tell("r writes the improved project file now, to review; any other key ends here.")
    with talk.keys() as read_key:
        return read_key() in ("r", "R")


def _restart(talk: "Talk", project: "Project", found: "Diagnosis", setup: "Evidence") -> None:
    from searchmark.errors import InputError, shown_path
    from searchmark.experiments.restart import suggest_project, write_suggestion

    suggestion = suggest_project(project, found.groups, setup)
    for note in suggestion.notes:
        talk.tell(f"- by hand: {note}")
    if not suggestion.diff:
        talk.tell("No change of the project file is suggested: what was found is mended elsewhere.")
        return
    talk.tell(suggestion.diff.rstrip("\n"))
    try:
        path = shown_path(write_suggestion(suggestion, project))
    except InputError as error:  # one that was written before, and may have been edited since
        talk.tell(str(error))
        return
    talk.tell(f"Written: {path}. Review it, then 'searchmark diagnose {shlex.quote(path)}'.")


def _command(folder: Path) -> str:
    return "searchmark guide" + ("" if folder == Path() else f" {shlex.quote(str(folder))}")
