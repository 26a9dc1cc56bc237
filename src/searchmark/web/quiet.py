"""Loggers that say less for a while."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_level(level: int, *names: str) -> Iterator[None]:
    """Let loggers tell of nothing below a level, and afterwards what they told of before."""
    before = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(level)
        yield
    finally:
        for name, was in before.items():
            logging.getLogger(name).setLevel(was)
