"""The chat kind keeps the contract: what it picks are ids here, also such as are in no catalog."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, MisbehavingServer, ServerSubject, cases

UNSCORED = "a chat model gives no scores"


class Chat(ServerSubject):
    cannot: Mapping[Behaviour, str] = {
        Behaviour.NAN_SCORE: UNSCORED,
        Behaviour.TEXT_SCORE: UNSCORED,
        Behaviour.MISSING_ID: "a list of picks has no place for a pick without an id",
    }


@pytest.fixture(scope="module")
def subject() -> Iterator[Chat]:
    with MisbehavingServer("chat") as server:
        yield Chat(
            server,
            {
                "use": "chat",
                "url": server.url + "/v1",
                "model": "contract",
                "key": "${" + TOKEN + "}",
                "fields": ["text"],
                "answer": "ids",
                "unknown": "keep",
            },
        )


@pytest.mark.parametrize("case", cases(Chat))
def test_contract(case: Any, subject: Chat) -> None:
    case(subject)
