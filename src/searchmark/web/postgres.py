"""The catalog in PostgreSQL, and the workers that embed what waits in its queue meanwhile."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING

import msgspec

from searchmark.errors import InputError, OutsideError, described
from searchmark.retrieval.encoders import Encoder
from searchmark.systems.catalog_encoder import open_model
from searchmark.systems.catalog_postgres import (
    CatalogSystem,
    Config,
    address_of,
    documents_of,
    layout_of,
    open_catalog_postgres,
    placed,
)
from searchmark.systems.protocol import Context, Entry
from searchmark.web.arm import GuardedEncoder
from searchmark.web.limits import Limits

if TYPE_CHECKING:
    from searchmark.retrieval.postgres.catalog import PostgresCatalog
    from searchmark.retrieval.postgres.connection import Database

_log = logging.getLogger(__name__)

WAIT_S = 2.0
"""How long a search waits for a connection to the database."""

END_S = 1.0
"""How long a worker may take to give back what it has claimed when the service ends."""


class PostgresCatalogOptions(msgspec.Struct, frozen=True):
    """What the command line says of the database: see `searchmark serve --help`."""

    dsn: str | None = None
    schema: str | None = None
    fill: bool = False
    workers: int = 0


@contextmanager
def open_postgres(
    entry: Entry,
    options: PostgresCatalogOptions,
    context: Context,
    *,
    limits: Limits,
    say: Callable[[str], object],
) -> "Iterator[tuple[PostgresCatalog, GuardedEncoder | None]]":
    """Open the catalog of a system, its encoder guarded, with workers beside it."""
    config = configured(entry, options)
    # the guard is who asks again, while searches go by words
    calls = msgspec.structs.replace(entry.calls, concurrency=1 + 2 * options.workers, retries=0)
    context = replace(context, calls=calls)
    if options.fill:
        key = "--dsn" if options.dsn else f"systems.{entry.name}.dsn"
        dsn = address_of(config, context.secrets, key=key)
        _fill(dsn, config, entry.name, context, say)
    with ExitStack() as stack:
        system = stack.enter_context(open_catalog_postgres(entry.name, config, context))
        assert isinstance(system, CatalogSystem)
        from searchmark.retrieval.postgres.catalog import PostgresCatalog

        inner = system.catalog
        assert isinstance(inner, PostgresCatalog)
        searched = stack.enter_context(_searched(inner.database, limits))
        if inner.encoder is None:
            if options.workers:
                raise InputError(f"system '{entry.name}' uses no vectors, so --workers has no use")
            yield PostgresCatalog(searched, inner.layout), None
            return
        guard = GuardedEncoder(inner.encoder, n=limits.threads)
        stack.callback(guard.close)
        if options.workers:
            stack.enter_context(_working(inner.database, inner.encoder, options.workers, context))
        yield PostgresCatalog(searched, inner.layout, guard), guard


@contextmanager
def _searched(database: "Database", limits: Limits) -> "Iterator[Database]":
    """Give connections for searches, whose users wait: less patient than those of workers."""
    from searchmark.retrieval.postgres.connection import Database

    with Database(
        database.dsn,
        database.schema,
        most=limits.threads + 1,
        wait_s=WAIT_S,
        statement_s=limits.time_s,
    ) as opened:
        yield opened


def configured(entry: Entry, options: PostgresCatalogOptions) -> Config:
    """Return a system's configuration with what the command line says instead."""
    config = entry.config
    assert isinstance(config, Config)
    config = placed(config, dsn=options.dsn, schema=options.schema)
    if options.fill and config.schema is None:
        raise InputError("--fill needs a schema to fill", fix="name one with --schema")
    return config


def _fill(
    dsn: str, config: Config, name: str, context: Context, say: Callable[[str], object]
) -> None:
    """Make the tables where they are missing, and put new and changed documents in."""
    try:
        from searchmark.retrieval.postgres.connection import Database
        from searchmark.retrieval.postgres.documents import seed
        from searchmark.retrieval.postgres.generations import current_id
        from searchmark.retrieval.postgres.migrating import migrate
        from searchmark.retrieval.postgres.worker import adopt
    except ImportError:
        raise InputError("--fill needs psycopg", fix="pip install 'searchmark[postgres]'") from None
    assert config.schema is not None
    with Database(dsn, config.schema) as database:
        migrate(database)
        with database.connection() as connection:
            is_first = current_id(connection) is None
        if is_first and config.mode != "bm25":
            with (
                open_model(name, config, context, database) as encoder,
                database.connection() as connection,
            ):
                adopt(connection, encoder)
        n = seed(database, documents_of(context.corpus), layout_of(config))
    say(f"'{name}': {n:,} new or changed documents put into the schema '{config.schema}'")


@contextmanager
def _working(database: "Database", encoder: Encoder, n: int, context: Context) -> Iterator[None]:
    """Embed what waits in the queue in threads; they end with the service."""
    stop = Event()
    threads = [
        Thread(
            target=_work,
            args=(database, encoder, stop, context.secrets.redact),
            name="searchmark-worker",
            daemon=True,
        )
        for _ in range(n)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(END_S / n)


def _work(
    database: "Database", encoder: Encoder, stop: Event, redact: Callable[[str], str]
) -> None:
    """Work until the end; a worker that gives up says why, and the service goes on."""
    from searchmark.retrieval.postgres.worker import work

    while not stop.is_set():
        try:
            work(database, encoder, stop=stop, redact=redact)
            return
        except OutsideError as error:
            if not stop.is_set():
                _log.warning("a worker failed and begins anew: %s", redact(str(error)))
            stop.wait(5)
        except InputError as error:
            _log.warning("a worker ended: %s", redact(str(error)))
            return
        except Exception as error:
            _log.error("a worker ended: %s", redact(described(error)))
            return
