"""Real programs as systems: what reaches them, what comes back, and what is left behind."""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, SystemFailedError, SystemTimeoutError
from searchmark.systems.command.config import Config
from searchmark.systems.command.pipes import KEPT
from searchmark.systems.command.process import Processes, Program
from searchmark.systems.command.system import open_command
from searchmark.systems.command.warden import MARK
from searchmark.systems.policy import CallPolicy
from searchmark.systems.protocol import Answer, Context, Hit, Query, System
from searchmark.systems.secrets import Secrets

CORPUS = Corpus(pl.DataFrame({"doc_id": ["d1"], "text": ["red"]}))
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"
"""A Python program that prints its arguments as ids."""

INNER = """
from pathlib import Path
from searchmark.systems.command.process import Processes, Program
import os
with Processes() as processes:
    argv = (b"sh", b"-c", b"echo > begun; setsid sleep 60 & sleep 60")
    processes.run(Program(argv, Path.cwd(), os.environ))
"""
"""A program that runs another one as this program does."""

Opened = Callable[..., System]


@pytest.fixture(autouse=True)
def _own_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark what this test starts, as tests beside it start programs too."""
    monkeypatch.setenv(MARK, f"{uuid4().hex}.")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Open a system by its keys; `timeout_s` and `secrets` go to the context."""
    with ExitStack() as stack:

        def open_it(
            timeout_s: float = 20, environment: dict[str, str] | None = None, **keys: Any
        ) -> System:
            calls, secrets = CallPolicy(timeout_s=timeout_s), Secrets(environment)
            context = Context(CORPUS, tmp_path, tmp_path, None, None, calls, secrets)  # type: ignore[arg-type]
            config = Config(**{"ids": "[]", **keys})
            return stack.enter_context(open_command("cli", config, context))

        yield open_it


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def shell(script: str) -> list[str]:
    return ["sh", "-c", script, "sh", "{query}"]


def ids(answer: Answer) -> list[str]:
    return [hit.doc_id for hit in answer.hits]


def ask(system: System, text: str = "red", k: int = 10) -> list[str]:
    return ids(system.search(Query("q1", text), k))


