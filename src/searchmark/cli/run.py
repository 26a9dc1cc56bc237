"""``searchmark run``: ask every query of every system, and show the comparison."""

from pathlib import Path

import click

from searchmark.cli.output import digits_option, format_option, look, mind, say
from searchmark.cli.progress import progress_bar
from searchmark.errors import shown_path


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@click.option("--system", "systems", multiple=True, help="Run only this system (may be repeated).")
@click.option("--detail", metavar="SYSTEM", help="The system shown by category.")
@click.option("--per-query", is_flag=True, help="Every query's values too (json and csv).")
@format_option
@digits_option
def run(
    project: Path,
    systems: tuple[str, ...],
    detail: str | None,
    form: str,
    digits: int,
    *,
    per_query: bool,
) -> None:
    """Run the systems of PROJECT (a folder or a project file) and compare them.

    Answers are kept as they come: an interrupted run goes on where it stopped.
    """
    from searchmark.experiments.experiment import try_experiment
    from searchmark.project import read_project
    from searchmark.reports.render import evaluation_text

    opened = read_project(project)
    chosen = opened.choose(systems)
    shown = opened.shown(detail, chosen)
    with progress_bar() as progress:
        experiment = try_experiment(opened, chosen, progress=progress)
    ran = [outcome.system for outcome in experiment.outcomes]
    click.echo(
        evaluation_text(
            experiment.evaluation,
            form,
            system=shown if shown in ran else ran[-1],
            per_query=per_query,
            look=look(digits),
        ),
        nl=False,
    )
    mind(experiment.caveats, form)
    for outcome in experiment.outcomes:
        say(f"{outcome.system}: results in {shown_path(outcome.folder)}")
    experiment.check()
