"""``searchmark explain``: why a system ranks a document where it does."""

from pathlib import Path
from typing import Any

import click

from searchmark.cli.output import digits_option, format_option, look


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@click.option("--system", required=True, help="The system that is asked.")
@click.option("--query", "query_id", help="The id of a query of the golden set.")
@click.option("--text", help="Instead of --query: any text.")
@click.option("--doc", "doc_id", required=True, help="The id of the document.")
@click.option("-k", "k", type=click.IntRange(min=1), help="How deep to look; the project's depth.")
@format_option
@digits_option
def explain(project: Path, form: str, digits: int, **given: Any) -> None:
    """Ask a system of PROJECT why it ranks a document where it does.

    Engines that explain their scores are opensearch and elasticsearch.
    """
    from searchmark.experiments.explaining import explain as asked
    from searchmark.experiments.explaining import query_of
    from searchmark.project import read_project
    from searchmark.reports.explanation import explanation_text
    from searchmark.systems.protocol import Query

    if (given["query_id"] is None) == (given["text"] is None):
        raise click.UsageError("give one of --query and --text")
    opened, text, system = read_project(project), given["text"], given["system"]
    query = query_of(opened, given["query_id"]) if text is None else Query("", text)
    found = asked(opened, system, query, given["doc_id"], k=given["k"])
    click.echo(explanation_text(found, system, query.text, form, look(digits)), nl=False)
