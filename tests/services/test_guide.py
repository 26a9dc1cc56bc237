"""The guided session in a pseudo-terminal: typed through, killed in the middle, resumed."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

CODE = "import os; os.open(os.ttyname(0), os.O_RDWR); from searchmark.cli.main import main; main()"
"""Opening the terminal makes it the one whose Ctrl-C reaches the process."""

COMMAND = [sys.executable, "-c", CODE, "guide"]

PATIENCE = 30
"""Seconds after which a screen that does not change fails a test."""

DOCUMENTS = {
    "d01": ("Weather forecast", "Hourly temperature and rain for any city."),
    "d02": ("Currency converter", "Exchange rates of banks for a hundred currencies."),
    "d03": ("Address checker", "Validates postal addresses and completes missing parts."),
    "d04": ("Language detector", "Tells which language a short text is written in."),
    "d05": ("Air quality", "Ozone and dust measured near any city, with weather."),
    "d06": ("Train timetable", "Departures and delays of trains at every station."),
    "d07": ("Recipe finder", "Finds recipes by what is left in the fridge."),
    "d08": ("Flight delays", "Predicts late flights from weather and past delays."),
    "d09": ("Ski report", "Snow depth and avalanche danger of mountain resorts."),
    "d10": ("Tide table", "High and low water at harbours for the coming year."),
    "d11": ("Translation", "Translates documents between languages."),
    "d12": ("Stock quotes", "Prices of shares on many exchanges."),
}
QUERIES = ("weather", "delays", "language")
POOLED = {"q1": {"d01", "d05", "d08"}, "q2": {"d06", "d08"}, "q3": {"d04", "d11"}}
"""The documents that hold the query's word in any inflection: worked out by reading them."""


