"""The elasticsearch kind keeps the contract, singly and in batches."""

from collections.abc import Iterator
from typing import Any

import pytest

from searchmark.testing import TOKEN, MisbehavingServer, ServerSubject, cases

pytest.importorskip("elasticsearch")


@pytest.fixture(scope="module")
def subject() -> Iterator[ServerSubject]:
    with MisbehavingServer("opensearch") as server:
        yield ServerSubject(
            server,
            {
                "use": "elasticsearch",
                "hosts": server.url,
                "index": "i",
                "fields": ["text"],
                "bearer": "${" + TOKEN + "}",
            },
        )


@pytest.mark.parametrize("case", cases(ServerSubject))
def test_contract(case: Any, subject: ServerSubject) -> None:
    case(subject)
