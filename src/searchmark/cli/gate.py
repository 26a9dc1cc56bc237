"""``searchmark gate``: the configured system against its baseline."""

from pathlib import Path

import click

from searchmark.cli.output import format_option, look, progress_bar


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@format_option
def gate(project: Path, form: str) -> None:
    """Run the system that PROJECT's gate names and hold it against the accepted baseline.

    Exit code 0: it holds every limit; 1: it does not; 3: it failed on a query; 4: queries, qrels,
    corpus, measures or conventions are not those of the baseline.
    """
    from searchmark.errors import BAD_VERDICT
    from searchmark.experiments.gating import run_gate
    from searchmark.project import read_project
    from searchmark.reports.render import verdict_text

    opened = read_project(project)
    with progress_bar() as progress:
        verdict = run_gate(opened, progress=progress)
    click.echo(verdict_text(verdict, form, look()), nl=False)
    if not verdict.passed:
        raise click.exceptions.Exit(BAD_VERDICT)
