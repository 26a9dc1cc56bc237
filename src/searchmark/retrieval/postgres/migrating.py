"""The tables of a catalog, made and changed by numbered SQL files that never change themselves."""

import re
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from psycopg import errors, sql

from searchmark.errors import InputError
from searchmark.retrieval.postgres.connection import SCRATCH, Connection, Database, unowned

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

_TABLE = """
CREATE TABLE schema_migration (
    version int PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""

_COLUMNS = {"version": "integer", "name": "text", "sha256": "text"}

_FOUND = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = to_regclass(quote_ident(%s) || '.schema_migration')
    AND attnum > 0 AND NOT attisdropped
"""

EXTENSION_LOCK = 0x5EA4C401
"""One for the whole database: two sessions that make an extension at once would fail."""


class Migration(NamedTuple):
    """One file: its number, its name, what it does."""

    version: int
    name: str
    statements: str

    @property
    def digest(self) -> str:
        """Return what tells a changed file from the one that was applied."""
        return sha256(self.statements.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return the files that come with the package, by number."""
    found = []
    for file in files("searchmark.retrieval.postgres").joinpath("migrations").iterdir():
        if match := _NAME.fullmatch(file.name):
            text = file.read_bytes().decode("utf-8").replace("\r\n", "\n")
            found.append(Migration(int(match[1]), match[2], text))
    return sorted(found)


def migrate(database: Database, given: list[Migration] | None = None) -> list[int]:
    """Bring the schema, made where it is missing, to the newest version; return what was applied.

    Each file is applied whole or not at all. Processes that do this at once wait for each other. A
    file that was applied and has changed since, a version this package does not know, and a schema
    that holds something else under our names are InputErrors, and nothing is applied. So is the
    name of a scratch schema that no evaluation holds: the next one would drop it.
    """
    wanted = migrations() if given is None else given
    with database.connection() as connection:
        _check_lasting(connection, database.schema)
        connection.execute("SELECT pg_advisory_lock(%s)", (EXTENSION_LOCK,))
        try:
            _prepare(connection, database.schema)
            applied = _checked(connection, database.schema, wanted)
            todo = [one for one in wanted if one.version not in applied]
            for one in todo:
                _apply(connection, database.schema, one)
        finally:
            if not connection.broken:
                connection.execute("SELECT pg_advisory_unlock(%s)", (EXTENSION_LOCK,))
    return [one.version for one in todo]


def check_migrated(connection: Connection, schema: str) -> None:
    """See that the schema has the newest tables; InputError where it does not."""
    if not has_versions(connection, schema):
        raise InputError(
            f"the schema '{schema}' holds no catalog",
            fix="name one that does, or fill it: searchmark serve --api PROJECT --schema "
            f"{schema} --fill",
        )
    wanted = migrations()
    missing = {one.version for one in wanted} - _checked(connection, schema, wanted)
    if missing:
        raise InputError(
            f"the catalog in the schema '{schema}' lacks version {min(missing)} of its tables",
            fix="migrate it: searchmark serve --api --fill",
        )


def _prepare(connection: Connection, schema: str) -> None:
    """Make the schema, the extension and the table of versions, where they are missing."""
    there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,))
    if there.fetchone() is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    extended = connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
    if extended.fetchone() is None:
        # never inside a scratch schema, which would take it along when it is dropped
        connection.execute("CREATE EXTENSION vector SCHEMA public")


def _check_lasting(connection: Connection, schema: str) -> None:
    if not schema.startswith(SCRATCH):
        return
    with unowned(connection, schema) as is_unowned:
        if is_unowned:
            raise InputError(
                f"schemas called {SCRATCH}... are those of evaluations, and the next one drops "
                f"'{schema}'",
                fix="choose another name",
            )


def has_versions(connection: Connection, schema: str) -> bool:
    """Tell whether the table of versions is there; InputError where it is somebody else's."""
    found = dict(connection.execute(_FOUND, (schema,)).fetchall())
    if not found:
        return False
    if not found.items() >= _COLUMNS.items():
        raise _foreign(schema, "schema_migration")
    return True


def _foreign(schema: str, what: str) -> InputError:
    return InputError(
        f"the schema '{schema}' holds something else under a name that the catalog needs ({what})",
        fix="give a schema of the catalog's own",
    )


def _checked(connection: Connection, schema: str, wanted: list[Migration]) -> set[int]:
    """Return the versions that are applied, all of them as their files say."""
    if not has_versions(connection, schema):
        return set()
    known = {one.version: one for one in wanted}
    applied = connection.execute("SELECT version, name, sha256 FROM schema_migration").fetchall()
    for version, name, digest in applied:
        if version not in known:
            raise InputError(
                f"the schema '{schema}' has version {version} ({name}), which this Searchmark "
                "does not know",
                fix="install the version that made it, or a newer one",
            )
        if known[version].digest != digest:
            raise InputError(
                f"the migration {version:04d}_{name}.sql has changed since it was applied to the "
                f"schema '{schema}'",
                fix="put the file back as it was, and write changes into a new one",
            )
    return {version for version, _, _ in applied}


def _apply(connection: Connection, schema: str, one: Migration) -> None:
    try:
        with connection.transaction():
            if not has_versions(connection, schema):
                connection.execute(_TABLE)
            connection.execute(one.statements.encode())
            connection.execute(
                "INSERT INTO schema_migration (version, name, sha256) VALUES (%s, %s, %s)",
                (one.version, one.name, one.digest),
            )
    except (errors.DuplicateTable, errors.DuplicateObject, errors.DuplicateFunction) as error:
        raise _foreign(schema, error.diag.message_primary or one.name) from error
