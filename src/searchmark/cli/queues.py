"""Which catalog's queue a worker is for: that of a project's system, or one that options name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError
from searchmark.project import Project, read_project
from searchmark.retrieval.models import DEFAULT_MODEL
from searchmark.systems.catalog_postgres import Config, address_of, placed
from searchmark.systems.protocol import Context, Entry, System
from searchmark.systems.secrets import Secrets

SCHEMA = "searchmark"
"""The schema of a catalog where neither the project nor an option names one."""


class Place(NamedTuple):
    """Where the queue is, and what opens its model."""

    name: str
    config: Config
    context: Context
    dsn: str
    schema: str


def find_place(project: Path | None, given: Mapping[str, Any], secrets: Secrets) -> Place:
    """Return what options, or a project with options beside it, say."""
    if project is None:
        if given["system"] is not None:
            raise InputError(
                "--system names a system of a project, and no project is given",
                fix="give its folder: searchmark work PROJECT --system NAME",
            )
        model = Config(
            model=given["model"] or DEFAULT_MODEL, precision=given["precision"] or "fp32"
        )
        return _place("", _placed(model, given), Path(), secrets, key="--dsn")
    opened = read_project(project)
    entry = _chosen(opened, given)
    for option in ("model", "precision"):
        if given[option] is not None:
            raise InputError(
                f"--{option} has no use beside a project: system '{entry.name}' names the model",
                path=opened.path,
                fix="change it there, or leave PROJECT out",
            )
    config = _placed(entry.config, given)
    key = "--dsn" if given["dsn"] else f"systems.{entry.name}.dsn"
    return _place(entry.name, config, opened.folder, secrets, key=key)


def _place(name: str, config: Config, folder: Path, secrets: Secrets, *, key: str) -> Place:
    dsn = address_of(config, secrets, key=key)
    # documents come from the tables, never from the corpus
    corpus = Corpus(pl.DataFrame())
    context = Context(corpus, folder, folder / ".searchmark", _none, secrets=secrets)
    return Place(name, config, context, dsn, config.schema or SCHEMA)


def _placed(config: Any, given: Mapping[str, Any]) -> Config:
    return placed(config, dsn=given["dsn"], schema=given["schema"])


def _chosen(project: Project, given: Mapping[str, Any]) -> Entry:
    """Return the named system, or the one whose queue all of the project's catalogs share."""
    names = [] if given["system"] is None else [given["system"]]
    entries = [project.systems[name] for name in project.choose(names)]
    found = [entry for entry in entries if _has_queue(entry)]
    if not found:
        raise InputError(
            f"system '{names[0]}' embeds nothing in PostgreSQL"
            if names
            else "no system here embeds anything in PostgreSQL",
            path=project.path,
            fix='that takes use = "catalog-postgres", and a mode other than "bm25"',
        )
    if len({_queue(_placed(entry.config, given)) for entry in found}) > 1:
        known = ", ".join(f"'{entry.name}'" for entry in found)
        raise InputError(
            f"these systems have different catalogs or models: {known}",
            path=project.path,
            fix="name one with --system",
        )
    return found[0]


def _has_queue(entry: Entry) -> bool:
    return isinstance(entry.config, Config) and entry.config.mode != "bm25"


def _queue(config: Config) -> tuple[object, ...]:
    return config.dsn, config.schema, config.model, config.precision, config.endpoint


def _none(name: str) -> System:
    raise InputError(f"a worker opens no system, and not '{name}'")
