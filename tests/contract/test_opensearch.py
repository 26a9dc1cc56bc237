"""The opensearch kind keeps the contract, singly and in batches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark.testing import TOKEN, Behaviour, MisbehavingServer, Plan, cases

pytest.importorskip("opensearchpy")


class OpenSearch:
    """An engine that speaks the query DSL."""

    cannot: Mapping[Behaviour, str] = {}
    use = "opensearch"

    def __init__(self, server: MisbehavingServer) -> None:
        self.server = server

    def tables(self, folder: Path) -> Mapping[str, Mapping[str, Any]]:
        secret = {"bearer": "${" + TOKEN + "}"}
        table = {"use": self.use, "hosts": self.server.url, "index": "i", "fields": ["text"]}
        return {"subject": {**table, **secret}}

    def behave(self, plan: Plan) -> None:
        self.server.behave(plan)

    def received(self) -> Sequence[str]:
        return self.server.queries()


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("opensearch") as server:
        yield server


@pytest.mark.parametrize("case", cases(OpenSearch))
def test_contract(case: Any, server: MisbehavingServer) -> None:
    case(OpenSearch(server))
