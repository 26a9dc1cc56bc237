"""The kinds that call a retriever of a library keep the contract, whatever it returns."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import Behaviour, Case, Noticeboard, Plan, cases

ENGINE = """
import os
from types import SimpleNamespace
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
    return [document(row) for row in plan.rows(text)]


def document(row):
    named = {{}} if row.id is Missing else {{"id": row.id}}
    return SimpleNamespace(metadata={{**named, "score": row.score}})

{retriever}
"""

RETRIEVERS = {
    "langchain": """
class Retriever:
    def invoke(self, text):
        return given(text)

    def ainvoke(self, text):
        raise NotImplementedError


retriever = Retriever()
""",
    "llamaindex": """
class Retriever:
    def retrieve(self, text):
        found = given(text)
        return [found_node(d) for d in found] if isinstance(found, list) else found

    def aretrieve(self, text):
        raise NotImplementedError


def found_node(document):
    return SimpleNamespace(node=document, score=document.metadata["score"])


retriever = Retriever()
""",
    "haystack": """
class Pipeline:
    def run(self, inputs, include_outputs_from):
        return {"retriever": {"documents": given(inputs["retriever"]["query"])}}

    def run_async(self, inputs, include_outputs_from):
        raise NotImplementedError


retriever = Pipeline()
""",
}
KEYS: Mapping[str, Mapping[str, Any]] = {
    "langchain": {"id": "metadata.id", "score": "metadata.score"},
    "llamaindex": {"id": "metadata.id"},
    "haystack": {"id": "metadata.id", "score": "metadata.score"},
}
SHOWN = (
    Behaviour.ANSWERS,
    Behaviour.TIED,
    Behaviour.RISING,
    Behaviour.UNSCORED,
    Behaviour.PARTLY_SCORED,
    Behaviour.NUMBER_IDS,
    Behaviour.ECHO,
    Behaviour.EMPTY,
    Behaviour.SLOW,
    Behaviour.FAILS,
    Behaviour.NOTHING,
    Behaviour.WRONG_SHAPE,
    Behaviour.WRONG_TYPE,
    Behaviour.NULL_ID,
    Behaviour.MISSING_ID,
    Behaviour.BOOL_ID,
    Behaviour.FRACTION_ID,
    Behaviour.NESTED_ID,
    Behaviour.NAN_SCORE,
    Behaviour.TEXT_SCORE,
)


class Retriever:
    cannot: Mapping[Behaviour, str] = {
        b: "a retriever returns objects, no text over a wire" for b in Behaviour if b not in SHOWN
    }

    def __init__(self, folder: Path, use: str) -> None:
        self.board = Noticeboard(folder)
        self.use = use
        self.name = f"contract_{abs(hash(folder))}"

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        text = ENGINE.format(folder=str(self.board.folder), retriever=RETRIEVERS[self.use])
        (folder / f"{self.name}.py").write_text(text, encoding="utf-8")
        table = {"use": self.use, "retriever": f"{self.name}:retriever", **KEYS[self.use]}
        return {"subject": table}

    def behave(self, plan: Plan) -> None:
        self.board.behave(plan)

    def received(self) -> Sequence[str]:
        return self.board.received()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    Noticeboard(tmp_path).behave(Plan(Behaviour.ANSWERS))  # what was left waiting ends


@pytest.mark.parametrize("use", sorted(RETRIEVERS))
@pytest.mark.parametrize("case", cases(Retriever))
def test_contract(case: Case, use: str, folder: Path) -> None:
    case(Retriever(folder, use))
