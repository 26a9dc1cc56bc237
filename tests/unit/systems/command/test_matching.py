"""A pattern that would take for ever is given up, and what it held up goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems.command import matcher
from searchmark.systems.command.matching import Found, Matching

ENDLESS = r"^(?P<id>(?:a+)+)$"
"""Tries 2^(n-1) ways to divide n letters before it fails at the one that is none."""

HARD = "a" * 60 + "!"


@pytest.fixture
def endless() -> Iterator[Matching]:
    with Matching(ENDLESS, "ids_regex", re.MULTILINE, limit_s=0.3) as matching:
        yield matching


def test_matches_are_those_of_re(endless: Matching) -> None:
    text = "aaa\nb\naa\n"
    wanted = [Found(m.start(), m.end(), m["id"], {}) for m in re.finditer(ENDLESS, text, re.M)]
    assert endless.find(text, 5) == wanted
    assert [f.doc_id for f in endless.find(text, 1)] == ["aaa"]
    with Matching(r"(?P<score>\d)?é(.)", "ids_regex") as groups:
        # without a group called id it is the first one, whatever that is called
        assert groups.find("1éx éy \U0001f600éz", 9) == [
            Found(0, 3, "1", {"score": "1"}),
            Found(4, 6, None, {"score": None}),
            Found(8, 10, None, {"score": None}),
        ]
    with Matching("No results.*", "empty_regex") as whole:
        assert whole.is_all_of("No results")
        assert not whole.is_all_of("title: No results")
        assert not whole.is_all_of("No results\nbut one")


def test_a_pattern_that_takes_for_ever_is_a_failure_and_the_next_text_is_read(
    endless: Matching,
) -> None:
    for ask in (lambda: endless.find(HARD, 1), lambda: endless.is_all_of(HARD)):
        with pytest.raises(SystemFailedError) as raised:
            ask()
        assert not raised.value.retry
        assert str(raised.value).startswith(
            "printed 61 bytes in which ids_regex was looked for longer than 0.3 s; "
        )
        assert [f.doc_id for f in endless.find("aa", 1)] == ["aa"]


def test_other_threads_go_on_meanwhile(endless: Matching) -> None:
    with ThreadPoolExecutor(4) as threads:
        hard = threads.submit(endless.find, HARD, 1)
        texts = ["a" * n for n in range(1, 30)]
        found = [f.result() for f in [threads.submit(endless.find, text, 1) for text in texts]]
        assert [one[0].doc_id for one in found] == texts
        with pytest.raises(SystemFailedError):
            hard.result()


def test_a_text_of_megabytes(endless: Matching) -> None:
    text = "aaa\nb\n" * 500_000
    assert len(endless.find(text, 3)) == 3


def test_a_process_that_was_ended_is_told_and_replaced(endless: Matching) -> None:
    endless.find("a", 1)
    (worker,) = endless._idle
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    with pytest.raises(SystemFailedError, match="could not be matched"):
        endless.find("a", 1)
    assert len(endless.find("a", 1)) == 1


def test_none_is_left_when_it_is_closed() -> None:
    with Matching("(a)", "ids_regex") as matching:
        matching.find("a", 1)
        (worker,) = matching._idle
    assert worker.process.returncode is not None


def test_one_whose_parent_is_gone_ends_by_itself() -> None:
    wanted = b'{"pattern": "((a+)+)$", "flags": 0, "limit_s": 0.2}\n'
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(matcher.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(wanted + b'{"length": 61, "most": 1, "whole": false}\n' + HARD.encode())
    process.stdin.flush()  # nobody reads what it says, and nobody would end it
    for _ in range(600):
        if process.poll() is not None:
            break
        time.sleep(0.05)
    process.kill()
    process.stdin.close()
    assert process.wait() == -signal.SIGALRM
