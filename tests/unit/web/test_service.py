"""What a service does to the process that it runs in."""

import logging
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from searchmark.demo import place
from searchmark.errors import InputError
from searchmark.project import read_project
from searchmark.web.quiet import at_level
from searchmark.web.service import NOISY, Asked, open_served


def test_loggers_tell_again_what_they_told_of(tmp_path: Path) -> None:
    place(tmp_path)
    project = read_project(tmp_path)
    logging.getLogger(NOISY[0]).setLevel(logging.DEBUG)
    try:
        before = [logging.getLogger(name).level for name in NOISY]
        with open_served(project, Asked("keyword")):
            assert {logging.getLogger(name).level for name in NOISY} == {logging.ERROR}
        assert [logging.getLogger(name).level for name in NOISY] == before
        with pytest.raises(InputError), open_served(project, Asked("keyword")):
            raise InputError("something else")
        assert [logging.getLogger(name).level for name in NOISY] == before
    finally:
        logging.getLogger(NOISY[0]).setLevel(logging.NOTSET)


def test_a_level_goes_back_whatever_happens() -> None:
    logger = logging.getLogger("searchmark.test.quiet")
    with pytest.raises(KeyboardInterrupt), at_level(logging.CRITICAL, logger.name):
        assert logger.level == logging.CRITICAL
        raise KeyboardInterrupt
    assert logger.level == logging.NOTSET