class Terminal:
    """A process in a pseudo-terminal: what it shows is gathered, keys are sent to it."""

    def __init__(self, arguments: Sequence[str], *, columns: int = 80, **environment: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", **environment},
        )
        os.close(slave)
        self.seen = ""
        self._from = 0

    def wait_for(self, text: str) -> str:
        """Read until `text` is shown, and return what came since the last wait."""
        deadline = time.monotonic() + PATIENCE
        while (at := self.seen.find(text, self._from)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in {self.seen[self._from :]!r}"
            assert self._read(), f"it ended without {text!r}: {self.seen[self._from :]!r}"
        found = self.seen[self._from : at + len(text)]
        self._from = at + len(text)
        return found

    def send(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL

    def finish(self) -> int:
        """Read until it ends, and return the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        if not select.select([self.master], [], [], PATIENCE)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(*arguments: str, columns: int = 80, **environment: str) -> Iterator[Terminal]:
    opened = Terminal(arguments, columns=columns, **environment)
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.process.kill()
            opened.process.wait()
        os.close(opened.master)


def write_documents(folder: Path) -> Path:
    path = folder / "docs.jsonl"
    rows = [{"id": i, "title": t, "text": x} for i, (t, x) in DOCUMENTS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judgments(folder: Path) -> dict[tuple[str, str], int]:
    lines = (folder / "guide-judgments.jsonl").read_text().splitlines()
    return {(e["query_id"], e["doc_id"]): e["grade"] for e in map(json.loads, lines)}


def judge(screen: Terminal, where: str, key: str) -> tuple[str, str]:
    """Wait for a document, answer it, and return the query's text and the document's id."""
    screen.wait_for(where)
    shown = screen.wait_for("rubric\n")
    found = re.search(r"Query: (.*)\nDocument: .*\((d\d+)\)\n", shown)
    assert found, shown
    assert all(word in shown for word in ("Intent:", "Content:", "Click:", "3 perfect"))
    screen.send(key)
    return found[1], found[2]


def answer_first_steps(screen: Terminal, documents: Path) -> None:
    """Say where the documents are, at the second try, and type the queries."""
    screen.wait_for("Where are your documents?")
    screen.wait_for("> ")
    screen.send("nowhere.jsonl\n")
    screen.wait_for("no such file")
    screen.send(f"{documents}\n")
    screen.wait_for("12 documents")
    screen.wait_for("What do people search for?")
    screen.wait_for("> ")
    screen.send("t\n")
    for number, text in enumerate(QUERIES, 1):
        screen.wait_for(f"Query {number}\n> ")
        screen.send(f"{text}\n")
    screen.wait_for("Query 4\n> ")
    screen.send("\n")
    screen.wait_for("3 queries written")
    screen.wait_for("systems keyword")


def read_results(screen: Terminal) -> None:
    """Read the table and the verdict, and end."""
    screen.wait_for("Step 6 of 8, metrics")
    screen.wait_for("mean over 3 queries")
    screen.wait_for("Step 7 of 8, findings")
    screen.wait_for("Good enough to ship")
    screen.wait_for("Step 8 of 8, next")
    screen.wait_for("any other key ends here.")
    screen.send("\n")


def test_a_session_is_killed_while_judging_and_goes_on(tmp_path: Path) -> None:
    documents = write_documents(tmp_path)
    folder = tmp_path / "first"
    ids = {text: f"q{n}" for n, text in enumerate(QUERIES, 1)}
    typed: dict[tuple[str, str], int] = {}

    def note(shown: tuple[str, str], grade: int) -> None:
        typed[ids[shown[0]], shown[1]] = grade

    with terminal(str(folder), "--no-dense") as screen:
        answer_first_steps(screen, documents)
        note(judge(screen, "query 1 of 3, document 1 of 3", "3"), 3)
        note(judge(screen, "query 1 of 3, document 2 of 3", "1"), 1)
        note(judge(screen, "query 1 of 3, document 3 of 3", "0"), 0)
        screen.wait_for("query 2 of 3, document 1 of 2")
        screen.kill()

    assert judgments(folder) == typed
    assert len(typed) == 3
    assert {d for _, d in typed} == POOLED["q1"]

    with terminal(str(folder)) as screen:
        screen.wait_for("Going on with step 5 of 8, judge: 3 of 7 documents done, 4 to go.")
        note(judge(screen, "query 2 of 3, document 1 of 2", "x2"), 2)  # x is no key
        judge(screen, "query 2 of 3, document 2 of 2", "\x1b[A0")  # nor is an arrow
        screen.wait_for("query 3 of 3, document 1 of 2")
        screen.send("u")
        note(judge(screen, "query 2 of 3, document 2 of 2", "3"), 3)
        note(judge(screen, "query 3 of 3, document 1 of 2", "3"), 3)
        judge(screen, "query 3 of 3, document 2 of 2", "s")
        screen.wait_for("That was the last document")
        screen.send("\n")
        read_results(screen)
        assert screen.finish() == 0

    assert len(typed) == 6
    rows = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    assert {(q, d): int(g) for q, d, g in rows} == typed


def test_q_leaves_and_a_narrow_dumb_terminal_gets_plain_text(tmp_path: Path) -> None:
    documents = write_documents(tmp_path)
    queries = tmp_path / "asked.txt"
    queries.write_text("weather\n\nlanguage\n")
    arguments = (str(tmp_path / "a"), "--documents", str(documents), "--queries", str(queries))
    with terminal(*arguments, "--no-dense", columns=40, TERM="dumb") as screen:
        judge(screen, "query 1 of 2, document 1 of 3", "q")
        screen.wait_for("Left, with everything kept.")
        assert screen.finish() == 0
        assert "\x1b" not in screen.seen
        assert max(map(len, screen.seen.replace("\r", "\n").split("\n"))) <= 40 + len(str(tmp_path))
    assert (tmp_path / "a" / "qrels.tsv").read_text() == "query_id\tdoc_id\tgrade\n"


def test_ctrl_c_ends_a_question_too(tmp_path: Path) -> None:
    with terminal(str(tmp_path / "a")) as screen:
        screen.wait_for("> ")
        time.sleep(0.2)  # until it waits: only then is there something to interrupt
        screen.send("\x03")
        assert screen.finish() == 130


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 0)])
def test_ctrl_c_and_ctrl_d_keep_what_was_judged(tmp_path: Path, key: str, code: int) -> None:
    documents = write_documents(tmp_path)
    folder = tmp_path / "a"
    with terminal(
        str(folder), "--documents", str(documents), "--generate", "4", "--no-dense"
    ) as screen:
        screen.wait_for("? rubric\n")
        screen.send("2")
        screen.wait_for("? rubric\n")
        time.sleep(0.2)
        screen.send(key)
        assert screen.finish() == code
        assert "Traceback" not in screen.seen
    assert [*judgments(folder).values()] == [2]
    assert (folder / "qrels.tsv").read_text().count("\t2\n") == 1


def test_skipped_documents_come_back_when_they_are_asked_for(tmp_path: Path) -> None:
    documents = write_documents(tmp_path)
    folder = tmp_path / "a"
    queries = tmp_path / "asked.txt"
    queries.write_text("weather\nlanguage\n")
    given = ("--documents", str(documents), "--queries", str(queries), "--no-dense")
    with terminal(str(folder), *given) as screen:
        judge(screen, "query 1 of 2, document 1 of 3", "3")
        judge(screen, "query 1 of 2, document 2 of 3", "n")
        judge(screen, "query 2 of 2, document 1 of 2", "n")
        screen.wait_for("That was the last document")
        screen.send("\n")
        screen.wait_for("mean over 1 query")
        screen.wait_for("any other key ends here.")
        screen.send("\n")
        assert screen.finish() == 0
    with terminal(str(folder), "--restart-step", "judge") as screen:
        screen.wait_for(
            "Going on with step 4 of 8, run"
        )  # answers are kept until there are metrics
        judge(screen, "query 1 of 2, document 2 of 3", "q")
        assert screen.finish() == 0
    assert len((folder / "qrels.tsv").read_text().splitlines()) == 2


LONG = "A long text about weather. " * 400
PROJECT = """
corpus = "docs.jsonl"
queries = "queries.csv"
qrels = "judged.txt"
measures = ["nDCG@3"]

[systems.words]
use = "bm25"
"""


def test_a_project_that_is_there_already_is_offered_and_a_long_document_shown_in_parts(
    tmp_path: Path,
) -> None:
    rows = [{"id": "d01", "title": "Old", "text": "weather"}, {"id": "d02", "text": LONG}]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.csv").write_text("query_id,text\nq1,weather\n")
    (tmp_path / "judged.txt").write_text("q1 0 d01 3\n")
    (tmp_path / "searchmark.toml").write_text(PROJECT)
    with terminal(str(tmp_path)) as screen:
        screen.wait_for("There is a project here already")
        screen.wait_for("> ")
        screen.send("\n")
        screen.wait_for("(d02)")
        first = screen.wait_for("more lines: space shows them")
        screen.wait_for("rubric\n")
        screen.send(" ")
        second = screen.wait_for("more lines: space shows them")
        left = [int(re.findall(r"(\d+) more lines", part)[-1]) for part in (first, second)]
        assert left[1] < left[0]
        screen.send("0")
        screen.wait_for("That was the last document")
        screen.send("u")
        judge(screen, "query 1 of 1, document", "2")
        screen.wait_for("That was the last document")
        screen.send("\n")
        screen.wait_for("any other key ends here.")
        screen.send("\n")
        assert screen.finish() == 0
    assert (tmp_path / "judged.txt").read_text() == "q1 0 d01 3\nq1 0 d02 2\n"
