"""The kind command keeps the contract: a program that prints JSON, and one that prints text."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, Case, Noticeboard, Plan, cases

ENGINE = """
import json, os, sys, time
from searchmark.testing import Behaviour, Noticeboard
from searchmark.testing.plan import Missing

CODES = {"bad_request": 64, "not_found": 66, "unavailable": 75, "forbidden": 77, "fails": 1}


def as_json(rows, partial):
    hits = [
        {k: v for k, v in (("id", r.id), ("score", r.score)) if v is not Missing} for r in rows
    ]
    return json.dumps({"hits": hits, "partial": partial})


def as_text(rows, partial):
    lines = [f"{r.id} {'-' if r.score is None else r.score}" for r in rows]
    return "\\n".join(lines or ["nothing found"]) + "\\n"


def answer(board, text, write):
    plan = board.follow(text)
    behaviour = plan.behaviour
    if behaviour in CODES:  # with what would be a whole answer
        print(write([], False))
        secret = os.environ["TOKEN"]
        print("refused:", secret, "-" * 1000, secret, "\\nbye", secret, file=sys.stderr)
        sys.exit(CODES[behaviour])
    other = {"html": "<html>log in</html>", "wrong_shape": '{"error": "down"}', "nothing": "",
             "wrong_type": '{"hits": "none"}', "broken_json": "{'hits': [}"}
    if behaviour in other:
        return print(other[behaviour])
    printed = write(plan.rows(text), behaviour is Behaviour.PARTIAL)
    if behaviour is Behaviour.HUGE:
        print(" " * 12_000_000)
    if behaviour is Behaviour.TRUNCATED_JSON:
        printed = printed[: len(printed) // 2]
    if behaviour is Behaviour.SLOW:
        board.wait()
    if behaviour is Behaviour.STALL:
        print(printed[: len(printed) // 2], flush=True)
        board.wait()
    if behaviour is Behaviour.TRICKLE:
        for _ in range(1200):
            print(" ", end="", flush=True)
            time.sleep(0.05)
    print(printed, end="")


sys.stdin.reconfigure(encoding="utf-8", newline="")
board, form = Noticeboard(sys.argv[1]), sys.argv[2]
text = sys.argv[3] if len(sys.argv) > 3 else sys.stdin.read()
answer(board, text, as_json if form == "json" else as_text)
"""

B = Behaviour
WIRE = "a program is run, nothing goes over a wire"
TEXT = "text has words where JSON has kinds of values"


class Json:
    """A program that is given the query as an argument and prints JSON."""

    cannot: Mapping[Behaviour, str] = {
        **dict.fromkeys((B.REFUSED, B.CUT_EARLY, B.CUT_LATE, B.CUT_CHUNKS, B.RESET), WIRE),
        **dict.fromkeys((B.TOO_MANY, B.TOO_MANY_DATE, B.ERROR_500), WIRE),
    }
    given: Mapping[str, Any] = {
        "argv": [sys.executable, "engine.py", "{board}", "json", "{query}"],
        "ids": "hits[].id",
        "scores": "hits[].score",
        "partial": "partial",
    }

    def __init__(self, folder: Path) -> None:
        self.board = Noticeboard(folder)

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        (folder / "engine.py").write_text(ENGINE, encoding="utf-8")
        argv = [part.replace("{board}", str(self.board.folder)) for part in self.given["argv"]]
        env = {"TOKEN": "${" + TOKEN + "}"}
        return {"subject": {"use": "command", **self.given, "argv": argv, "env": env}}

    def behave(self, plan: Plan) -> None:
        self.board.behave(plan)

    def received(self) -> Sequence[str]:
        return self.board.received()


class Text(Json):
    """A program that is given the query on standard input and prints lines."""

    cannot: Mapping[Behaviour, str] = {
        **Json.cannot,
        **dict.fromkeys((B.TRUNCATED_JSON, B.MISSING_ID, B.NULL_ID, B.BOOL_ID), TEXT),
        **dict.fromkeys((B.NESTED_ID, B.FRACTION_ID), TEXT),
        B.PARTIAL: "ids, scores and tokens are all that is read from text",
    }
    given: Mapping[str, Any] = {
        "argv": [sys.executable, "engine.py", "{board}", "text"],
        "stdin": "{query}",
        "ids_regex": r"^(?P<id>.+) (?:-|(?P<score>[\w.+-]+))$",
        "empty_regex": "nothing found",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    Noticeboard(tmp_path).behave(Plan(Behaviour.ANSWERS))


@pytest.mark.parametrize("case", cases(Json))
def test_json(case: Case, folder: Path) -> None:
    case(Json(folder))


# what the way of reading has no part in was shown with the other program
READING = [c for c in cases(Text) if not c.name.startswith(("run_", "leaves_", "threads_"))]


@pytest.mark.parametrize("case", READING)
def test_text(case: Case, folder: Path) -> None:
    case(Text(folder))
