"""Code under test may do what it likes: the program goes on, and its results stay its own."""

import io
import locale
import os
import signal
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import click
import pytest

from searchmark.errors import SystemFailedError, SystemTimeoutError
from searchmark.systems.guard import ENDINGS, STREAMS, Call, abandon, guarded, hide
from searchmark.systems.secrets import Secrets


def leave() -> None:
    raise SystemExit(0)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (leave, r"exit\(0\)"),
        (lambda: os._exit(0), r"os\._exit\(0\)"),
        (lambda: os.execv("/nothing", ["x"]), r"os\.execv\(\.\.\.\)"),
        (lambda: os.execlp("sh", "sh"), r"os\.execv\(\.\.\.\)"),
        (lambda: os.execle("/nothing", "x", {}), r"os\.execve\(\.\.\.\)"),
    ],
)
def test_what_would_end_the_program_is_a_failure(end: Callable[[], None], told: str) -> None:
    before = [getattr(os, name) for name in ENDINGS]
    with (
        pytest.raises(SystemFailedError, match=f"called {told}, which would have ended"),
        guarded(),
    ):
        end()
    assert [getattr(os, name) for name in ENDINGS] == before


def test_an_end_that_the_code_itself_catches_is_a_failure_too() -> None:
    kept = []
    with guarded():
        kept.append(os._exit)  # as `from os import _exit` does in a module
    for end in (lambda: os._exit(0), lambda: kept[0](0)):
        with (
            pytest.raises(SystemFailedError, match=r"os\._exit\(0\)"),
            guarded(),
            suppress(BaseException),
        ):
            end()


def test_a_forked_process_ends_itself_as_it_wants() -> None:
    with guarded():
        child = os.fork()
        if not child:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_whatever_is_written_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with guarded():
        click.echo("1 echo")
        assert sys.__stdout__ is not None
        sys.__stdout__.write("2 stream\n")
        sys.stdout.buffer.write(b"3 buffer\n")
        sys.stdout.flush()
        os.write(1, b"4 descriptor\n")
        os.system("echo 5 process")
    click.echo("result")
    printed = capfd.readouterr()
    assert printed.out == "result\n"
    assert printed.err == "1 echo\n2 stream\n3 buffer\n4 descriptor\n5 process\n"


def test_streams_cannot_be_closed(capfd: pytest.CaptureFixture[str]) -> None:
    with guarded():
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            assert stream is not None
            with stream:
                pass
            stream.buffer.close()
            stream.detach().close()
            stream.close()
        os.close(1)
        os.close(2)
    click.echo("result")
    click.echo("message", err=True)
    os.write(1, b"below\n")
    assert capfd.readouterr() == ("result\nbelow\n", "message\n")


def test_a_stream_that_is_not_there_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with guarded():
        click.echo("to nobody")
    assert sys.stderr is None


def test_what_was_put_in_the_place_of_a_stream_is_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = io.StringIO()
    monkeypatch.setattr(sys, "stdout", ours)
    with guarded():
        sys.stdout = io.StringIO()
    assert sys.stdout is ours


@pytest.mark.parametrize("cleared", [[], None])
def test_what_imports_need_is_put_back(
    monkeypatch: pytest.MonkeyPatch, cleared: list[str] | None
) -> None:
    path, modules = list(sys.path), set(sys.modules)
    monkeypatch.setattr(sys, "path", path)
    with guarded():
        sys.path = cleared  # type: ignore[assignment]
        sys.modules.clear()
    assert sys.path == path
    assert modules <= set(sys.modules)


def test_what_code_adds_to_the_path_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = list(sys.path)
    with guarded():
        sys.path.insert(0, str(tmp_path))
    assert sys.path == [str(tmp_path), *before]


def test_errors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (CancelledError(), GeneratorExit(), StopIteration(), ValueError("x")):
        with pytest.raises(type(error)) as caught, guarded():
            raise error
        assert caught.value is error
    click.echo("result")
    assert capsys.readouterr() == ("result\n", "")


def test_a_persons_ctrl_c_passes_and_any_other_is_a_failure() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(SystemFailedError, match="raised KeyboardInterrupt, which would"), guarded():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), guarded():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)
    with pytest.raises(KeyboardInterrupt), guarded(), suppress(BaseException):  # as code may do
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(20)
    with pytest.raises(KeyboardInterrupt), guarded():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        except KeyboardInterrupt:
            raise ValueError from None
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_ends_the_program_as_ctrl_c_does_passes_too() -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), guarded():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(20)
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_other_threads_there_is_no_person() -> None:
    def interrupt(_: int) -> None:
        with guarded():
            raise KeyboardInterrupt

    assert [type(error) for error in in_threads(2, interrupt)] == [SystemFailedError] * 2


