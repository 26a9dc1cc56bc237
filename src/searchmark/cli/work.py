"""``searchmark work``: a worker that embeds what waits in a catalog's queue."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from searchmark.cli.ending import SAME_WISH_S, numbers
from searchmark.cli.progress import progress_bar
from searchmark.errors import InputError, OutsideError, SearchmarkError

if TYPE_CHECKING:
    from searchmark.retrieval.postgres.queue import Counts
    from searchmark.retrieval.postgres.worker import Tally
    from searchmark.systems.protocol import Progress
    from searchmark.systems.secrets import Secrets

GIVE_UP_S = 60.0
"""How long --once waits for a database that went away."""


@click.command()
@click.option(
    "--dsn",
    help="The database, as '${NAME}'; by default libpq's own variables name it, or DATABASE_URL.",
)
@click.option("--schema", default="searchmark", show_default=True, help="The catalog's schema.")
@click.option("--model", help="The embedding model, or a folder; all-MiniLM-L6-v2 by default.")
@click.option("--precision", type=click.Choice(["fp32", "int8"]), default="fp32", show_default=True)
@click.option("--batch", type=click.IntRange(1, 1024), default=16, show_default=True)
@click.option("--once", is_flag=True, help="End when nothing is left to embed.")
@click.option("--switch", is_flag=True, help="Embed the whole catalog again by this model.")
@click.option("--requeue", is_flag=True, help="First give dead letters new attempts.")
def work(**given: Any) -> None:
    """Embed the documents that wait in a PostgreSQL catalog's queue, till Ctrl-C or SIGTERM.

    Several workers, on several machines, share a queue; docs/embedding-queue.md tells how.
    Documents that cannot be embedded, and a database that is down, give exit code 3.
    """
    from searchmark.systems.redaction import redact_error
    from searchmark.systems.secrets import Secrets

    secrets = Secrets()
    try:
        with _stopping() as stopping, progress_bar() as progress:
            done = _work(_dsn(given["dsn"], secrets), given, secrets, stopping, progress)
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


def _dsn(text: str | None, secrets: "Secrets") -> str:
    from searchmark.systems.literals import literal_secret_problems
    from searchmark.systems.postgres.dsn import catalog_dsn, expanded_dsn

    for problem in literal_secret_problems(dsn=text):
        raise InputError(f"--dsn: {problem.message}")
    return expanded_dsn(catalog_dsn(text), secrets, key="--dsn")


def _work(
    dsn: str,
    given: dict[str, Any],
    secrets: "Secrets",
    stopping: Stopping,
    progress: "Progress",
) -> Done:
    try:
        from searchmark.retrieval.postgres import queue
        from searchmark.retrieval.postgres.connection import Database
        from searchmark.retrieval.postgres.migrating import check_migrated
        from searchmark.retrieval.postgres.worker import Pace, adopt, work
    except ImportError:  # psycopg, its pool, or the libpq that it needs
        raise InputError("this needs psycopg", fix="pip install 'searchmark[postgres]'") from None
    from searchmark.retrieval.encoders import load_encoder
    from searchmark.retrieval.models import DEFAULT_MODEL

    with Database(dsn, given["schema"]) as database:
        with database.connection() as connection:
            check_migrated(connection, database.schema)  # making tables is the filler's business
        encoder = load_encoder(given["model"] or DEFAULT_MODEL, precision=given["precision"])
        with database.connection() as connection:
            generation_id = adopt(connection, encoder, switch=given["switch"])
            if given["requeue"]:
                queue.requeue(connection, generation_id)
        pace = Pace(
            batch=given["batch"],
            drain=given["once"],
            give_up_s=GIVE_UP_S if given["once"] else None,
        )
        redact = partial(secrets.excerpt, limit=queue.ERROR_CHARACTERS)
        tell = _teller(progress)
        tally = work(database, encoder, stop=stopping.event, pace=pace, tell=tell, redact=redact)
        with database.connection() as connection:
            left = queue.counts(connection, generation_id)
            return Done(tally, left, queue.last_dead(connection, generation_id))


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
