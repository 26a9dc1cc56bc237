"""What is told of a system that was given up: after failures, or after minutes of refusals."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from searchmark.data import Queries, read_queries
from searchmark.errors import SystemFailedError
from searchmark.experiments.journal import open_journal
from searchmark.experiments.runner import ask_all
from searchmark.experiments.validity import failure_sentence
from searchmark.systems.calling import called
from searchmark.systems.pacing import Clock
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Hit, Query
from searchmark.systems.secrets import Secrets


def hours() -> Clock:
    """Return a clock on which waiting takes no time."""
    at = 100.0

    def wait(_: threading.Event, seconds: float) -> bool:
        nonlocal at
        at += seconds
        return False

    return Clock(now=lambda: at, wait=wait, uniform=lambda low, high: high)


class Engine:
    """Answers one query and fails on all others as it is told to."""

    name, tags = "api", frozenset[str]()
    identity: Mapping[str, str] = {}

    def __init__(self, error: SystemFailedError) -> None:
        self.error = error

    def search(self, query: Query, k: int) -> Answer:
        if query.query_id == "q0":
            return Answer((Hit("d"),))
        raise self.error


def queries(folder: Path, n: int) -> Queries:
    path = folder / "queries.tsv"
    path.write_text("query_id\ttext\n" + "".join(f"q{i}\tabc\n" for i in range(n)))
    return read_queries(path)


BUSY = SystemFailedError("429 Too Many Requests", retry=True, busy=True, after_s=60.0)
REFUSED = "429 Too Many Requests; it has refused every call for 300 s"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SystemFailedError("503"), "after 4 failed queries in a row; 1 of 9 queries are answered"),
        (BUSY, "after 5 minutes of refusals; 1 of 9 queries are answered"),
    ],
)
def test_why_a_system_was_given_up(tmp_path: Path, error: SystemFailedError, told: str) -> None:
    limits = CallPolicy(stop_after=4, retries=0 if error is not BUSY else 3)
    system = called(Engine(error), limits, Secrets({}), clock=hours())
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries(tmp_path, 9), 5, journal, calls=limits)
    last = REFUSED if error is BUSY else "503"
    assert failure_sentence("api", calls, limits) == (
        f"system 'api' was given up {told} and kept, and the same command goes on with the rest; "
        f"the last error: {last}"
    )
    # one call that was refused for five minutes is enough, of failures there are four
    assert [c.status for c in calls].count("error") == (1 if error is BUSY else 4)


def test_one_that_was_down_before_says_why_too(tmp_path: Path) -> None:
    limits = CallPolicy(stop_after=2, retries=0)
    system = called(Engine(SystemFailedError("on fire")), limits, Secrets({}))
    for _ in range(2):  # as an arm of another system
        with pytest.raises(SystemFailedError):
            system.search(Query("other", "abc"), 5)
    with open_journal(tmp_path / "j") as journal:
        calls = ask_all(system, queries(tmp_path, 3), 5, journal, calls=limits)
    told = "not asked after 2 failed queries in a row; the last error: on fire"
    assert [(c.status, c.error) for c in calls] == [("unasked", told)] * 3
