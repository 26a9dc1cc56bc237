"""A lease that is extended as long as its worker is at it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from uuid import UUID

from searchmark.errors import OutsideError
from searchmark.retrieval.postgres.connection import Database
from searchmark.retrieval.postgres.queue import extend

MOST_LEASES = 5
"""A batch that takes longer than this many leases hangs: another worker may have it."""


@contextmanager
def held(database: Database, token: UUID, lease_s: float) -> Iterator[None]:
    """Extend a claim's lease from a thread, three times a lease, until the block ends."""
    ended = Event()

    def beat() -> None:
        for _ in range(3 * MOST_LEASES):
            if ended.wait(lease_s / 3):
                return
            with suppress(OutsideError), database.connection() as connection:
                if not extend(connection, token, lease_s):
                    return  # taken over: what is computed now is dropped in the end

    thread = Thread(target=beat, name="extending a lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
