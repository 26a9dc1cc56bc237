"""From a project to a running service."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from searchmark.data.corpus import read_corpus
from searchmark.errors import InputError
from searchmark.project import Project
from searchmark.retrieval.constraints import Constraint
from searchmark.systems.catalog import constraints_of
from searchmark.systems.logrecords import redacted_logs
from searchmark.systems.protocol import Context, Progress, System
from searchmark.systems.secrets import Secrets
from searchmark.web.app import build_app
from searchmark.web.front import Front
from searchmark.web.limits import Limits
from searchmark.web.running import address_of, bind, is_loopback, serve
from searchmark.web.served import Served, filter_parameters
from searchmark.web.systems import open_system

POSTGRES = "catalog-postgres"

NOISY = ("searchmark.systems.hybrid", "searchmark.retrieval")
"""They tell of every query whose dense arm failed; the guard tells once."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for."""

    system: str
    host: str = "127.0.0.1"
    port: int = 0
    dsn: str | None = None
    schema: str | None = None
    workers: int = 0
    limits: Limits = field(default_factory=Limits)


def run_service(
    project: Project, asked: Asked, *, say: Callable[[str], None], progress: Progress | None
) -> None:
    """Serve until SIGINT or SIGTERM."""
    with bind(asked.host, asked.port) as bound, open_served(project, asked, progress) as served:
        if not is_loopback(bound):
            say(
                f"warning: anybody who reaches {asked.host} can search this catalog; put a server "
                "before it that knows who may"
            )
        say(f"serving '{served.name}' at {address_of(bound)}/discovery/search (Ctrl-C ends)")
        serve(Front(build_app(served, asked.limits), asked.limits), bound)


@contextmanager
def open_served(project: Project, asked: Asked, progress: Progress | None) -> Iterator[Served]:
    """Open the catalog that the named system searches."""
    secrets = Secrets()
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.ERROR)
    entry = project.systems[asked.system]
    corpus = read_corpus(project.corpus)
    context = Context(
        corpus, project.folder, project.folder / ".searchmark", _nothing, progress, secrets=secrets
    )
    with redacted_logs(secrets):
        if entry.use == POSTGRES:
            raise InputError("catalog-postgres is not served yet")
        _refuse_postgres_options(asked)
        with open_system(project.systems, asked.system, context) as catalog:
            constraints = _constraints(project, asked.system)
            filters = filter_parameters(corpus.frame, constraints, asked.limits)
            yield Served(asked.system, catalog, filters, catalog.guard)


def _nothing(name: str) -> System:
    raise InputError(f"system '{name}' is opened on its own")


def _refuse_postgres_options(asked: Asked) -> None:
    """Refuse options that would be ignored."""
    given = {"--dsn": asked.dsn, "--schema": asked.schema, "--workers": asked.workers}
    for option, value in given.items():
        if value:
            raise InputError(f"{option} goes with a system of the kind '{POSTGRES}' only")


def _constraints(project: Project, name: str) -> Sequence[Constraint]:
    """Return the constraints of a system, and of those it is made of."""
    config: Any = project.systems[name].config
    found = list(constraints_of(getattr(config, "constraints", ())))
    for part in getattr(config, "of", ()):
        found += _constraints(project, part)
    return found
