"""Errors without the secrets of the environment, whatever raised them."""

from traceback import format_exception

from searchmark.errors import InputError, SearchmarkError, SystemFailedError, described
from searchmark.systems.secrets import Secrets


def redact_error(error: Exception, secrets: Secrets) -> Exception:
    """Return an error to raise in place of this one: itself where it tells no secret.

    What it was made from is cut off where that would tell one in a traceback.
    """
    if secrets.redact(whole := "".join(format_exception(error))) == whole:
        return error
    if not isinstance(error, SearchmarkError):
        found: Exception = SystemFailedError(secrets.redact(described(error)))
    else:
        found = error
        found.args = tuple(secrets.redact(a) if isinstance(a, str) else a for a in error.args)
        if isinstance(found, InputError):
            found.what = secrets.redact(found.what)
            found.fix = None if found.fix is None else secrets.redact(found.fix)
    found.__cause__ = found.__context__ = None
    found.__suppress_context__ = True
    return found
