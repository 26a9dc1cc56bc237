"""What libraries log, without the secrets of the environment."""

import io
import logging
from collections.abc import Iterator

import pytest

from searchmark.systems.logrecords import redacted_logs
from searchmark.systems.secrets import Secrets

SECRETS = Secrets({"MY_TOKEN": "hunter-22"})


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """A logger called client, and the text that its handler writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logger = logging.getLogger("client")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield text
    logger.removeHandler(handler)


def test_messages_arguments_and_tracebacks_are_without_secrets(logged: io.StringIO) -> None:
    logger = logging.getLogger("client")
    with redacted_logs(SECRETS):
        logger.debug("GET /?key=hunter-22")
        logger.info("headers %r, %d bytes", {"Authorization": b"hunter-22"}, 7)
        try:
            raise ValueError("hunter-22")
        except ValueError:
            logger.exception("failed")
        logger.warning("plain %s", "text")
    shown = logged.getvalue()
    assert "hunter" not in shown
    assert shown.startswith("GET /?key=${MY_TOKEN}\nheaders {'Authorization': b'${MY_TOKEN}'}, 7 b")
    assert "ValueError: ${MY_TOKEN}" in shown
    assert shown.endswith("plain text\n")


def test_a_record_that_cannot_be_a_text_is_as_it_was() -> None:
    with redacted_logs(SECRETS):
        make = logging.getLogRecordFactory()
        record = make("client", logging.INFO, "x.py", 1, "%d", ("no number",), None)
    assert (record.msg, record.args) == ("%d", ("no number",))


def test_loggers_are_as_before_afterwards(logged: io.StringIO) -> None:
    before = logging.getLogRecordFactory()
    with redacted_logs(SECRETS), redacted_logs(Secrets({})):
        pass
    assert logging.getLogRecordFactory() is before
    first, second = redacted_logs(SECRETS), redacted_logs(SECRETS)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # not the order they were entered in
    second.__exit__(None, None, None)
    logging.getLogger("client").info("hunter-22")
    assert logged.getvalue() == "hunter-22\n"
    logging.setLogRecordFactory(before)
