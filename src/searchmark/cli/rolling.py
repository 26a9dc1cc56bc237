"""``searchmark rolling``: whether a live catalog's entries come back."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.output import digits_option, format_option, look, say
from searchmark.cli.progress import progress_bar
from searchmark.errors import BAD_VERDICT

if TYPE_CHECKING:
    from searchmark.reports.rollingtext import RollingReport


@click.command()
@click.argument("api")
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    default=Path("rolling.jsonl"),
    show_default=True,
    help="The file that the record is appended to.",
)
@click.option(
    "--keep",
    type=click.IntRange(1, 100_000),
    default=365,
    show_default=True,
    help="Records that the history keeps; the oldest go.",
)
@click.option(
    "--sample",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    help="Entries that are asked for.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which entries they are.")
@click.option(
    "--depth",
    type=click.IntRange(20, 1000),
    default=20,
    show_default=True,
    help="Results that are looked at.",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="KIND=PATH",
    help="Ask by the text at this JMESPath of an entry; may be repeated.",
)
@click.option("--bearer", help="What an address is asked with, as '${TOKEN}'.")
@click.option("--timeout", "timeout_s", type=float, help="Seconds that a request may take.")
@click.option("--concurrency", type=click.IntRange(1, 256), help="Requests under way at once.")
@click.option("--retries", type=click.IntRange(0, 20), help="How often a request is made again.")
@click.option(
    "--max-entries",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="A catalog of more entries is refused.",
)
@click.option(
    "--fail-under",
    "floors",
    multiple=True,
    metavar="MEASURE=VALUE",
    help="Exit with 1 where a mean is lower; may be repeated.",
)
@format_option
@digits_option
def rolling(api: str, form: str, digits: int, **given: Any) -> int:
    """Ask a live catalog for a sample of its own entries, and record whether they come back.

    API is an address of the discovery API, which may hold ${NAME}, or a TOML file that describes
    another one; docs/rolling.md tells all. What is measured is a known-item upper bound.
    """
    from searchmark.reports.rollingtext import rolling_text

    try:
        report = _report(api, given)
    except KeyboardInterrupt:
        from searchmark.cli.ending import INTERRUPTED

        say("searchmark: error: interrupted; nothing is recorded")
        raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(rolling_text(report, form, look(digits)), nl=False)
    for line in report.floors:
        say(f"not held: {line}")
    return BAD_VERDICT if report.floors else 0


def _report(api: str, given: dict[str, Any]) -> "RollingReport":
    from searchmark.experiments.rolling.evaluation import Plan
    from searchmark.experiments.rolling.floors import read_floors
    from searchmark.experiments.rolling.recording import evaluate_and_record
    from searchmark.experiments.rolling.target import read_target, with_texts

    limits = {k: given[k] for k in ("timeout_s", "concurrency", "retries") if given[k] is not None}
    target = read_target(api, bearer=given["bearer"], limits=limits)
    plan = Plan(given["sample"], given["seed"], given["depth"], given["max_entries"])
    floors = read_floors(given["floors"])
    with progress_bar() as progress:
        return evaluate_and_record(
            with_texts(target, _texts(given["texts"])),
            plan,
            history=given["history"],
            keep=given["keep"],
            floors=floors,
            progress=progress,
        )


def _texts(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        kind, equals, path = text.partition("=")
        if not equals or not path:
            raise click.UsageError(f"--text '{text}' is no KIND=PATH, such as name=title")
        found[kind] = path
    return found
