"""The chat kind keeps the contract: what it picks are ids here, also such as are in no catalog."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, MisbehavingServer, Plan, cases

UNSCORED = "a chat model gives no scores"


class Chat:
    cannot: Mapping[Behaviour, str] = {
        Behaviour.NAN_SCORE: UNSCORED,
        Behaviour.TEXT_SCORE: UNSCORED,
        Behaviour.MISSING_ID: "a list of picks has no place for a pick without an id",
    }

    def __init__(self, server: MisbehavingServer) -> None:
        self.server = server

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        table = {
            "use": "chat",
            "url": self.server.url + "/v1",
            "model": "contract",
            "key": "${" + TOKEN + "}",
            "fields": ["text"],
            "answer": "ids",
            "unknown": "keep",
        }
        return {"subject": table}

    def behave(self, plan: Plan) -> None:
        self.server.behave(plan)

    def received(self) -> Sequence[str]:
        return self.server.queries()


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("chat") as server:
        yield server


@pytest.mark.parametrize("case", cases(Chat))
def test_contract(case: Any, server: MisbehavingServer) -> None:
    case(Chat(server))
