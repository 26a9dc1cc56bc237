"""What a server says that a call cost is taken only where it can be a count."""

from types import SimpleNamespace
from typing import Any

import pytest

from searchmark.systems.completion import complete


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 45}, 45.0),
        ({"total_tokens": 0}, 0.0),
        ({"total_tokens": -1}, None),
        ({"total_tokens": 10**400}, None),
        ({"total_tokens": 10**13}, None),
        ({"total_tokens": 4.5}, None),
        ({"total_tokens": True}, None),
        ({"total_tokens": "45"}, None),
        ({}, None),
        ([45], None),
    ],
)
def test_tokens(usage: Any, tokens: float | None) -> None:
    document = {"choices": [{"message": {"content": "[1]"}}], "usage": usage}
    api: Any = SimpleNamespace(post=lambda _: (document, 100))
    said = complete(api, {})
    assert (said.content, said.tokens, said.size, said.is_cut) == ("[1]", tokens, 100, False)