def marked() -> set[int]:
    """Return the processes that a call of this test left: each inherited the mark."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("processes are looked for in /proc")
    found, own = set(), re.compile(f"{MARK}={os.environ[MARK]}[0-9a-f]".encode())
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if own.search(path.read_bytes()) and int(path.parent.name) != os.getpid():
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_reference_that_is_doubled_is_plain_text_as_everywhere(opened: Opened) -> None:
    system = opened(argv=python(ECHO, "{query}", "$${HOME}", "${{HOME}}"), stdin="$${HOME}")
    assert ask(system) == ["red", "${HOME}", "${HOME}"]


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "",
        "-rf",
        "--help",
        'it\'s "quoted" $HOME $(id) `id` ${PATH} \\ *',
        "{query} {k} {{braces}}",
        "'; drop table x; --",
        "two\nlines\tand a tab\r\n",
        "żółw 東京 🐢 \u202e",
        "x" * 100_000,
    ],
)
def test_a_query_reaches_the_program_unharmed(opened: Opened, text: str) -> None:
    system = opened(argv=python(ECHO, "[{query}]", "{k}", "{query_id}", "{{k}}"))
    assert ask(system, text, 7) == [f"[{text}]", "7", "q1", "{k}"]
    code = "import json, sys; print(json.dumps(['[' + sys.stdin.buffer.read().decode()]))"
    assert ask(opened(argv=python(code), stdin="{query}"), text) == [f"[{text}"]


def test_a_query_that_no_command_line_can_hold_is_an_error_of_that_query(opened: Opened) -> None:
    system = opened(argv=python(ECHO, "{query}"))
    with pytest.raises(SystemFailedError, match=r"NUL character.*stdin = "):
        ask(system, "a\0b")
    with pytest.raises(SystemFailedError, match="half a surrogate pair"):
        ask(system, "a\ud800")
    with pytest.raises(SystemFailedError, match=r"half a surrogate pair"):
        ask(system, "a\udc80")  # which Python would pass on as a byte of its own
    with pytest.raises(SystemFailedError, match=r"too long for a command line.*stdin = "):
        ask(system, "x" * 10_000_000)
    assert ask(system, "still there") == ["still there"]


def test_input_may_be_long_and_need_not_be_read(opened: Opened) -> None:
    code = "import json, sys; print(json.dumps([str(len(sys.stdin.read()))]))"
    assert ask(opened(argv=python(code), stdin="{query}"), "x" * 3_000_000) == ["3000000"]
    assert ask(opened(argv=["echo", '["a"]'], stdin="{query}"), "x" * 3_000_000) == ["a"]


def test_without_stdin_a_program_reads_nothing(opened: Opened) -> None:
    assert ask(opened(argv=shell("cat; echo '[]'"))) == []


def test_exit_codes_and_output_make_three_outcomes(opened: Opened) -> None:
    assert ask(opened(argv=shell("echo '[\"a\"]'"))) == ["a"]
    assert ask(opened(argv=shell("echo '[]'"))) == []
    for script, told in [
        ("echo '[]'; exit 3", "ended with exit code 3; it printed '\\[\\]'"),
        ("exit 0", "printed nothing, which is no answer"),
        ("echo oops", "printed no JSON.*it printed 'oops'"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("echo '[\"a\"]' >&2", "printed nothing.*standard error ends '\\[\"a\"\\]'"),
        ("echo '[\"a\"'; echo 'Error: disk' >&2", "no JSON.*standard error ends 'Error: disk'"),
    ]:
        with pytest.raises(SystemFailedError, match=told) as raised:
            ask(opened(argv=shell(script)))
        assert not raised.value.retry
        assert str(raised.value).startswith("`sh -c ")


def test_exit_code_75_asks_to_be_tried_again(opened: Opened) -> None:
    with pytest.raises(SystemFailedError, match="exit code 75") as raised:
        ask(opened(argv=shell("exit 75")))
    assert raised.value.retry


def test_codes_may_stand_for_an_answer_or_for_none(opened: Opened) -> None:
    keys = {"ok_codes": [0, 2], "empty_codes": [1]}
    assert ask(opened(argv=shell("echo '[\"a\"]'; exit 2"), **keys)) == ["a"]
    assert ask(opened(argv=shell("echo; exit 1"), **keys)) == []
    with pytest.raises(SystemFailedError, match="stands for no results, but printed something"):
        ask(opened(argv=shell("echo '[\"a\"]'; exit 1"), **keys))


def test_what_is_printed_for_nothing_found_has_to_be_all_that_is_printed(opened: Opened) -> None:
    keys = {"ids": None, "ids_regex": r"^(\S+)", "empty_regex": "No results.*"}
    assert ask(opened(argv=["printf", "%s", "{query}"], **keys), "\n No results for x\n") == []
    printed = "a\nNo results, a play"
    assert ask(opened(argv=["printf", "%s", "{query}"], **keys), printed) == ["a", "No"]
    with pytest.raises(SystemFailedError, match="printed nothing"):
        ask(opened(argv=["printf", "%s", "{query}"], **keys), "")
    assert ask(opened(argv=["true", "{query}"], **{**keys, "empty_regex": ""})) == []


def test_grep_finds_nothing_something_or_fails(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "titles.txt").write_text("d1 red hat\nd2 -red $hat\nd3 a 'red' \"hat\"\n")
    argv = ["grep", "-F", "-e", "{query}", "--", "titles.txt"]
    system = opened(argv=argv, ids=None, ids_regex=r"^(\S+)", empty_codes=[1], tokens=5)
    assert system.search(Query("q", "red hat"), 9).hits == (Hit("d1", None, 5),)
    assert ask(system, "-red $hat") == ["d2"]
    assert ask(system, "'red' \"hat\"") == ["d3"]
    assert ask(system, "blue") == []
    (tmp_path / "titles.txt").unlink()
    with pytest.raises(SystemFailedError, match=r"exit code 2; standard error ends 'grep: titles"):
        ask(system, "red")


def test_jq_prints_lines_of_json(opened: Opened, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "red"}, {"id": "b", "text": "blue"}, {"id": "c", "text": "red x"}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    program = ".[] | select(.text | contains($q))"
    argv = ["jq", "-c", "--arg", "q", "{query}", program, "rows.json"]
    if shutil.which("jq") is None:  # a stand-in that prints the same
        code = "import json, sys; [print(json.dumps(r)) for r in json.load(open('rows.json'))"
        argv = [*python(f"{code} if sys.argv[1] in r['text']]"), "{query}"]
    system = opened(argv=argv, ids="[].id", output="jsonl", empty_regex="")
    assert ask(system, "red") == ["a", "c"]
    assert ask(system, '") | error("x') == []


def test_a_result_is_counted_as_it_was_printed(opened: Opened) -> None:
    # in WordPiece: { " id " : " a " , " t " : " red hat " } = 1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+2+1+1
    printed = '[{"id": "a", "t": "red hat"}, {"id": "b", "t": ""}]'
    system = opened(argv=["printf", "%s", "{query}"], ids="[].id", tokens="measured")
    assert [h.tokens for h in system.search(Query("q", printed), 9).hits] == [18.0, 16.0]
    assert "tokenizer" in system.identity
    text = opened(
        argv=["printf", "%s", "{query}"], ids=None, ids_regex=r"^\d (\w+)", tokens="measured"
    )
    found = text.search(Query("q", "Found:\n1 a red hat\n   and more\n2 b\n"), 9)
    # "1 a red hat and more" and "2 b": six words and two; the heading is not counted
    assert found.hits == (Hit("a", None, 6.0), Hit("b", None, 2.0))


def test_latency_is_the_time_of_the_process(opened: Opened) -> None:
    answer = opened(argv=shell("sleep 0.3; echo '[]'")).search(Query("q", ""), 1)
    assert answer.latency_ms is not None
    assert answer.latency_ms >= 300


def test_the_environment_is_inherited_added_to_or_clean(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUTSIDE", "o")
    code = (
        "import json, os; print(json.dumps([os.environ.get(n, '-') for n in ('OUTSIDE', 'GIVEN')]))"
    )
    argv = [*python(code), "{query}"]
    given = {"env": {"GIVEN": "<${HIDDEN}>"}, "environment": {"HIDDEN": "hunter22"}}
    assert ask(opened(argv=argv, **given)) == ["o", "<hunter22>"]
    assert ask(opened(argv=argv, clean_env=True, **given)) == ["-", "<hunter22>"]
    with pytest.raises(InputError, match=r"env\.GIVEN needs the environment variable MISSING"):
        opened(argv=argv, env={"GIVEN": "${MISSING}"}, environment={})


def test_no_message_tells_a_secret(opened: Opened) -> None:
    script = 'echo "$TOKEN"; echo "bad $TOKEN" >&2; exit 1'
    keys = {"env": {"TOKEN": "${MINE}"}, "environment": {"MINE": "hunter22hunter22"}}
    with pytest.raises(SystemFailedError) as raised:
        ask(opened(argv=shell(script), **keys))
    assert str(raised.value).endswith("it printed '${MINE}'; standard error ends 'bad ${MINE}'")


def test_the_end_of_standard_error_is_told_on_one_line(opened: Opened) -> None:
    script = "seq 100000 >&2; printf '\\033[31mlast\\033[0m\\nline\\a' >&2; exit 1"
    with pytest.raises(SystemFailedError, match=r"ends '….* 99999 100000 last line ?'$") as raised:
        ask(opened(argv=shell(script)))
    assert len(str(raised.value)) < 300


def test_a_working_folder_and_programs_in_it(opened: Opened, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.mkdir()
    (tool / "find").write_text('#!/bin/sh\nprintf \'["%s"]\' "$(basename "$PWD")"\n')
    (tool / "find").chmod(0o755)
    assert ask(opened(argv=["./find", "{query}"], cwd="tool")) == ["tool"]


def test_what_cannot_be_started_is_wrong_input(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo")
    for keys, told in [
        ({"argv": ["no-such-program-here", "{query}"]}, "not installed"),
        ({"argv": ["plain", "{query}"]}, "write './plain'"),
        ({"argv": ["./plain", "{query}"]}, r"plain: .*may not be executed; chmod \+x"),
        ({"argv": ["./gone", "{query}"]}, "gone: the program of system 'cli' is not there"),
        ({"argv": ["sh", "{query}"], "cwd": "gone"}, r"gone: the folder \(cwd\)"),
        ({"argv": ["sh", "{query}"], "files": ["gone"]}, "gone: a file named under 'files'"),
        ({"argv": ["sh", "{query}"], "files": ["."]}, "is a folder; name the files in it"),
        ({"argv": ["/", "{query}"]}, "/: the program of system 'cli' is a folder"),
    ]:
        if told.startswith("plain") and os.geteuid() == 0:
            continue
        with pytest.raises(InputError, match=told):
            opened(**keys)


def test_a_program_that_goes_or_is_none_is_an_error_of_the_call(
    opened: Opened, tmp_path: Path
) -> None:
    program = tmp_path / "find"
    program.write_text("no program at all")
    program.chmod(0o755)
    system = opened(argv=["./find", "{query}"])
    with pytest.raises(SystemFailedError, match="its first line names none") as raised:
        ask(system)
    assert not raised.value.retry
    program.unlink()
    with pytest.raises(SystemFailedError, match=r"cannot be started \(No such file"):
        ask(system)


def test_another_release_is_another_system(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "find.py").write_text("print('[]')")
    (tmp_path / "index").write_text("1")
    keys: dict[str, Any] = {
        "argv": [sys.executable, "find.py", "{query}"],
        "files": ["index"],
        "version": ["echo", "find 1.2\nof today"],
    }
    before = opened(**keys).identity
    assert set(before) == {"file find.py", "file index", "version"}
    assert before["version"] == "find 1.2"
    assert opened(**keys).identity == before
    (tmp_path / "index").write_text("2")
    assert {n for n, v in opened(**keys).identity.items() if v != before[n]} == {"file index"}
    with pytest.raises(SystemFailedError, match="exit code 1, where a version was asked for"):
        opened(**{**keys, "version": ["false"]})


def test_output_is_bounded(opened: Opened) -> None:
    before = marked()
    for script in ("yes", "yes & wait", "setsid yes & wait"):
        with pytest.raises(SystemFailedError, match=r"more than 100,000 bytes.*max_bytes"):
            ask(opened(argv=shell(script), max_bytes=100_000))
    assert marked() == before
    assert ask(opened(argv=shell("yes | head -c 5000000 >&2; echo '[]'"), timeout_s=60)) == []


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60",
        "sleep 60 & sleep 60 & wait",
        "setsid sleep 60 & wait",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "exec >&- 2>&-; sleep 60",
        "while :; do echo x; sleep 0.05; done",
        "set -m; sleep 60 & sleep 60",
    ],
)
def test_the_time_limit_ends_all_of_it(opened: Opened, script: str) -> None:
    before = marked()
    began = time.monotonic()
    with pytest.raises(SystemTimeoutError, match=r"did not end within 0\.3 s"):
        ask(opened(argv=shell(script), timeout_s=0.3))
    assert time.monotonic() - began < 30  # and not 60: a bound, not a measurement
    assert marked() == before


@pytest.mark.parametrize(
    "left",
    [
        "sleep 60 &",
        "sleep 60 >/dev/null 2>&1 &",
        "setsid sleep 60 &",
        "setsid sh -c 'setsid sleep 60 & sleep 60' &",
        "(trap '' TERM HUP; sleep 60) &",
        "nohup sleep 60 >/dev/null 2>&1 &",
    ],
)
def test_children_that_are_left_are_ended_and_hold_nothing_up(opened: Opened, left: str) -> None:
    before = marked()
    began = time.monotonic()
    assert ask(opened(argv=shell(f"{left} echo '[\"a\"]'"))) == ["a"]
    assert time.monotonic() - began < 30
    assert marked() == before


def test_what_begins_others_without_end_is_ended(opened: Opened) -> None:
    before = marked()
    chain = "setsid sh -c 'i=0; while [ $i -lt 2000 ]; do setsid sleep 60 & i=$((i+1)); done' &"
    assert ask(opened(argv=shell(f"{chain} sleep 0.1; echo '[]'"))) == []
    assert marked() == before


def test_calls_at_once_do_not_mix_and_leave_no_descriptor_open(opened: Opened) -> None:
    code = "import json, sys; print(json.dumps([sys.argv[1], sys.stdin.read()]))"
    system = opened(argv=python(code, "{query}"), stdin="{query}" * 20_000)
    ask(system)
    before = len(list(Path("/dev/fd").iterdir()))
    threads = threading.active_count()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: ask(system, f"q{i};"), range(64)))
    assert answers == [[f"q{i};", f"q{i};" * 20_000] for i in range(64)]
    for _ in range(50):
        with pytest.raises(SystemFailedError):
            ask(system, "a\0")
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert threading.active_count() == threads


def test_closing_ends_calls_that_are_under_way(opened: Opened, tmp_path: Path) -> None:
    before = marked()
    context = Context(CORPUS, tmp_path, tmp_path, None, calls=CallPolicy(timeout_s=60))  # type: ignore[arg-type]
    config = Config(argv=shell("echo > begun; sleep 60"), ids="[]")
    raised: list[BaseException] = []

    def call(system: System) -> None:
        try:
            ask(system)
        except SystemFailedError as error:
            raised.append(error)

    with open_command("cli", config, context) as system:
        thread = threading.Thread(target=call, args=(system,))
        thread.start()
        until = time.monotonic() + 20
        while not (tmp_path / "begun").exists() and time.monotonic() < until:
            time.sleep(0.01)
    thread.join(30)
    assert "was ended, as the run was" in str(raised[0])
    assert marked() == before
    with pytest.raises(SystemFailedError, match="after it had been closed"):
        ask(system)
    assert marked() == before


def test_exit_codes_that_cannot_be_had_are_never_taken_for_success(opened: Opened) -> None:
    system = opened(argv=shell("echo '[]'; exit 3"))
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(SystemFailedError, match="exit code was taken by somebody else"):
            ask(system)
        with pytest.raises(InputError, match="SIGCHLD is ignored"):
            opened(argv=shell("echo '[]'; exit 3"))
    finally:
        signal.signal(signal.SIGCHLD, before)
    with pytest.raises(SystemFailedError, match="exit code 3"):
        ask(system)


def test_a_search_inside_a_search_is_ended_with_it(opened: Opened, tmp_path: Path) -> None:
    before = marked()
    (tmp_path / "inner.py").write_text(INNER)
    script = '"$0" inner.py & while [ ! -e begun ]; do sleep 0.05; done; echo "[]"'
    assert ask(opened(argv=["sh", "-c", script, sys.executable, "{query}"])) == []
    assert marked() == before


def test_a_program_has_a_session_of_its_own_and_no_terminal(opened: Opened) -> None:
    code = "import os; print(['no', 'yes'][os.getsid(0) == os.getpgid(0) == os.getpid()])"
    system = opened(argv=[*python(code), "{query}"], ids=None, ids_regex="(yes|no)")
    assert ask(system) == ["yes"]


def test_of_standard_error_only_the_end_is_kept(tmp_path: Path) -> None:
    with Processes() as processes:
        script = b"head -c 1000000 /dev/zero >&2; printf end >&2; printf out"
        finished = processes.run(Program((b"sh", b"-c", script), tmp_path, os.environ))
    assert finished.code == 0
    assert finished.stdout == b"out"
    assert finished.stderr == bytes(KEPT - 3) + b"end"
