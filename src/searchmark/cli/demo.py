"""``searchmark demo``: the main job end to end, on a catalog that comes along."""

from pathlib import Path

import click

from searchmark.cli.output import look, say
from searchmark.cli.progress import progress_bar


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("demo"))
def demo(folder: Path) -> None:
    """Put the demo project into FOLDER, run its three systems, compare them and ask the gate.

    A project that is in FOLDER already is run as it stands, so change it and call this again.
    """
    from searchmark.demo import place
    from searchmark.errors import BAD_VERDICT
    from searchmark.experiments.experiment import run_experiment
    from searchmark.experiments.gating import judge
    from searchmark.gate.baseline import read_baseline
    from searchmark.project import read_project
    from searchmark.reports.render import evaluation_text, verdict_text

    put = place(folder)
    say(f"{'made' if put else 'using'} the project in {folder}{'' if put else ' as it stands'}")
    project = read_project(folder)
    baseline = read_baseline(project.baseline)
    with progress_bar() as progress:
        experiment = run_experiment(project, progress=progress)
    shown = project.gate.system
    text = evaluation_text(
        experiment.evaluation, "terminal", system=shown, with_calls=False, look=look()
    )
    click.echo(text)
    experiment.check()
    verdict = judge(project, experiment, baseline)
    click.echo(verdict_text(verdict, "terminal", look=look()), nl=False)
    if not verdict.passed:
        raise click.exceptions.Exit(BAD_VERDICT)
