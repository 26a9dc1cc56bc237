"""The http kind keeps the contract, by GET with parameters and by POST with a JSON body."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, MisbehavingServer, Plan, cases

READ = {"ids": "hits[].id", "scores": "hits[].score", "partial": "partial", "total": "total"}
SECRET = {"bearer": "${" + TOKEN + "}"}


class Http:
    """An engine that answers JSON over HTTP."""

    cannot: Mapping[Behaviour, str] = {}
    request: Mapping[str, Any] = {"params": {"q": "{query}"}}

    def __init__(self, server: MisbehavingServer) -> None:
        self.server = server

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        table = {"use": "http", "url": self.server.url + "/search", **READ, **SECRET}
        return {"subject": {**table, **self.request}}

    def behave(self, plan: Plan) -> None:
        self.server.behave(plan)

    def received(self) -> Sequence[str]:
        return self.server.queries()


class Posted(Http):
    """The same, asked by a JSON body."""

    request: Mapping[str, Any] = {"body": {"q": "{query}", "size": "{k}"}}


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("json") as server:
        yield server


@pytest.mark.parametrize("case", cases(Http))
def test_contract(case: Any, server: MisbehavingServer) -> None:
    case(Http(server))


@pytest.mark.parametrize("case", cases(Posted))
def test_contract_with_a_body(case: Any, server: MisbehavingServer) -> None:
    case(Posted(server))
