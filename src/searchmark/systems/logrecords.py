"""What libraries log, without the secrets of the environment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    import logging


@contextmanager
def redacted_logs(secrets: Secrets) -> Iterator[None]:
    """Take secrets out of every record that is logged meanwhile, whoever shows or keeps it.

    Clients of engines log whole requests where somebody turns that on. A record that nobody wants
    is never made, so that this costs nothing otherwise.
    """
    import logging

    before = logging.getLogRecordFactory()
    is_on = True

    def make(*arguments: Any, **keys: Any) -> "logging.LogRecord":
        record = before(*arguments, **keys)
        return _redacted(record, secrets) if is_on else record

    logging.setLogRecordFactory(make)
    try:
        yield
    finally:
        is_on = False
        if logging.getLogRecordFactory() is make:  # or else another wraps it, and it is quiet
            logging.setLogRecordFactory(before)


def _redacted(record: "logging.LogRecord", secrets: Secrets) -> "logging.LogRecord":
    """Return the record as the text it would be; one that cannot be made into text is as it was."""
    import logging

    try:
        text = record.getMessage()
    except Exception:
        return record  # which logging itself tells of
    if (shown := secrets.redact(text)) != text:
        record.msg, record.args = shown, None
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = secrets.redact(logging.Formatter().formatException(record.exc_info))
    return record
