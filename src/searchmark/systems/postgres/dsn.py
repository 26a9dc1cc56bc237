"""What a `dsn` of a configuration means: which database, where it names none, and its variables."""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from searchmark.systems.secrets import Secrets

LIBPQ = (
    *("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PGSERVICEFILE"),
    *("PGOPTIONS", "PGTARGETSESSIONATTRS"),
)
"""Variables by which libpq itself finds the database, where `dsn` does not name it."""

DEFAULT_DSN = "${DATABASE_URL}"
"""The database of a catalog where neither a `dsn` nor a variable of libpq names one."""

_NAMING = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE")
_URI = re.compile(r"postgres(?:ql)?://")
_HOST = re.compile(r"postgres(?:ql)?://(?:[^/?@]*@)?[^/?@]*")
"""A beginning that ends among the hosts, unless an '@' follows."""


def catalog_dsn(*given: str | None, environment: Mapping[str, str] | None = None) -> str:
    """Return the first address that is given; without one, libpq's own variables, or the default.

    The one rule for all who open a catalog: runs, services and workers.
    """
    found = next(filter(None, given), None)
    if found is not None:
        return found
    variables = os.environ if environment is None else environment
    return "" if any(variables.get(name) for name in _NAMING) else DEFAULT_DSN


def expanded_dsn(text: str, secrets: "Secrets", *, key: str) -> str:
    """Return an address with its variables put in, each as one value whatever is in it.

    In a URI the value is percent-encoded, in a list of ``key=value`` it is escaped. A variable that
    is the whole address, its beginning, or stands where a key belongs is an address or a part of
    one, and goes in as it is.
    """
    from searchmark.systems.secrets import REFERENCE

    made, end = "", 0
    for found in REFERENCE.finditer(text):
        made += text[end : found.start()]
        end = found.end()
        value = secrets.expand(found[0], key=key)
        if found[0].startswith("$$"):
            made += value
        elif _URI.match(made):
            made += _in_uri(value, made, text[end:])
        else:
            made += _in_pairs(value, text[: found.start()])
    return made + text[end:]


def _in_uri(value: str, before: str, after: str) -> str:
    if before[-1] in "?&":
        return value
    is_host = _HOST.fullmatch(before) and not re.match(r"[^/?]*@", after)
    return quote(value, safe=":,[]" if is_host else "")


def _in_pairs(value: str, before: str) -> str:
    is_quoted = len(re.findall(r"(?<!\\)'", before)) % 2 == 1
    if not is_quoted and not re.search(r"=\s*\S*$", before):
        return value
    if not value and not is_quoted and re.search(r"=\s*$", before):
        return "''"  # libpq would take the next key for the value
    return re.sub(r"([\s'\\])", r"\\\1", value)
