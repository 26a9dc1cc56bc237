"""What a PostgreSQL error means: the statement is wrong, the time is over, or try again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.pq import DiagnosticField

from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

    from searchmark.systems.postgres.statement import Statement
    from searchmark.systems.secrets import Secrets

PASSING = ("08", "40", "53300", "53400", "55P03", "57P", "58030")
"""Beginnings of SQLSTATEs after which the same call may go well: the connection, a conflict of
transactions, too many connections, a lock, a server that shuts down or starts."""

OVER_TIME = ("57014", "25P03", "25P04")
"""A statement was ended: its own limit, the transaction's, or a person (whose message differs)."""

TOO_MANY = ("53300", "53400")
"""So many calls at once are more than the server takes."""

FIXES = {
    "25006": "read_only = false lets a statement write",
    "42601": "text that people type needs websearch_to_tsquery or plainto_tsquery, not to_tsquery",
}
"""Advice by SQLSTATE for a statement that was sound when it was checked."""

REFUSALS = (
    "authentication failed",
    "does not exist",
    "pg_hba.conf",
    "permission denied",
    "not permitted",
    "no password supplied",
    "certificate",
    "not known",
    "does not support ssl",
    "lost synchronization with server",
    "invalid response",
    "but received",
)
"""What libpq says where connecting again cannot help: it gives no SQLSTATE for connections."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What the server said of a statement: its SQLSTATE, a sentence, and the place it points to."""

    state: str
    text: str
    position: int | None


def read_fault(result: "PGresult", secrets: "Secrets") -> Fault:
    """Return what a failed result holds."""

    def value(of: DiagnosticField) -> str:
        return (result.error_field(of) or b"").decode("utf-8", "replace")

    text = value(DiagnosticField.MESSAGE_PRIMARY) or result.get_error_message()
    if hint := value(DiagnosticField.MESSAGE_HINT):
        text = f"{text.rstrip('.')} ({hint.rstrip('.')})"
    position = value(DiagnosticField.STATEMENT_POSITION)
    shown = secrets.excerpt(text).rstrip(".")
    return Fault(value(DiagnosticField.SQLSTATE), shown, int(position) if position else None)


def of_call(fault: Fault, statement: "Statement", limit: float | None) -> SystemFailedError:
    """Return the error of one call of a statement that was found to be sound."""
    where, state = statement.path.name, fault.state
    if not state:  # libpq's own words
        return _without_connection(fault.text)
    if state in OVER_TIME and "user request" not in fault.text:
        told = "the server's own limit" if limit is None else f"{limit:g} s at most"
        return SystemTimeoutError(f"{where}: PostgreSQL ended the statement, {told}: {fault.text}")
    retry = state.startswith(PASSING) or state in OVER_TIME
    line = "" if fault.position is None else f":{statement.line(fault.position)}"
    fix = f"; {FIXES[state]}" if state in FIXES else ""
    busy = state in TOO_MANY
    told = f"{where}{line}: {fault.text} (SQLSTATE {state}){fix}"
    return SystemFailedError(told, retry=retry, busy=busy)


def of_statement(fault: Fault, statement: "Statement") -> InputError:
    """Return the error of a statement that the server refuses before it is run."""
    line = None if fault.position is None else statement.line(fault.position)
    return InputError(
        f"PostgreSQL says: {fault.text} (SQLSTATE {fault.state})",
        path=statement.path,
        line=line,
        fix="correct the statement, or the database that 'dsn' names",
    )


def is_about_statement(fault: Fault) -> bool:
    """Tell whether a check failed for what is written: the rest is the server's condition."""
    return (
        bool(fault.state) and not fault.state.startswith(PASSING) and (fault.state not in OVER_TIME)
    )


def lost(text: str, secrets: "Secrets") -> SystemFailedError:
    """Return the error of a connection that was not made or was lost, from libpq's words."""
    return _without_connection(secrets.excerpt(text).rstrip("."))


def _without_connection(text: str) -> SystemFailedError:
    said = text.lower()
    retry = not any(refusal in said for refusal in REFUSALS)
    busy = "too many" in said or "remaining connection slots" in said
    return SystemFailedError(f"no connection to PostgreSQL: {text}", retry=retry, busy=busy)


def late(limit: float | None) -> SystemTimeoutError:
    """Return the error of a call that we ended."""
    told = "the time limit of connecting" if limit is None else f"{limit:g} s"
    return SystemTimeoutError(f"PostgreSQL did not answer within {told}")
