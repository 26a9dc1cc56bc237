"""``searchmark work``: a worker that embeds what waits in a catalog's queue."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from searchmark.cli.ending import SAME_WISH_S, numbers
from searchmark.cli.progress import progress_bar
from searchmark.errors import InputError, OutsideError, SearchmarkError

if TYPE_CHECKING:
    from searchmark.cli.queues import Place
    from searchmark.retrieval.encoders import Encoder
    from searchmark.retrieval.postgres.connection import Database
    from searchmark.retrieval.postgres.queue import Counts
    from searchmark.retrieval.postgres.worker import Tally
    from searchmark.systems.protocol import Progress

GIVE_UP_S = 60.0
"""How long --once waits for a database that went away."""


@click.command()
@click.argument("project", type=click.Path(path_type=Path), required=False)
@click.option(
    "--system", help="The system of PROJECT whose catalog it is, where there are several."
)
@click.option(
    "--dsn",
    help="The database, as '${NAME}'; by default PROJECT's, or libpq's own variables name it, or "
    "DATABASE_URL.",
)
@click.option("--schema", help="The catalog's schema; PROJECT's, or searchmark, by default.")
@click.option(
    "--model", help="Without PROJECT: the model, or its folder; all-MiniLM-L6-v2 by default."
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "int8"]),
    help="Without PROJECT: the model's precision; fp32 by default.",
)
@click.option("--batch", type=click.IntRange(1, 1024), default=16, show_default=True)
@click.option("--once", is_flag=True, help="End when nothing is left to embed.")
@click.option("--switch", is_flag=True, help="Embed the whole catalog again by this model.")
@click.option("--requeue", is_flag=True, help="First give dead letters new attempts.")
def work(project: Path | None, **given: Any) -> None:
    """Embed the documents that wait in a PostgreSQL catalog's queue, till Ctrl-C or SIGTERM.

    With PROJECT, a project's folder or file, its catalog-postgres system says which catalog and
    which model, also one behind an endpoint.
    Several workers, on several machines, share a queue; docs/embedding-queue.md tells how.
    Documents that cannot be embedded, and a database that is down, give exit code 3.
    """
    from searchmark.cli.queues import find_place
    from searchmark.systems.logrecords import redacted_logs
    from searchmark.systems.redaction import redact_error
    from searchmark.systems.secrets import Secrets

    secrets = Secrets()
    try:
        with redacted_logs(secrets), _stopping() as stopping, progress_bar() as progress:
            done = _work(find_place(project, given, secrets), given, stopping, progress)
    except SearchmarkError as error:
        raise redact_error(error, secrets) from None
    if stopping.number not in (0, signal.SIGTERM):
        stopping.end()
    click.echo(_summary(done))
    _judge(done, once=given["once"])


class Stopping:
    """Set by the signals that end a worker; one that comes again later interrupts its batch."""

    def __init__(self, ending: Callable[[int, FrameType | None], object]) -> None:
        self.event = Event()
        self.number = 0
        self._ending, self._since = ending, 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if not self.event.is_set():
            self.number, self._since = number, monotonic()
            self.event.set()
        elif monotonic() - self._since > SAME_WISH_S:
            self.end()

    def end(self) -> None:
        """End as a command does that finishes nothing."""
        self._ending(self.number, None)
        raise KeyboardInterrupt


class Done(NamedTuple):
    """What a worker did, what is left, and a dead letter: the document and its error."""

    tally: "Tally"
    left: "Counts"
    dead: tuple[str, str] | None


@contextmanager
def _stopping() -> Iterator[Stopping]:
    before = {n: signal.getsignal(n) for n in numbers()}
    taken = {n: was for n, was in before.items() if was not in (None, signal.SIG_IGN)}
    ending = taken.get(signal.SIGINT)
    stopping = Stopping(ending if callable(ending) else signal.default_int_handler)
    for number in taken:
        signal.signal(number, stopping)
    try:
        yield stopping
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def _work(
    place: "Place", given: Mapping[str, Any], stopping: Stopping, progress: "Progress"
) -> Done:
    try:
        from searchmark.retrieval.postgres import queue
        from searchmark.retrieval.postgres.connection import Database
        from searchmark.retrieval.postgres.migrating import check_migrated
        from searchmark.retrieval.postgres.worker import Pace, Tally, work
    except ImportError:  # psycopg, its pool, or the libpq that it needs
        raise InputError("this needs psycopg", fix="pip install 'searchmark[postgres]'") from None

    once = given["once"]
    pace = Pace(batch=given["batch"], drain=once, give_up_s=GIVE_UP_S if once else None)
    redact = partial(place.context.secrets.excerpt, limit=queue.ERROR_CHARACTERS)
    tell = _teller(progress)
    with Database(place.dsn, place.schema) as database:
        with database.connection() as connection:
            check_migrated(connection, database.schema)  # making tables is the filler's business
        with _model(place, database, stopping, once=once) as encoder:
            if encoder is None:
                return _done(database, None, Tally())
            generation_id = _begin(database, encoder, given)
            stop = stopping.event
            tally = work(database, encoder, stop=stop, pace=pace, tell=tell, redact=redact)
        return _done(database, generation_id, tally)


def _model(
    place: "Place", database: "Database", stopping: Stopping, *, once: bool
) -> "AbstractContextManager[Encoder | None]":
    """Open the model; an endpoint that is away is waited for, but not with --once."""
    from searchmark.systems.catalog_encoder import await_model, open_model

    asked = (place.name, place.config, place.context, database)
    if once:
        return open_model(*asked, may_be_away=False)
    return await_model(*asked, stop=stopping.event)


def _begin(database: "Database", encoder: "Encoder", given: Mapping[str, Any]) -> int:
    """Return the number of the model's generation, after what is done with it first."""
    from searchmark.retrieval.postgres.queue import requeue
    from searchmark.retrieval.postgres.worker import adopt

    with database.connection() as connection:
        generation_id = adopt(connection, encoder, switch=given["switch"])
        if given["requeue"]:
            requeue(connection, generation_id)
    return generation_id


def _done(database: "Database", generation_id: int | None, tally: "Tally") -> Done:
    """Count what is left of a generation, or else of the current one."""
    from searchmark.retrieval.postgres.generations import current_id
    from searchmark.retrieval.postgres.queue import counts, last_dead

    with database.connection() as connection:
        found = generation_id or current_id(connection) or 0
        return Done(tally, counts(connection, found), last_dead(connection, found))


def _teller(progress: "Progress") -> "Callable[[Tally, Counts], None]":
    def tell(tally: "Tally", left: "Counts") -> None:
        progress("embedding documents", tally.n_done, tally.n_done + left.open)

    return tell


def _summary(done: Done) -> str:
    tally, left = done.tally, done.left
    return (
        f"{tally.n_done:,} documents embedded, {tally.n_failed:,} attempts failed, "
        f"{left.open:,} left, {left.dead:,} dead letters"
    )


def _judge(done: Done, *, once: bool) -> None:
    """Fail where the queue was to be emptied and was not."""
    if once and done.left.open:
        raise OutsideError(f"stopped with {done.left.open:,} documents left to embed")
    if once and done.dead is not None:
        from searchmark.experiments.soundness import shown

        doc_id, error = done.dead
        raise OutsideError(
            f"{done.left.dead:,} documents could not be embedded, such as {shown(doc_id)} "
            f"({error}); mend the cause, then give --requeue"
        )
