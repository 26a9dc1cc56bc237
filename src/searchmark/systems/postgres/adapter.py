"""PostgreSQL: a SQL file with bound parameters, asked once a query."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from searchmark.errors import InputError, Problem, SystemFailedError
from searchmark.systems.literals import literal_secret_problems
from searchmark.systems.models import open_encoder
from searchmark.systems.policy import CallPolicy
from searchmark.systems.postgres.config import Config
from searchmark.systems.postgres.dsn import LIBPQ, expanded_dsn
from searchmark.systems.postgres.statement import read_statement
from searchmark.systems.protocol import Context, Entry, Kind, System


@contextmanager
def open_postgres(name: str, config: Config, context: Context) -> Iterator[System]:
    """Read the statement and have the server check it; one that cannot be reached is asked later.

    Connections are opened when calls need them.
    """
    try:
        from searchmark.systems.postgres.connections import Connections
        from searchmark.systems.postgres.system import PostgresSystem
    except ImportError:  # psycopg, or the libpq that it needs
        raise InputError(
            f"system '{name}' needs psycopg", fix="pip install 'searchmark[postgres]'"
        ) from None

    statement = read_statement(context.folder / config.sql)
    secrets, table = context.secrets, f"systems.{name}"
    secrets.note_set(LIBPQ)
    encoder = None
    if "embedding" in statement.names:
        encoder = open_encoder(config.model, context.folder, precision=config.precision)
    identity = {"sql": statement.digest}
    if encoder is not None:
        identity["model"] = encoder.generation.key
    connections = Connections(
        expanded_dsn(config.dsn, secrets, key=f"{table}.dsn"),
        secrets,
        setup=secrets.expand_in(config.setup, key=f"{table}.setup"),
        read_only=config.read_only,
        limit=context.calls.timeout_s,
    )
    with closing(connections):
        system = PostgresSystem(
            name, config, statement, connections, encoder, frozenset(config.tags), identity
        )
        with suppress(SystemFailedError):
            system.check()
        yield system


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report what needs no server to be seen."""
    found = literal_secret_problems(dsn=config.dsn)
    named = {"sql": config.sql, "id": config.id, "score": config.score, "tokens": config.tokens}
    found += [Problem(key, "is empty") for key, value in named.items() if value == ""]
    found += [
        Problem(f"setup[{i}]", "holds no statement")
        for i, sql in enumerate(config.setup)
        if not sql.strip("; \n")
    ]
    return found


POSTGRES = Kind(
    Config,
    open_postgres,
    find_problems,
    calls=CallPolicy(timeout_s=30, retries=3, warmup=1),
    keeps_time=True,
)
