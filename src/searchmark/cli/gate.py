"""``searchmark gate``: the configured system against its baseline."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from searchmark.cli.output import digits_option, format_option_with, look, mind, say
from searchmark.cli.progress import progress_bar

if TYPE_CHECKING:
    from searchmark.gate.verdict import Verdict
    from searchmark.reports.verdict import NoVerdict

FILE = click.Path(path_type=Path)


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@format_option_with("junit")
@digits_option
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML to FILE too.")
@click.option("--markdown", type=FILE, metavar="FILE", help="Write Markdown to FILE too.")
@click.option("--json", type=FILE, metavar="FILE", help="Write JSON to FILE too.")
@click.option(
    "--github/--no-github",
    default=None,
    help="Annotations and job summary for GitHub Actions; by default where GITHUB_ACTIONS is true.",
)
def gate(
    project: Path, form: str, digits: int, *, github: bool | None, **files: Path | None
) -> None:
    """Run the system that PROJECT's gate names and hold it against the accepted baseline.

    Exit code 0: it holds every limit; 1: it does not; 3: it failed on too many queries; 4:
    queries, qrels, corpus, measures or conventions are not those of the baseline. Files are written
    where there is no verdict too, and say why.
    """
    from searchmark.cli.artifacts import clear
    from searchmark.errors import BAD_VERDICT, SearchmarkError
    from searchmark.experiments.gating import run_gate
    from searchmark.project import read_project
    from searchmark.reports.verdict import no_verdict

    on_github = os.environ.get("GITHUB_ACTIONS") == "true" if github is None else github
    outlets = Outlets(form, digits, on_github, {})
    system = None
    try:
        opened = read_project(project)
        system = opened.gate.system
        wanted = {name: path for name, path in files.items() if path is not None}
        inputs = (opened.path, opened.corpus, opened.queries, opened.qrels, opened.baseline)
        clear({f"--{name}": path for name, path in wanted.items()}, inputs)
        outlets = Outlets(form, digits, on_github, wanted)
        with progress_bar() as progress:
            verdict = run_gate(opened, progress=progress)
    except SearchmarkError as error:
        outlets.tell(no_verdict(system, error))
        raise
    outlets.tell(verdict)
    mind(verdict.caveats, form)
    if not verdict.passed:
        raise click.exceptions.Exit(BAD_VERDICT)


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where a verdict goes: standard output in one format, files by format, GitHub."""

    form: str
    digits: int
    on_github: bool
    files: Mapping[str, Path]

    def tell(self, found: "Verdict | NoVerdict") -> None:
        """Print a verdict, or that there is none, and write it everywhere else."""
        from searchmark.data.files import write_text_atomically

        text = self._text(found, self.form)
        if self.on_github and self.form == "terminal" and text:
            text = _unread(text)
        click.echo(text, nl=False)
        for form, path in self.files.items():
            write_text_atomically(path, self._text(found, form))
        if self.on_github:
            self._tell_github(found)

    def _text(self, found: "Verdict | NoVerdict", form: str) -> str:
        from searchmark.reports.render import no_verdict_text, verdict_text
        from searchmark.reports.verdict import NoVerdict

        if isinstance(found, NoVerdict):
            return no_verdict_text(found, form)
        return verdict_text(found, form, look(self.digits))

    def _tell_github(self, found: "Verdict | NoVerdict") -> None:
        """Annotate on a stream that nothing else reads, and append to the job's summary."""
        from searchmark.reports.github import annotations

        for line in annotations(found):
            click.echo(line) if self.form == "terminal" else say(line)
        name = os.environ.get("GITHUB_STEP_SUMMARY")
        if name:
            _append_summary(Path(name), self._text(found, "markdown"))


def _unread(text: str) -> str:
    from secrets import token_hex

    from searchmark.reports.github import unread

    return unread(text, token_hex(16))


def _append_summary(path: Path, markdown: str) -> None:
    """Append to the summary; one that cannot be written is no reason to fail a good system."""
    from searchmark.data.files import open_to_append
    from searchmark.reports.github import fitted

    try:
        taken = path.stat().st_size if path.exists() else 0
        with open_to_append(path) as stream:
            stream.write(fitted(markdown, taken).encode())
    except OSError as error:
        say(f"searchmark: warning: {path}: the job summary was not written ({error.strerror})")
