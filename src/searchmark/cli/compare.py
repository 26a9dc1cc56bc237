"""``searchmark compare``: which differences between systems can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.output import digits_option, format_option, look, mind
from searchmark.cli.progress import progress_bar

if TYPE_CHECKING:
    from searchmark.stats.comparison import Family, Settings

FILE = click.Path(path_type=Path)


@click.command("compare")
@click.argument("path", type=FILE, default=Path())
@click.argument("runs", type=FILE, nargs=-1)
@click.option("--system", "systems", multiple=True, help="Only this system; may be repeated.")
@click.option("--reference", help="Compare all others with this one, not every pair.")
@click.option("-m", "--measure", "measures", multiple=True, help="Only this; may be repeated.")
@click.option(
    "--test",
    type=click.Choice(["randomization", "t", "wilcoxon", "sign"]),
    default="randomization",
    show_default=True,
    help="The test that decides; JSON has what all of them say.",
)
@click.option(
    "--correct",
    type=click.Choice(["holm", "bh", "none"]),
    default="holm",
    show_default=True,
    help="How p-values are corrected for the number of comparisons.",
)
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05)
@click.option("--resamples", type=click.IntRange(min=100), help="Draw so many for the intervals.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything drawn."
)
@format_option
@digits_option
def compare(path: Path, runs: tuple[Path, ...], form: str, digits: int, **given: Any) -> None:
    """Compare the systems of a project, or RUNS against the judgments in PATH.

    Says for every pair of systems and every measure how large the difference is, where the true one
    may lie, and whether chance alone could have made it.
    """
    from searchmark.reports.render import comparison_text

    family = _of_files(path, runs, given) if runs else _of_project(path, given)
    click.echo(comparison_text(family, form, look(digits)), nl=False)
    mind(family.notes, form)


def _of_project(path: Path, given: dict[str, Any]) -> "Family":
    from searchmark.experiments.comparing import compare_systems
    from searchmark.project import read_project

    with progress_bar() as progress:
        return compare_systems(
            read_project(path),
            systems=given["systems"],
            reference=given["reference"],
            measures=given["measures"],
            settings=_settings(given),
            progress=progress,
        )


def _of_files(qrels: Path, runs: tuple[Path, ...], given: dict[str, Any]) -> "Family":
    from searchmark.api import DEFAULT_MEASURES, Reading, compared, hits_of_files

    return compared(
        hits_of_files(qrels, runs, Reading()),
        given["measures"] or DEFAULT_MEASURES,
        systems=given["systems"],
        reference=given["reference"],
        settings=_settings(given),
    )


def _settings(given: dict[str, Any]) -> "Settings":
    from searchmark.stats.comparison import Settings

    return Settings(
        test=given["test"],
        correction=given["correct"],
        alpha=given["alpha"],
        resamples=given["resamples"],
        seed=given["seed"],
    )
