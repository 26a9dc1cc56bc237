"""Signals that end the program: once, also where Python drops what a handler raises."""

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from searchmark.cli.ending import listening, numbers


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in numbers()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Goodbye:
    """Sends a signal where no exception gets out."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)


def test_a_signal_in_a_place_that_drops_exceptions_comes_again() -> None:
    hook = sys.unraisablehook
    with listening() as ending:
        last = Goodbye()
        with pytest.raises(KeyboardInterrupt):
            del last
            time.sleep(20)
        assert ending.number == signal.SIGTERM
    assert sys.unraisablehook is hook


def test_what_else_is_dropped_is_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))

    class Bad:
        def __del__(self) -> None:
            raise KeyboardInterrupt  # nobody's

    with listening():
        last = Bad()
        del last
    assert told == [KeyboardInterrupt]


def test_handlers_are_as_before_unless_a_signal_came() -> None:
    before = [signal.getsignal(number) for number in numbers()]
    with listening() as ending:
        assert [signal.getsignal(number) for number in numbers()] == [ending] * len(before)
        assert ending.code(130) == 130
    assert [signal.getsignal(number) for number in numbers()] == before
    with listening() as ending, pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    assert [ending.code(code) for code in (0, 2, 130)] == [0, 2, 143]
    assert {signal.getsignal(number) for number in numbers()} == {signal.SIG_IGN}


def test_the_same_wish_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr("searchmark.cli.ending._exit", left.append)
    now = [0.0]
    monkeypatch.setattr("searchmark.cli.ending.monotonic", lambda: now[0])
    with listening() as ending:
        with pytest.raises(KeyboardInterrupt):
            ending(signal.SIGTERM, None)
        now[0] = 1.9
        ending(signal.SIGINT, None)
        assert left == []
        now[0] = 2.1
        ending(signal.SIGINT, None)
        assert left == [143]