def test_handlers_that_end_the_program_are_put_back() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with guarded():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: None)
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_code_under_test_has_a_working_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    monkeypatch.chdir(ours)
    with guarded():
        assert Path.cwd() == ours
        os.chdir(theirs)
    assert Path.cwd() == ours
    with guarded():
        assert Path.cwd() == theirs  # as a module that chose it when it was imported wants
        os.chdir(ours)
    with guarded():
        assert Path.cwd() == ours
        os.chdir(theirs)
        theirs.rmdir()
    assert Path.cwd() == ours
    with guarded():
        assert Path.cwd() == ours


def test_code_under_test_has_a_locale_of_its_own() -> None:
    before = locale.setlocale(locale.LC_ALL)
    other = "C" if before != "C" else "C.UTF-8"
    with guarded():
        locale.setlocale(locale.LC_ALL, other)
    assert locale.setlocale(locale.LC_ALL) == before
    with guarded():
        assert locale.setlocale(locale.LC_ALL) == other
        locale.setlocale(locale.LC_ALL, before)
    with guarded():
        assert locale.setlocale(locale.LC_ALL) == before


def test_the_mask_of_new_files_is_put_back() -> None:
    before = os.umask(0o027)
    try:
        with guarded():
            assert os.umask(0o777) == 0o027
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("end", "code"),
    [("pass", 0), ("raise SystemExit(7)", 7), ("raise SystemExit", 0), ("1 / 0", 1)],
)
def test_a_forked_process_that_comes_back_is_no_second_program(end: str, code: int) -> None:
    parent, children = os.getpid(), []
    try:
        with guarded():
            child = os.fork()
            if child:
                children.append(child)
            else:
                exec(end)
    finally:
        if os.getpid() != parent:
            os._exit(99)  # or else there are two reports of this test
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == code


