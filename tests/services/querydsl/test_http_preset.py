"""The presets `opensearch` and `elasticsearch` of HTTP against stand-ins that are real servers."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import SystemFailedError
from searchmark.systems.http.config import Config
from searchmark.systems.pool import Pool
from searchmark.systems.protocol import Entry, Query

CORPUS = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
DOCUMENTS = {
    "once": {"title": "blue", "text": "a boat that is red"},
    "twice": {"title": "red", "text": "red"},
    "never": {"title": "green", "text": "a boat"},
}


@pytest.fixture(params=["opensearch", "elasticsearch"])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pool]:
    url: str = request.getfixturevalue(f"{request.param}_url")
    lines = [
        json.dumps(line)
        for doc_id, document in DOCUMENTS.items()
        for line in ({"index": {"_index": "http-preset", "_id": doc_id}}, document)
    ]
    data = ("\n".join(lines) + "\n").encode()
    headers = {"Content-Type": "application/x-ndjson"}
    with urlopen(Request(f"{url}/_bulk?refresh=true", data, headers)) as answer:
        assert json.load(answer)["errors"] is False
    table = {"preset": request.param, "base": url, "fields": ["title^2", "text"]}
    entries = {
        name: Entry(name, "http", msgspec.convert({**table, "index": index}, Config))
        for name, index in {"there": "http-preset", "not": "no-such-index"}.items()
    }
    with Pool(entries, CORPUS, folder=tmp_path, cache=tmp_path) as pool:
        yield pool


def test_a_preset_searches_a_real_server(pool: Pool) -> None:
    there = pool.open("there")
    answer = there.search(Query("q", "red"), 10)
    assert [hit.doc_id for hit in answer.hits] == ["twice", "once"]
    scores = [hit.score or 0.0 for hit in answer.hits]
    assert scores[0] > scores[1] > 0
    assert (answer.total, answer.partial) == (2, False)
    assert [h.doc_id for h in there.search(Query("q", "red"), 1).hits] == ["twice"]
    assert there.search(Query("q", "purple"), 10).hits == ()
    odd = there.search(Query("q", '"boat" {query} AND ) \\ \n $k'), 10)
    assert {hit.doc_id for hit in odd.hits} == {"once", "never"}
    with pytest.raises(SystemFailedError, match=r"404 Not Found.*no.such.index"):
        pool.open("not").search(Query("q", "red"), 10)
