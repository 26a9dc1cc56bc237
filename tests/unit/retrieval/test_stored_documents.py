"""What is told of a document that PostgreSQL cannot hold, whatever its id is made of."""

from typing import Any

import pytest

pytest.importorskip("psycopg_pool")

from searchmark.errors import InputError
from searchmark.retrieval.layout import Layout
from searchmark.retrieval.postgres.documents import LONGEST_ID, prepare

ODD = "a\nb\x1b[2J" + "x" * 1900
"""A line end, what clears a screen, and more than a message shows."""

SHOWN = r"'a b\x1b[2J" + "x" * 69 + "…'"
"""Ten signs, 69 and the last one are 80."""

WORDS = " ".join(f"{i:x}" * 25 for i in range(0x1000, 0x1000 + 10_000))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"description": "x\0y"}, "has a NUL character"),
        ({"description": "\ud800"}, "holds what JSON cannot"),
        ({"description": WORDS}, "has more different words"),
        ({"settlement_count": -1}, "has settlement_count -1"),
        ({"last_updated": "yesterday"}, "has last_updated 'yesterday'"),
    ],
)
def test_an_odd_id_is_told_on_one_short_line(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        prepare({"doc_id": ODD, **fields}, Layout())
    assert str(caught.value).startswith(f"the document {SHOWN} {told}")


def test_an_id_that_is_too_long_is_told_short() -> None:
    doc_id = ODD + "x" * LONGEST_ID
    with pytest.raises(InputError) as caught:
        prepare({"doc_id": doc_id}, Layout())
    n = len(doc_id.encode())
    assert str(caught.value).startswith(f"the id {SHOWN} has {n:,} bytes, more than the 2,000")