def in_threads(n: int, work: Callable[[int], object]) -> list[BaseException | None]:
    """Do the work in n threads at once; return what each raised."""
    raised: list[BaseException | None] = [None] * n

    def one(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            raised[i] = error

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    return raised


def open_descriptors() -> list[int]:
    found = []
    for number in range(256):
        with suppress(OSError):
            os.fstat(number)
            found.append(number)
    return found


def test_threads_that_enter_and_leave_in_any_order_put_everything_back(
    capfd: pytest.CaptureFixture[str],
) -> None:
    streams = [getattr(sys, name) for name in STREAMS]
    endings = [getattr(os, name) for name in ENDINGS]
    files = open_descriptors()
    together = threading.Barrier(16)

    def work(i: int) -> None:
        random = Random(i)
        for turn in range(20):
            if turn % 5 == 0:
                together.wait(20)  # all of them are in it at once now and then
            with guarded():
                sys.stdout.write(f"{i} ")
                with suppress(OSError):  # another call may just have closed it
                    os.write(1, b".")
                if i == 3 and turn == 4:
                    os.close(1)
                    sys.stdout.close()
                time.sleep(random.random() / 1000)

    assert in_threads(16, work) == [None] * 16
    assert [getattr(sys, name) for name in STREAMS] == streams
    assert [getattr(os, name) for name in ENDINGS] == endings
    assert open_descriptors() == files
    click.echo("result")
    os.write(1, b"below\n")
    printed = capfd.readouterr()
    assert printed.out == "result\nbelow\n"
    assert sum(map(int, printed.err.replace(".", "").split())) == 20 * sum(range(16))


def test_who_would_end_the_program_is_told_among_threads() -> None:
    together = threading.Barrier(16)

    def work(i: int) -> None:
        with guarded():
            together.wait(20)
            if i % 4 == 0:
                os._exit(i)
            time.sleep(0.001)

    raised = in_threads(16, work)
    assert [i for i, error in enumerate(raised) if error is not None] == [0, 4, 8, 12]
    assert all(f"os._exit({i})" in str(raised[i]) for i in (0, 4, 8, 12))


def test_an_end_in_a_thread_of_the_call_is_its_failure() -> None:
    with pytest.raises(SystemFailedError, match=r"os\._exit\(5\)"), guarded():
        in_threads(1, lambda _: os._exit(5))


@pytest.fixture
def abandoned() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Give what starts a call that is abandoned before it does its work, and ends with it."""
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def start(work: Callable[[], object]) -> None:
        def run() -> None:
            with suppress(BaseException), guarded():
                begun.set()
                go_on.wait(20)
                try:
                    work()
                finally:
                    done.set()
                    finish.wait(20)

        threads.append(threading.Thread(target=run))
        threads[0].start()
        assert begun.wait(20)
        assert threads[0].ident is not None
        abandon(threads[0].ident)
        go_on.set()
        assert done.wait(20)

    finish = threading.Event()
    yield start
    finish.set()
    threads[0].join(20)
    assert not threads[0].is_alive()


Start = Callable[[Callable[[], object]], None]


def test_an_abandoned_call_writes_nothing_among_the_results(
    abandoned: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    def late() -> None:
        click.echo("late")
        sys.stdout.close()
        sys.stdout.buffer.close()

    abandoned(late)
    click.echo("result")
    click.echo("message", err=True)
    os.write(1, b"below\n")
    assert capfd.readouterr() == ("result\nbelow\n", "late\nmessage\n")


def test_an_abandoned_call_does_not_end_the_program(abandoned: Start) -> None:
    abandoned(lambda: os._exit(9))  # or else there is no report of this test


def test_an_abandoned_call_does_not_move_the_program(abandoned: Start, tmp_path: Path) -> None:
    here = Path.cwd()
    told: list[BaseException] = []

    def move() -> None:
        try:
            os.chdir(tmp_path)
        except SystemTimeoutError as error:
            told.append(error)

    abandoned(move)
    assert (Path.cwd(), len(told)) == (here, 1)


def test_calls_go_on_beside_an_abandoned_one(
    abandoned: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    abandoned(lambda: None)
    with pytest.raises(SystemFailedError, match=r"os\._exit\(1\)"), guarded():
        sys.stdout.write("another\n")
        os._exit(1)
    click.echo("result")
    assert capfd.readouterr() == ("result\n", "another\n")


def test_a_thread_that_a_call_left_behind_writes_nothing_among_the_results(
    capfd: pytest.CaptureFixture[str],
) -> None:
    stdout, go_on = sys.stdout, threading.Event()

    def late() -> None:
        go_on.wait(20)
        click.echo("late")
        with suppress(SystemExit):  # which Python passes over, and pytest does not
            os._exit(0)  # or else there is no report of this test

    thread = threading.Thread(target=late)
    with guarded():
        thread.start()
    with guarded():
        pass  # another call, of another system
    go_on.set()
    thread.join(20)
    click.echo("result")
    assert capfd.readouterr() == ("result\n", "late\n")
    with guarded():
        pass
    assert sys.stdout is stdout


def test_all_is_as_before_when_the_abandoned_call_has_ended() -> None:
    before = [getattr(sys, n) for n in STREAMS], [getattr(os, n) for n in ENDINGS]
    call = Call()
    with guarded(call):
        call.abandon()
        assert sys.stdout is not before[0][0]  # sorted by who writes
    assert ([getattr(sys, n) for n in STREAMS], [getattr(os, n) for n in ENDINGS]) == before


def test_a_call_that_is_abandoned_before_it_begins_is_not_made() -> None:
    before = [getattr(sys, n) for n in STREAMS]
    call = Call()
    call.abandon()
    with pytest.raises(SystemTimeoutError), guarded(call):
        raise AssertionError
    assert [getattr(sys, n) for n in STREAMS] == before


def test_a_stream_that_another_put_in_stays_when_an_abandoned_call_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = Call()
    ours = io.StringIO()
    with guarded(call):
        call.abandon()
        monkeypatch.setattr(sys, "stdout", ours)
    assert sys.stdout is ours


def test_secrets_are_taken_out_of_what_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    hide(Secrets({"MY_TOKEN": "hunter-22"}).redact)
    with guarded():
        click.echo("1 hunter-22")
        assert sys.stderr.write("2 hunter-22\n") == 12
        sys.stdout.buffer.write(b"3 hunter-22 \xff\n")
        sys.stdout.writelines(["4 hunter-22", "\n"])
        sys.stdout.flush()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[:2] == ["1 ${MY_TOKEN}", "2 ${MY_TOKEN}"]
    assert "hunter" not in err
    assert "4 ${MY_TOKEN}" in err
