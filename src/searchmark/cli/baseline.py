"""``searchmark baseline``: the only way a baseline changes is that a person accepts one."""

from pathlib import Path

import click

from searchmark.cli.output import format_option, look, say
from searchmark.cli.progress import progress_bar
from searchmark.errors import shown_path


@click.group()
def baseline() -> None:
    """Accept or show the numbers that the gate compares with."""


@baseline.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
def accept(project: Path) -> None:
    """Run the gate's system and write its scores as the new baseline."""
    from searchmark.experiments.gating import accept_baseline
    from searchmark.project import read_project

    opened = read_project(project)
    with progress_bar() as progress:
        accepted, caveats = accept_baseline(opened, progress=progress)
    for caveat in caveats:
        say(f"mind: {caveat}")
    means = ", ".join(f"{m} {v:.4f}" for m, v in accepted.means.items() if v is not None)
    say(f"accepted {accepted.system}: {means}")
    say(f"written: {shown_path(opened.baseline)}; review and commit it")


@baseline.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@format_option
def show(project: Path, form: str) -> None:
    """Show the accepted baseline."""
    from searchmark.gate.baseline import read_baseline
    from searchmark.project import read_project
    from searchmark.reports.render import baseline_text

    accepted = read_baseline(read_project(project).baseline)
    click.echo(baseline_text(accepted, form, look()), nl=False)
