"""The kind python keeps the contract in each of its forms."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import Behaviour, Case, Noticeboard, Plan, cases

ENGINE = """
import asyncio
import os
from searchmark.systems.protocol import Answer, Hit, Query
from searchmark.testing import Behaviour, Noticeboard
from searchmark.testing.plan import Missing

board = Noticeboard({folder!r})


def given(text):
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
    if behaviour is Behaviour.PARTIAL:
        return Answer(tuple(Hit(row.id, row.score) for row in plan.rows(text)), partial=True)
    return [() if row.id is Missing else (row.id, row.score) for row in plan.rows(text)]

{search}
"""

FORMS = {
    "function": """
def search(text, k):
    return given(text)
""",
    "query": """
def search(query: Query, k):
    return given(query.text)
""",
    "async function": """
async def search(text, k):
    return await asyncio.to_thread(given, text)
""",
    "async client": """
class search:
    def __init__(self):
        self.lock = None

    async def __call__(self, text, k):
        self.lock = self.lock or asyncio.Lock()  # which belongs to one loop
        found = await asyncio.to_thread(given, text)
        async with self.lock:
            await asyncio.sleep(0)
        return found

    async def aclose(self):
        await asyncio.sleep(0)
""",
    "batch": """
def search(texts, k):
    return [given(text) for text in texts]
""",
    "async batch": """
async def search(queries: list[Query], k):
    return await asyncio.gather(*(asyncio.to_thread(given, q.text) for q in queries))
""",
}

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
        Behaviour.NUMBER_IDS: "a function can return texts, so that a number is a mistake",
    }

    def __init__(self, folder: Path, form: str) -> None:
        self.board = Noticeboard(folder)
        self.form = form
        self.name = f"contract_{abs(hash(folder))}"

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        text = ENGINE.format(folder=str(self.board.folder), search=FORMS[self.form])
        (folder / f"{self.name}.py").write_text(text, encoding="utf-8")
        is_batch = "batch" in self.form
        table = {"use": "python", "callable": f"{self.name}:search", "batch_form": is_batch}
        return {"subject": table}

    def behave(self, plan: Plan) -> None:
        self.board.behave(plan)

    def received(self) -> Sequence[str]:
        return self.board.received()


@pytest.fixture(params=FORMS)
def subject(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[PythonSubject]:
    subject = PythonSubject(tmp_path, request.param)
    yield subject
    subject.behave(Plan(Behaviour.ANSWERS))  # functions that were left waiting end


@pytest.mark.parametrize("case", cases(PythonSubject))
def test_python(case: Case, subject: PythonSubject) -> None:
    case(subject)
