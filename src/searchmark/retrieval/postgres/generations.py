"""Generations: which vectors are comparable, and which of them searches look at now."""

from searchmark.retrieval.generation import SCHEME, Generation
from searchmark.retrieval.postgres.connection import Connection

_LOCK = "hashtextextended('searchmark.generation ' || current_schema(), 0)"

_COLUMNS = (
    "model",
    "revision",
    "dimension",
    "pooling",
    "normalized",
    "precision",
    "max_length",
    "tokenizer",
    "scheme",
)
_NAMES = ", ".join(f'"{name}"' for name in _COLUMNS)
_MARKS = ", ".join(["%s"] * len(_COLUMNS))

_FIND = f"SELECT generation_id FROM generation WHERE ({_NAMES}) = ({_MARKS})"
_MAKE = f"INSERT INTO generation ({_NAMES}) VALUES ({_MARKS}) ON CONFLICT DO NOTHING"
_CURRENT = "SELECT generation_id FROM generation WHERE is_current"
_DIMENSION = "SELECT dimension FROM generation WHERE is_current"
_KEPT = f"SELECT {_NAMES} FROM generation WHERE is_current"

_ENQUEUE_ALL = """
INSERT INTO embedding_job (doc_id, generation_id)
SELECT doc_id, %s FROM document_text GROUP BY doc_id ORDER BY doc_id
ON CONFLICT (doc_id, generation_id) DO NOTHING
"""


def find(connection: Connection, generation: Generation) -> int | None:
    """Return the number of a generation; None where nothing was ever embedded by it."""
    return _number(connection.execute(_FIND, _values(generation)).fetchone())


def current_id(connection: Connection) -> int | None:
    """Return the number of the generation that searches look at; None where there is none yet."""
    return _number(connection.execute(_CURRENT).fetchone())


def current_dimension(connection: Connection) -> int | None:
    """Return how many numbers a vector of the current generation has; None without one."""
    return _number(connection.execute(_DIMENSION).fetchone())


def current_key(connection: Connection) -> str | None:
    """Return what the current generation is, on one line, as `Generation.key` writes it."""
    row = connection.execute(_KEPT).fetchone()
    if row is None:
        return None
    *values, scheme = row
    return Generation(*values).key.removesuffix(f" s{SCHEME}") + f" s{scheme}"


def current(connection: Connection, generation: Generation) -> int:
    """Make a generation the one that searches look at; return its number.

    Where it was not current, every document is enqueued for it, and jobs of others end. Vectors of
    others stay; documents whose vectors of this one are there from an earlier time wait, too, but
    what is unchanged is not computed again.
    """
    with connection.transaction():
        _hold(connection)
        return _made_current(connection, generation)


def first(connection: Connection, generation: Generation) -> int:
    """Make a generation the current one where there is none; return the current one's number."""
    with connection.transaction():
        _hold(connection)
        return current_id(connection) or _made_current(connection, generation)


def share(connection: Connection) -> None:
    """Keep the current generation what it is until the transaction ends.

    Whoever adds documents does this first, so that a switch enqueues either all of them or waits.
    """
    connection.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})".encode())


def _hold(connection: Connection) -> None:
    """Wait for those who share, and keep others away until the transaction ends."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})".encode())


def _made_current(connection: Connection, generation: Generation) -> int:
    connection.execute(_MAKE, _values(generation))
    ((number,),) = connection.execute(_FIND, _values(generation)).fetchall()
    if number != current_id(connection):
        _switch(connection, number)
    return int(number)


def _switch(connection: Connection, number: int) -> None:
    # whoever holds jobs ends first; otherwise the two could wait for each other
    connection.execute("LOCK TABLE embedding_job IN EXCLUSIVE MODE")
    connection.execute("UPDATE generation SET is_current = false WHERE is_current")
    connection.execute(
        "UPDATE generation SET is_current = true WHERE generation_id = %s", (number,)
    )
    connection.execute("DELETE FROM embedding_job")
    connection.execute(_ENQUEUE_ALL, (number,))


def _values(generation: Generation) -> list[object]:
    return [*(getattr(generation, name) for name in _COLUMNS[:-1]), SCHEME]


def _number(row: tuple[int] | None) -> int | None:
    return None if row is None else row[0]
