"""What Python functions raise, how they end, and how long their clients may take: never a crash."""

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import (
    InputError,
    OutsideError,
    SystemFailedError,
    SystemTimeoutError,
    failure_text,
)
from searchmark.systems.alarm import within
from searchmark.systems.calling import CalledSystem
from searchmark.systems.policy import CallPolicy
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Query
from searchmark.systems.python import Config

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d1"], "text": ["red"]}))

Opened = Callable[..., AbstractContextManager[CalledSystem]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open the function `search` of a module with this text."""
    before = set(sys.modules)

    @contextmanager
    def open_module(
        module: str, calls: CallPolicy | None = None, **keys: Any
    ) -> Iterator[CalledSystem]:
        name = f"smend_{abs(hash((module, tmp_path)))}"
        (tmp_path / f"{name}.py").write_text(module)
        config = Config(callable=f"{name}:search", **keys)
        entry = Entry("mine", "python", config, calls or CallPolicy(stop_after=100))
        with Pool({"mine": entry}, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
            yield pool.open("mine")

    yield open_module
    for name in set(sys.modules) - before:
        if name.startswith("smend_"):
            del sys.modules[name]


RAISED = {
    "KeyboardInterrupt": "raised KeyboardInterrupt, which would have ended the program",
    "SystemExit(3)": "called exit(3), which would have ended the program",
    "GeneratorExit": "GeneratorExit",
    "asyncio.CancelledError": "CancelledError",
    "StopIteration(5)": "StopIteration: 5",
    "StopAsyncIteration": "StopAsyncIteration",
    "RecursionError('deep')": "RecursionError: deep",
    "MemoryError": "MemoryError",
    "BaseExceptionGroup('two', [KeyboardInterrupt(), ValueError()])": "BaseExceptionGroup: two "
    "(2 sub-exceptions)",
    "Mute": "Mute: its message cannot be shown, ZeroDivisionError",
}

SYNC = """
import asyncio
class Mute(Exception):
    def __str__(self): 1 / 0
def search(text, k):
    if text == "fine": return ["d1"]
    raise {raised}
"""

ASYNC = SYNC.replace("def search", "async def search")

CHILD = """
import asyncio
class Mute(Exception):
    def __str__(self): 1 / 0
async def work(text):
    await asyncio.sleep(0)
    if text == "fine": return ["d1"]
    raise {raised}
async def search(text, k): return await asyncio.create_task(work(text))
"""


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("calls", [CallPolicy(), CallPolicy(timeout_s=20, concurrency=2)])
def test_whatever_is_raised_is_that_calls_failure(
    opened: Opened, raised: str, calls: CallPolicy, capfd: pytest.CaptureFixture[str]
) -> None:
    with opened(SYNC.format(raised=raised), calls) as system:
        for _ in range(2):
            with pytest.raises(SystemFailedError) as caught:
                system.search(Query("q", "bad"), 1)
            assert failure_text(caught.value) == RAISED[raised]
            assert system.search(Query("q", "fine"), 1).hits
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("module", [ASYNC, CHILD], ids=["async", "child task"])
@pytest.mark.parametrize("raised", RAISED)
def test_whatever_async_code_raises_leaves_the_loop_running(
    opened: Opened, raised: str, module: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with opened(module.format(raised=raised)) as system:
        for _ in range(2):
            with pytest.raises(SystemFailedError) as caught:
                system.search(Query("q", "bad"), 1)
            name = RAISED[raised].partition(":")[0]
            assert name in failure_text(caught.value)
            assert system.search(Query("q", "fine"), 1).hits
    assert capfd.readouterr() == ("", "")


STOPS = {
    "stop": "asyncio.get_running_loop().stop()",
    "stop later": "asyncio.get_running_loop().call_later(0, asyncio.get_running_loop().stop)",
    "exit in a callback": "asyncio.get_running_loop().call_soon(exit)",
    "interrupt in a callback": "asyncio.get_running_loop().call_soon(interrupt)",
}


@pytest.mark.parametrize("how", STOPS)
def test_a_loop_that_is_stopped_goes_on(
    opened: Opened, how: str, capfd: pytest.CaptureFixture[str]
) -> None:
    module = (
        "import asyncio\n"
        "def interrupt(): raise KeyboardInterrupt\n"
        "async def search(text, k):\n"
        f"    {STOPS[how]}\n"
        "    await asyncio.sleep(0.01)\n"
        "    return ['d1']"
    )
    before = threading.active_count()
    with opened(module, CallPolicy(timeout_s=20)) as system:
        for _ in range(3):
            assert system.search(Query("q", "red"), 1).hits
    assert capfd.readouterr() == ("", "")
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert threading.active_count() <= before  # the loop has ended with the system


def test_what_a_task_raises_that_nobody_awaits_is_one_line(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    module = (
        "import asyncio\n"
        "async def fail(): raise ValueError('one\\ntwo')\n"
        "async def search(text, k):\n"
        "    asyncio.create_task(fail())\n"
        "    await asyncio.sleep(0.01)\n"
        "    return ['d1']"
    )
    with caplog.at_level(logging.WARNING), opened(module) as system:
        assert system.search(Query("q", "red"), 1).hits
    (record,) = caplog.records
    assert record.getMessage().endswith("never retrieved (ValueError: one two)")
    assert record.exc_info is None


HANGING = {
    "factory": "import time\ndef search(): time.sleep(60)",
    "async factory": "import asyncio\nasync def search(): await asyncio.sleep(60)",
    "enter": (
        "import time\n"
        "class search:\n"
        "    def __enter__(self): time.sleep(60)\n"
        "    def __exit__(self, *_): pass"
    ),
    "a factory that catches everything": (
        "import time\n"
        "def search():\n"
        "    for _ in range(3):\n"
        "        try: time.sleep(20)\n"
        "        except SystemError: pass\n"
    ),
}


@pytest.mark.parametrize("form", HANGING)
def test_a_client_that_does_not_open_is_told(
    opened: Opened, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("searchmark.systems.living.OPEN_S", 0.1)
    start = time.monotonic()
    with (
        pytest.raises(
            OutsideError, match=r"'mine'.*made no client: it took longer than 0\.1 s"
        ) as caught,
        opened(HANGING[form], factory=True),
    ):
        pass
    assert caught.value.exit_code == 3
    assert time.monotonic() - start < 50  # 60 are slept


CLOSING = {
    "close": "    def close(self): time.sleep(60)",
    "aclose": "    async def aclose(self): await asyncio.sleep(60)",
    "exit": "    def __enter__(self): return self\n    def __exit__(self, *_): time.sleep(60)",
    "async exit": (
        "    async def __aenter__(self): return self\n"
        "    async def __aexit__(self, *_): await asyncio.sleep(60)"
    ),
}


@pytest.mark.parametrize("form", CLOSING)
def test_a_client_that_does_not_close_is_told(
    opened: Opened, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("searchmark.systems.living.CLOSE_S", 0.1)
    module = (
        "import asyncio, time\nclass search:\n    def __call__(self, text, k): return ['d1']\n"
        + CLOSING[form]
    )
    told = r"system 'mine' could not be closed \(took longer than 0\.1 s\)"
    start = time.monotonic()
    with pytest.raises(SystemFailedError, match=told), opened(module) as system:
        system.search(Query("q", "red"), 1)
    assert time.monotonic() - start < 50


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit(0)", "GeneratorExit"])
def test_what_would_end_the_program_is_no_way_to_open_or_close(opened: Opened, raised: str) -> None:
    with (
        pytest.raises(InputError, match="made no client"),
        opened(f"class search:\n    def __init__(self): raise {raised}"),
    ):
        pass
    module = (
        "class search:\n    def __call__(self, text, k): return ['d1']\n"
        f"    def close(self): raise {raised}"
    )
    with pytest.raises(SystemFailedError, match="could not be closed"), opened(module) as system:
        system.search(Query("q", "red"), 1)


def in_thread(work: Callable[[], object]) -> BaseException | None:
    raised: list[BaseException | None] = [None]

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised[0] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(50)
    assert not thread.is_alive()
    return raised[0]


def test_a_step_that_takes_too_long_ends_in_any_thread() -> None:
    go_on = threading.Event()
    with pytest.raises(SystemTimeoutError, match=r"took longer than 0\.05 s"):
        within(0.05, lambda: go_on.wait(60))
    assert isinstance(in_thread(lambda: within(0.05, lambda: go_on.wait(60))), SystemTimeoutError)
    go_on.set()


def test_a_step_that_catches_the_alarm_hears_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("searchmark.systems.alarm.AGAIN_S", 0.05)
    caught = []

    def stubborn() -> None:
        try:
            time.sleep(60)
        except SystemTimeoutError as error:
            caught.append(error)
            time.sleep(60)

    with pytest.raises(SystemTimeoutError):
        within(0.05, stubborn)
    assert len(caught) == 1


def test_a_step_in_time_leaves_nothing_behind() -> None:
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    assert within(60, threading.current_thread) is threading.main_thread()
    assert isinstance(in_thread(lambda: within(60, lambda: 1 / 0)), ZeroDivisionError)
    after = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    assert after == before


def test_a_connection_that_belongs_to_its_thread_is_opened_and_closed_there(
    opened: Opened,
) -> None:
    module = (
        "import sqlite3\n"
        "class search:\n"
        "    def __init__(self): self.db = sqlite3.connect(':memory:')\n"
        "    def __call__(self, text, k): return self.db.execute(\"SELECT 'd1'\").fetchone()\n"
        "    def close(self): self.db.close()"
    )
    with opened(module) as system:
        assert system.search(Query("q", "red"), 1).hits
