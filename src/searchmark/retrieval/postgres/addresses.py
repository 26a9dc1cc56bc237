"""Addresses of databases as libpq takes them, looked at before anything is connected to.

What libpq says of an address that is none quotes pieces of it, and one of them may be half of a
password that nobody put into quotes. So the sentences are our own, and hold nothing of it.
"""

import re

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from searchmark.errors import InputError

ENCODING = "UTF8"

_HOW = (
    "write it as postgresql://USER@HOST:PORT/DATABASE or as host=HOST dbname=DATABASE; what is no "
    "letter or digit is percent-encoded in the first, and stands in single quotes in the second"
)
_URI = re.compile(r"postgres(?:ql)?://(?P<place>[^/?]*)(?:/(?P<name>[^?]*))?")


def conninfo(dsn: str, **named: str) -> str:
    """Return an address with more options, its texts in UTF-8; InputError where it is none."""
    _check(dsn)
    try:
        return make_conninfo(dsn, client_encoding=ENCODING, **named)
    except (Error, UnicodeEncodeError):  # the reason quotes what it is about
        raise _none("is no connection string") from None


def _check(dsn: str) -> None:
    if "\0" in dsn:
        raise _none("holds a NUL character")
    try:
        given = conninfo_to_dict(dsn)
    except (Error, UnicodeEncodeError):
        raise _none("is no connection string") from None
    uri = _URI.match(dsn)
    hosts = str(given.get("host") or "")
    if not hosts.startswith(("/", "@")) and re.search(r"[@\s'\"]", hosts):
        raise _none("names a host that no host can be called")
    if uri is not None and "@" in (uri["name"] or ""):
        raise _none("holds an '@' behind the host")
    if not re.fullmatch(r"[\d,\s]*", str(given.get("port") or "")):
        raise _none("names a port that is no number")


def _none(what: str) -> InputError:
    return InputError(f"the address of the database (dsn) {what}", fix=_HOW)


def check_encoding(found: str | None, database: str) -> None:
    """Refuse a database that cannot hold every text."""
    if found not in (None, ENCODING):
        raise InputError(
            f"the database '{database}' holds its texts as {found}, which has not every letter",
            fix=f"make one WITH ENCODING '{ENCODING}' TEMPLATE template0",
        )
