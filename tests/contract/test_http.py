"""The http kind keeps the contract, by GET with parameters and by POST with a JSON body."""

from collections.abc import Iterator
from typing import Any

import pytest

from searchmark.testing import TOKEN, MisbehavingServer, ServerSubject, cases

READ = {"ids": "hits[].id", "scores": "hits[].score", "partial": "partial", "total": "total"}
SECRET = {"bearer": "${" + TOKEN + "}"}

REQUESTS = {
    "parameters": {"params": {"q": "{query}"}},
    "a body": {"body": {"q": "{query}", "size": "{k}"}},
}


@pytest.fixture(scope="module")
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer("json") as server:
        yield server


@pytest.mark.parametrize("request_by", REQUESTS)
@pytest.mark.parametrize("case", cases(ServerSubject))
def test_contract(case: Any, request_by: str, server: MisbehavingServer) -> None:
    table = {"use": "http", "url": server.url + "/search", **READ, **SECRET}
    case(ServerSubject(server, {**table, **REQUESTS[request_by]}))
