"""The kind python keeps the contract; and a run file, as far as the contract is about it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import Behaviour, Case, Noticeboard, Plan, cases

ENGINE = """
import os
from searchmark.testing import Behaviour, Noticeboard
from searchmark.testing.plan import Missing

board = Noticeboard({folder!r})


def search(text, k):
    plan = board.follow(text)
    behaviour = plan.behaviour
    if behaviour is Behaviour.SLOW:
        board.wait()
    if behaviour is Behaviour.FAILS:
        raise ValueError("refused " + os.environ["SEARCHMARK_CONTRACT_TOKEN"] * 20)
    if behaviour is Behaviour.NOTHING:
        return None
    if behaviour is Behaviour.WRONG_TYPE:
        return "none"
    if behaviour is Behaviour.WRONG_SHAPE:
        return {{"error": "not ready"}}
    return [() if row.id is Missing else (row.id, row.score) for row in plan.rows(text)]
"""

WIRE = "a function is called, nothing goes over a wire"
TEXT = "a function returns objects, no text that is parsed"


class PythonSubject:
    cannot: Mapping[Behaviour, str] = {
        **dict.fromkeys(
            (
                Behaviour.REFUSED,
                Behaviour.CUT_EARLY,
                Behaviour.CUT_LATE,
                Behaviour.CUT_CHUNKS,
                Behaviour.RESET,
                Behaviour.STALL,
                Behaviour.TRICKLE,
                Behaviour.TOO_MANY,
                Behaviour.TOO_MANY_DATE,
                Behaviour.ERROR_500,
                Behaviour.UNAVAILABLE,
                Behaviour.BAD_REQUEST,
                Behaviour.FORBIDDEN,
                Behaviour.NOT_FOUND,
            ),
            WIRE,
        ),
        **dict.fromkeys(
            (
                Behaviour.HUGE,
                Behaviour.BROKEN_JSON,
                Behaviour.TRUNCATED_JSON,
                Behaviour.HTML,
            ),
            TEXT,
        ),
        Behaviour.PARTIAL: "ids and scores are all that a function returns",
        Behaviour.NUMBER_IDS: "a function can return texts, so that a number is a mistake",
    }

    def __init__(self, folder: Path) -> None:
        self.board = Noticeboard(folder)
        self.name = f"contract_{abs(hash(folder))}"

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        text = ENGINE.format(folder=str(self.board.folder))
        (folder / f"{self.name}.py").write_text(text, encoding="utf-8")
        return {"subject": {"use": "python", "callable": f"{self.name}:search"}}

    def behave(self, plan: Plan) -> None:
        self.board.behave(plan)

    def received(self) -> Sequence[str]:
        return self.board.received()


@pytest.fixture
def subject(tmp_path: Path) -> Iterator[PythonSubject]:
    subject = PythonSubject(tmp_path)
    yield subject
    subject.behave(Plan(Behaviour.ANSWERS))  # functions that were left waiting end


@pytest.mark.parametrize("case", cases(PythonSubject))
def test_python(case: Case, subject: PythonSubject) -> None:
    case(subject)
