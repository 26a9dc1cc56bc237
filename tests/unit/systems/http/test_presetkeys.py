"""Keys that stand for parts of a preset are needed where the request holds them, and only there."""

from pathlib import Path
from typing import Any

import pytest

from searchmark.errors import InputError, Problem
from searchmark.project.entries import decode_systems
from searchmark.systems.http.adapter import read_template
from searchmark.systems.http.config import Config, settle

UNUSED = "is used nowhere: no part of the request holds {{{}}}"


def problems(preset: str, **keys: Any) -> dict[str, str]:
    table = {"use": "http", "preset": preset, "base": "http://h", **keys}
    found: list[Problem] = []
    decode_systems({"a": {k: v for k, v in table.items() if v is not None}}, found)
    return {p.key.removeprefix("systems.a."): p.message for p in found}


@pytest.mark.parametrize("preset", ["vespa", "qdrant", "searchmark"])
def test_fields_are_told_where_the_preset_has_none(preset: str) -> None:
    keys = {} if preset == "searchmark" else {"index": "shop"}
    model = {"model": "all-MiniLM-L6-v2"} if preset == "qdrant" else {}
    assert problems(preset, **keys, **model) == {}
    assert problems(preset, **keys, **model, fields=["title"]) == {
        "fields": UNUSED.format("fields")
    }


def test_an_index_is_told_where_the_request_has_none() -> None:
    assert problems("searchmark", index="shop") == {"index": UNUSED.format("index")}
    address = {"base": None, "url": "http://h/own/_search"}
    assert problems("opensearch", **address) == {}
    assert problems("opensearch", **address, index="shop") == {"index": UNUSED.format("index")}
    own = {"body": {"yql": "select * from product where userQuery()"}}
    assert problems("vespa", **own) == {}
    assert problems("vespa", **own, index="product") == {"index": UNUSED.format("index")}


def test_what_a_body_replaces_takes_the_fields_with_it() -> None:
    keys = {"index": "shop", "fields": ["title^2"]}
    assert problems("opensearch", **keys, body={"size": 20}) == {}
    phrase = {"query": {"match_phrase": {"title": "{query}"}}}
    assert problems("opensearch", **keys, body=phrase) == {"fields": UNUSED.format("fields")}
    held = {"query": {"simple_query_string": {"query": "{query}", "fields": "{fields}"}}}
    assert problems("opensearch", **keys, body=held) == {}
    assert problems("typesense", **keys, params={"query_by": "title"}) == {
        "fields": UNUSED.format("fields")
    }
    assert problems("typesense", index="shop", params={"query_by": "title"}) == {}


def test_a_base_beside_a_url_is_told() -> None:
    assert problems("solr", url="http://h/solr/{index}/select", index="shop") == {
        "base": "is used nowhere: url is the whole address"
    }


def test_a_part_that_is_written_and_not_given_is_missing() -> None:
    address = {"base": None, "url": "http://h/{index}/search?q={query}"}
    assert problems("searchmark", **address) == {"index": "is missing"}
    assert problems("vespa", **address, body={"yql": "x"}) == {"index": "is missing"}
    body = {"query": {"multi_match": {"query": "{query}", "fields": ["{fields_by_comma}"]}}}
    assert problems("elasticsearch", index="shop", body=body) == {"fields": "is missing"}


@pytest.mark.parametrize(
    ("keys", "text", "told"),
    [
        ({"index": "shop", "fields": ["title"]}, '{"q": "{query}"}', "fields: is used nowhere"),
        ({"index": "shop"}, '{"q": "{query}", "in": "{fields}"}', "fields: is missing"),
    ],
)
def test_a_body_file_is_held_to_the_same(
    tmp_path: Path, keys: dict[str, Any], text: str, told: str
) -> None:
    path = tmp_path / "body.json"
    path.write_text(text, encoding="utf-8")
    assert problems("opensearch", **keys, body_file="body.json") == {}
    config = Config(preset="opensearch", base="http://h", body_file="body.json", **keys)
    with pytest.raises(InputError, match=rf"body\.json: {told}"):
        read_template(path, settle(config))
