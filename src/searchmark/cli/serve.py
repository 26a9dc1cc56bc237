"""``searchmark serve``: a project's search over HTTP."""

from pathlib import Path
from typing import Any

import click

from searchmark.cli.output import say
from searchmark.cli.progress import progress_bar
from searchmark.errors import InputError

LEAST_RATE, MOST_RATE = 0.01, 1_000_000


def _rate(context: click.Context, parameter: click.Parameter, value: float) -> float:
    """Take a rate that can be kept; no comparison holds for one that is no number."""
    if value == 0 or LEAST_RATE <= value <= MOST_RATE:
        return value
    raise click.BadParameter(
        f"{value:g} requests a second are no limit that can be kept; give {LEAST_RATE} to "
        f"{MOST_RATE:,}, or 0 for no limit"
    )


@click.command()
@click.argument("project", type=click.Path(path_type=Path), default=Path())
@click.option("--api", is_flag=True, help="Serve the discovery API.")
@click.option("--system", help="The system that answers; the gate's, or the last one, by default.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="The port to listen at; 0 for any that is free.",
)
@click.option(
    "--token",
    help="What requests must send as 'Authorization: Bearer ...', as '${NAME}'; needed where "
    "others than this machine reach --host.",
)
@click.option("--dsn", help="catalog-postgres: the database, as '${DATABASE_URL}'.")
@click.option("--schema", help="catalog-postgres: the schema that holds the catalog.")
@click.option(
    "--fill", is_flag=True, help="catalog-postgres: put the corpus into the schema first."
)
@click.option(
    "--workers",
    type=click.IntRange(0, 32),
    default=0,
    show_default=True,
    help="catalog-postgres: threads that embed what waits in the queue.",
)
@click.option(
    "--rate",
    type=float,
    callback=_rate,
    default=200.0,
    show_default=True,
    help="Requests a second of one client address; 0 for no limit.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="Searches that run at once.",
)
def serve(project: Path, **given: Any) -> None:
    """Answer searches over the corpus of PROJECT by one of its systems, till Ctrl-C.

    GET /discovery/search, /discovery/resources, /health and /openapi.json; docs/service.md tells
    all. Only this machine can ask unless --host and --token say otherwise.
    """
    if not given["api"]:
        raise click.UsageError("say what to serve: --api, the discovery API")
    from searchmark.project import read_project

    try:
        from searchmark.web.limits import Limits
        from searchmark.web.postgres import PostgresCatalogOptions
        from searchmark.web.service import Asked, run_service
    except ModuleNotFoundError as error:
        raise InputError(
            f"serving needs {error.name}", fix="pip install 'searchmark[serve]'"
        ) from None

    opened = read_project(project)
    asked = Asked(
        system=opened.shown(given["system"], opened.choose(())),
        host=given["host"],
        port=given["port"],
        token=given["token"],
        database=PostgresCatalogOptions(
            dsn=given["dsn"],
            schema=given["schema"],
            fill=given["fill"],
            workers=given["workers"],
        ),
        limits=Limits(per_second=given["rate"], threads=given["threads"]),
    )
    with progress_bar() as progress:
        run_service(opened, asked, say=say, progress=progress)
