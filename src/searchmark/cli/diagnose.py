"""``searchmark diagnose``: what is wrong, why probably, what to try first."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.output import digits_option, format_option, look, say
from searchmark.cli.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from searchmark.diagnosis.diagnosis import Diagnosis
    from searchmark.diagnosis.evidence import Evidence, QueryEvidence
    from searchmark.project import Project


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@click.option("--system", "systems", multiple=True, help="Only this system (may be repeated).")
@click.option("-k", "k", type=click.IntRange(min=1), help="The cutoff; the project's by default.")
@click.option("--query", "queries", multiple=True, help="Show this query whole (may be repeated).")
@click.option("--fresh", is_flag=True, help="Ask the systems again where answers are kept.")
@click.option("--all", "every", is_flag=True, help="Every finding and every query.")
@click.option(
    "--fail-on",
    type=click.Choice(["HIGH", "MEDIUM", "LOW"], case_sensitive=False),
    help="Exit with 1 where there is a finding as severe as this.",
)
@click.option("--restart", is_flag=True, help="Write a new project file with the fixes, to review.")
@click.option("--overwrite", is_flag=True, help="--restart: over the one written before.")
@format_option
@digits_option
def diagnose(project: Path, form: str, digits: int, **given: Any) -> None:
    """Run PROJECT and say which queries fail, of what kind, why probably, and what to try.

    Answers of an earlier run over the same files and configuration are looked at again.

    Exit code 1: there is a finding as severe as --fail-on; 3: too many queries of a system failed
    or were answered in part.
    """
    from searchmark.diagnosis.diagnosis import diagnosis_of
    from searchmark.experiments.diagnosing import run_evidence, serving_system
    from searchmark.project import read_project
    from searchmark.reports.render import diagnosis_text, query_text

    _check(given)
    opened, queries = read_project(project), given["queries"]
    with progress_bar() as progress:
        setup = run_evidence(
            opened,
            given["systems"],
            k=given["k"],
            queries=queries,
            fresh=given["fresh"],
            progress=progress,
        )
    if setup.made:
        oldest = min(setup.made.values())
        say(f"kept answers are looked at, the oldest of {oldest}; --fresh asks again")
    if queries:
        click.echo(query_text(setup, queries, form, look(digits)), nl=False)
        _exit_if_failed([setup.by_id[q] for q in queries], setup)
        return
    found = diagnosis_of(setup, serving_system(opened, setup))
    click.echo(diagnosis_text(found, form, look(digits), every=given["every"]), nl=False)
    if given["restart"]:
        _restart(opened, found, setup, overwrite=given["overwrite"])
    _exit(found, setup, given["fail_on"])


def _restart(project: "Project", found: "Diagnosis", setup: "Evidence", *, overwrite: bool) -> None:
    """Write the suggested project file and show it as a diff on standard error."""
    from searchmark.errors import shown_path
    from searchmark.experiments.restart import suggest_project, write_suggestion

    suggestion = suggest_project(project, found.groups, setup)
    for note in suggestion.notes:
        say(f"by hand: {note}")
    if not suggestion.diff:
        reason = (
            "see what is said above" if suggestion.notes else "what was found is mended elsewhere"
        )
        say(f"nothing in the project file was changed: {reason}")
        return
    path = shown_path(write_suggestion(suggestion, project, overwrite=overwrite))
    say(suggestion.diff.rstrip("\n"))
    say(f"the suggested project file is {path}; review it, then run 'searchmark diagnose {path}'")


def _check(given: dict[str, Any]) -> None:
    """Refuse options that would be ignored."""
    beside = {"--fail-on": "fail_on", "--restart": "restart", "--all": "every"}
    for option, name in beside.items():
        if given["queries"] and given[name]:
            raise click.UsageError(f"--query shows single queries and does not go with {option}")
    if given["overwrite"] and not given["restart"]:
        raise click.UsageError("--overwrite goes with --restart")


def _exit(found: "Diagnosis", setup: "Evidence", fail_on: str | None) -> None:
    from searchmark.errors import BAD_VERDICT

    _exit_if_failed(setup.queries, setup)  # a run that is no measurement has no bad verdict
    if fail_on is not None and _has(found, fail_on.upper()):
        raise click.exceptions.Exit(BAD_VERDICT)


def _exit_if_failed(queries: "Iterable[QueryEvidence]", setup: "Evidence") -> None:
    """Tell of failed calls and of runs that are no measurement; these fail the command."""
    from searchmark.errors import OutsideError

    failed = [r for q in queries for r in q.rankings if r.is_failure]
    if failed:
        names = ", ".join(sorted({r.name for r in failed}))
        n = len(failed)
        say(f"{n} call{'' if n == 1 else 's'} failed ({names}); the findings name the queries")
    partial = [r for q in queries for r in q.rankings if r.partial and not r.is_failure]
    if partial:
        names, n = ", ".join(sorted({r.name for r in partial})), len(partial)
        what = "answer is" if n == 1 else "answers are"
        say(f"{n} {what} partial ({names}); a part of the system did not take part")
    missing = [r for q in queries for r in q.rankings if r.status == "missing"]
    if missing:
        names, n = ", ".join(sorted({r.name for r in missing})), len(missing)
        say(f"{n} quer{'y is' if n == 1 else 'ies are'} missing from run files ({names})")
    for name, why in setup.invalid.items():
        say(f"{name} is INVALID: {why}; what is said of it is no measurement")
    if setup.invalid:
        raise click.exceptions.Exit(OutsideError.exit_code)


def _has(found: "Diagnosis", severity: str) -> bool:
    from searchmark.diagnosis.finding import SEVERITIES

    least = [*map(str, SEVERITIES)].index(severity)
    return any(SEVERITIES.index(f.severity) <= least for f in found.findings)
