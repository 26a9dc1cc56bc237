"""The rerank kind keeps the contract: the endpoint misbehaves, its first stage gives the ids."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, MisbehavingServer, Noticeboard, Plan, cases
from searchmark.testing.plan import FAILURES

FIRST = """
from searchmark.testing import Noticeboard

board = Noticeboard({folder!r})


def search(text, k):
    return [row.id for row in board.follow(text).rows(text)]
"""

OF_THE_FIRST = "ids come from the first stage, which keeps the contract itself"
ITS_WORK = "reordering by the scores is what a reranker does"


class Rerank:
    cannot: Mapping[Behaviour, str] = {
        **dict.fromkeys(
            (
                Behaviour.NUMBER_IDS,
                Behaviour.NULL_ID,
                Behaviour.MISSING_ID,
                Behaviour.BOOL_ID,
                Behaviour.FRACTION_ID,
                Behaviour.NESTED_ID,
                Behaviour.PARTIAL,
            ),
            OF_THE_FIRST,
        ),
        Behaviour.RISING: ITS_WORK,
    }

    def __init__(self, server: MisbehavingServer, folder: Path) -> None:
        self.server = server
        self.board = Noticeboard(folder)
        self.name = f"contract_{abs(hash(folder))}"

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        text = FIRST.format(folder=str(self.board.folder))
        (folder / f"{self.name}.py").write_text(text, encoding="utf-8")
        endpoint = {"url": self.server.url, "model": "contract", "key": "${" + TOKEN + "}"}
        table = {"use": "rerank", "of": "first", "fields": ["text"], "endpoint": endpoint}
        first = {"use": "python", "callable": f"{self.name}:search"}
        return {"subject": table, "first": first}

    def behave(self, plan: Plan) -> None:
        fails = plan.behaviour in FAILURES
        self.board.behave(Plan(Behaviour.ANSWERS, plan.ids) if fails else plan)
        self.server.behave(plan)

    def received(self) -> Sequence[str]:
        return self.server.queries()


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("rerank") as server:
        yield server


@pytest.mark.parametrize("case", cases(Rerank))
def test_contract(case: Any, server: MisbehavingServer, tmp_path: Path) -> None:
    case(Rerank(server, tmp_path))
