"""``searchmark eval``: run files against judgments, with or without trec_eval's vocabulary."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from searchmark.cli.output import digits_option, format_option, look, mind

if TYPE_CHECKING:
    from searchmark.measures.trec import TrecOptions

FILE = click.Path(path_type=Path)
TREC_ONLY = {
    "each": (False, "-q"),
    "no_summary": (False, "-n"),
    "level": (1, "-l"),
    "depth": (None, "-M"),
    "judged_only": (False, "-J"),
    "n_documents": (0, "-N"),
}
"""trec_eval's switches that mean something only in its own report, with their defaults."""


@click.command("eval")
@click.argument("qrels", type=FILE)
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option("-m", "--measure", "measures", multiple=True, help="A measure; may be repeated.")
@click.option(
    "--profile",
    type=click.Choice(["trec", "graded", "answerable"]),
    default="trec",
    show_default=True,
    help="Where conventions come from that a measure does not state.",
)
@click.option(
    "--order",
    type=click.Choice(["score", "rank"]),
    default="score",
    show_default=True,
    help="What orders documents: their score, or the rank that the file gives.",
)
@click.option(
    "--scores",
    type=click.Choice(["float64", "float32"]),
    default="float64",
    show_default=True,
    help="float32 compares scores as pytrec_eval and ir_measures do.",
)
@click.option(
    "--first", is_flag=True, help="A document that occurs twice counts where it is first."
)
@click.option("--no-ties", is_flag=True, help="Leave out how far ties could move the means.")
@click.option("--per-query", is_flag=True, help="Every query's values too (json and csv).")
@click.option("-c", "complete", is_flag=True, help="Judged queries not in the run count as 0.")
@click.option("--trec", is_flag=True, help="Print what trec_eval prints, with its measure names.")
@click.option("-q", "each", is_flag=True, help="--trec: every query too.")
@click.option("-n", "no_summary", is_flag=True, help="--trec: no summary.")
@click.option("-l", "level", type=int, default=1, help="--trec: the least grade that is relevant.")
@click.option("-M", "depth", type=int, help="--trec: look at the first M results only.")
@click.option("-J", "judged_only", is_flag=True, help="--trec: look at judged results only.")
@click.option("-N", "n_documents", type=int, default=0, help="--trec: documents there are.")
@format_option
@digits_option
def evaluate(qrels: Path, runs: tuple[Path, ...], form: str, digits: int, **given: Any) -> None:
    """Evaluate RUNS against the judgments in QRELS.

    Files may be TREC text, tables with named columns or Parquet, plain or packed with gzip or zstd.

    Measures are written as nDCG@10, P(rel=2)@5 or with trec_eval's names; docs/measures.md has all.
    Without -m they are nDCG@10, RR, R@100 and AP.
    """
    # no linear algebra here: a pool of threads for it would only cost time to start
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from searchmark.api import DEFAULT_MEASURES, Reading, evaluate_files, hits_of_files

    reading = Reading(given["order"], given["scores"], keep_first=given["first"])
    if given["trec"]:
        _print_trec(hits_of_files(qrels, runs, reading), _trec_options(given))
        return
    for name, (default, switch) in TREC_ONLY.items():
        if given[name] != default:
            raise click.UsageError(f"{switch} goes with --trec")
    from searchmark.reports.render import evaluation_text

    result = evaluate_files(
        hits_of_files(qrels, runs, reading),
        _split(given["measures"]) or DEFAULT_MEASURES,
        given["profile"],
        complete=given["complete"],
        ties=not given["no_ties"],
    )
    text = evaluation_text(result.evaluation, form, per_query=given["per_query"], look=look(digits))
    click.echo(text, nl=False)
    mind(result.evaluation.notes, form)


def _split(measures: Sequence[str]) -> list[str]:
    """Return measures one by one: a comma outside brackets separates two."""
    found: list[str] = []
    for text in measures:
        depth, start = 0, 0
        for i, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                found.append(text[start:i])
                start = i + 1
        found.append(text[start:])
    return [m.strip() for m in found if m.strip()]


def _trec_options(given: dict[str, Any]) -> "TrecOptions":
    from searchmark.measures.trec import TrecOptions

    return TrecOptions(
        measures=tuple(given["measures"]) or ("official",),
        per_query=given["each"],
        summary=not given["no_summary"],
        complete=given["complete"],
        level=given["level"],
        depth=given["depth"],
        judged_only=given["judged_only"],
        n_documents=given["n_documents"],
    )


def _print_trec(hits: dict[str, Any], options: "TrecOptions") -> None:
    """Print each run's report; more than one are set apart by their run ids, as files are."""
    from searchmark.measures.trec import trec_report

    for name, found in hits.items():
        click.echo("\n".join(trec_report(found, options, name)))
