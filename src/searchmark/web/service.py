"""From a project to a running service."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from searchmark.data.corpus import read_corpus
from searchmark.errors import InputError, SearchmarkError
from searchmark.project import Project
from searchmark.retrieval.catalogs import Mode
from searchmark.retrieval.constraints import Constraint
from searchmark.systems.catalog import constraints_of
from searchmark.systems.logrecords import redacted_logs
from searchmark.systems.protocol import Context, Entry, Progress, System
from searchmark.systems.redaction import redact_error
from searchmark.systems.secrets import Secrets
from searchmark.web.access import Admission, read_token
from searchmark.web.app import build_app
from searchmark.web.front import Front
from searchmark.web.limits import Limits
from searchmark.web.postgres import PostgresCatalogOptions, open_postgres
from searchmark.web.quiet import at_level
from searchmark.web.running import address_of, bind, is_loopback, serve
from searchmark.web.served import Served, filter_parameters
from searchmark.web.systems import open_system

POSTGRES = "catalog-postgres"

NOISY = ("searchmark.systems.hybrid", "searchmark.retrieval.postgres.catalog", "psycopg.pool")
"""They tell of every failed query and connection, where the service tells of an outage."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for; `token` is the name of a variable, as ``${NAME}``."""

    system: str
    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    database: PostgresCatalogOptions = field(default_factory=PostgresCatalogOptions)
    limits: Limits = field(default_factory=Limits)


def run_service(
    project: Project, asked: Asked, *, say: Callable[[str], object], progress: Progress | None
) -> None:
    """Serve until SIGINT or SIGTERM."""
    secrets = Secrets()
    token = None if asked.token is None else read_token(asked.token, secrets)
    with bind(asked.host, asked.port) as bound:
        access = _access(asked.host, token, is_here=is_loopback(bound))
        with open_served(project, asked, progress, say=say, secrets=secrets) as served:
            if access.names is None:
                say("warning: requests, and the token in them, are not encrypted; put TLS before")
            say(f"serving '{served.name}' at {address_of(bound)}/discovery/search (Ctrl-C ends)")
            app = build_app(served, asked.limits, access=access)
            serve(Front(app, asked.limits, access), bound)


def _access(host: str, token: str | None, *, is_here: bool) -> Admission:
    """Return who may ask; without a token nobody but this machine."""
    if not is_here and token is None:
        raise InputError(
            f"others than this machine reach the address '{host}', so requests need a token",
            fix="set a variable to one, as SEARCHMARK_TOKEN, and give --token "
            "'${SEARCHMARK_TOKEN}'",
        )
    return Admission(token, frozenset({host.lower()}) if is_here else None)


@contextmanager
def open_served(
    project: Project,
    asked: Asked,
    progress: Progress | None = None,
    *,
    say: Callable[[str], object] = str,
    secrets: Secrets | None = None,
) -> Iterator[Served]:
    """Open the catalog that the named system searches."""
    secrets = secrets or Secrets()
    entry = project.systems[asked.system]
    corpus = read_corpus(project.corpus)
    context = Context(
        corpus, project.folder, project.folder / ".searchmark", _nothing, progress, secrets=secrets
    )
    filters = filter_parameters(corpus.frame, _constraints(project, asked.system), asked.limits)
    with at_level(logging.ERROR, *NOISY), redacted_logs(secrets):
        if entry.use == POSTGRES:
            opened = open_postgres(entry, asked.database, context, limits=asked.limits, say=say)
            with _told_without(secrets), opened as (database, guard):
                yield Served(asked.system, database, filters, guard, _mode(entry))
            return
        _refuse_postgres_options(asked.database)
        with open_system(project.systems, asked.system, context) as catalog:
            yield Served(asked.system, catalog, filters, catalog.guard)


@contextmanager
def _told_without(secrets: Secrets) -> Iterator[None]:
    """Tell of a database without its password."""
    try:
        yield
    except SearchmarkError as error:
        raise redact_error(error, secrets) from None


def _mode(entry: Entry) -> Mode:
    mode: Mode = getattr(entry.config, "mode", "fused")
    return mode


def _nothing(name: str) -> System:
    raise InputError(f"system '{name}' is opened on its own")


def _refuse_postgres_options(options: PostgresCatalogOptions) -> None:
    """Refuse options that would be ignored."""
    for name, value in msgspec.structs.asdict(options).items():
        if value:
            raise InputError(f"--{name} goes with a system of the kind '{POSTGRES}' only")


def _constraints(project: Project, name: str) -> Sequence[Constraint]:
    """Return the constraints of a system, and of those it is made of."""
    config: Any = project.systems[name].config
    found = list(constraints_of(getattr(config, "constraints", ())))
    for part in getattr(config, "of", ()):
        found += _constraints(project, part)
    return found
