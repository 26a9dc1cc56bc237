"""What is wrong with a table of ``use = "http"`` is told before anything is sent."""

from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from searchmark.data import Corpus
from searchmark.errors import InputError, Problem
from searchmark.project import project_schema
from searchmark.project.entries import decode_systems
from searchmark.systems.pool import Pool

GOOD = {"use": "http", "url": "http://h/s?q={query}&n={k}", "ids": "hits[].id"}


def problems(**keys: Any) -> dict[str, str]:
    """Return the problems of a good table with these keys, by key; None takes a key away."""
    table = {name: value for name, value in {**GOOD, **keys}.items() if value is not None}
    found: list[Problem] = []
    decode_systems({"a": table}, found)
    return {p.key.removeprefix("systems.a."): p.message for p in found}


def test_good_tables() -> None:
    assert problems() == {}
    assert problems(url="${BASE}/s?q={query}") == {}
    assert (
        problems(url="http://h/s", body={"q": "{query}", "n": "{k}", "x": [1, {"y": None}]}) == {}
    )
    assert problems(tokens=120, partial="a.b", total="n", error="e || f", scores="hits[].s") == {}
    assert problems(body_file="later.json", url="http://h/s") == {}
    assert problems(bearer="${TOKEN}", headers={"X-Key": "${KEY}"}, proxy="http://p:3128") == {}
    assert problems(url="http://${HOST}:${PORT}/s?q={query}", proxy="http://${U}:${P}@h:${N}") == {}
    assert problems(api_key="${K}", api_key_header="Authorization") == {}
    assert problems(basic="${U}:${P}", timeout_s=3, concurrency=8, retries=0) == {}


@pytest.mark.parametrize(
    ("keys", "key", "told"),
    [
        ({"url": None}, "url", "is missing"),
        ({"ids": None}, "ids", "is missing"),
        ({"url": ""}, "url", "is empty, and needs a value"),
        ({"ids": "hits[].["}, "ids", "is no JMESPath expression"),
        ({"cursor": "a b", "url": "http://h/{query}/{cursor}"}, "cursor", "no JMESPath"),
        ({"url": "ftp://h/{query}"}, "url", "is no http:// or https://"),
        ({"url": "h/s?q={query}"}, "url", "is no http:// or https://"),
        ({"url": "http://[::1/{query}"}, "url", "is no http:// or https://"),
        ({"url": "http://h/s?q={query}#top"}, "url", "never sent"),
        ({"url": "http://h/100%?q={query}"}, "url", "written as %25"),
        ({"url": "http://u@h/?q={query}"}, "url", 'write basic = "${USER}:${PASSWORD}"'),
        ({"url": "http://h/s?n={k}"}, "url", "no part of the request holds {query}"),
        ({"url": "http://h/s?q={querry}"}, "url", "did you mean 'query'"),
        ({"params": {"q": "{!lucene}"}}, "params.q", "write '{{' for a brace"),
        ({"body": {"a": [{"b": "{text}"}]}}, "body.a[0].b", "unknown placeholder {text}"),
        ({"body": {}, "form": {}}, "form", "there is body already"),
        ({"method": "get"}, "method", "in capitals"),
        ({"headers": {"X A": "1"}}, "headers.X A", "no header's name can hold"),
        ({"headers": {"X": "a\nb"}}, "headers.X", "no header can hold"),
        ({"headers": {"X": "a\x7f"}}, "headers.X", "no header can hold"),
        ({"headers": {"X": "ä"}}, "headers.X", "no header can hold"),
        ({"headers": {"content-length": "1"}}, "headers.content-length", "the exchange itself"),
        ({"headers": {"Host": "h"}}, "headers.Host", "the exchange itself"),
        ({"headers": {"Transfer-Encoding": "x"}}, "headers.Transfer-Encoding", "the exchange"),
        ({"headers": {"Proxy-Authorization": "${P}"}}, "headers.Proxy-Authorization", "proxy ="),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "headers.x-a", "stands there twice"),
        (
            {"bearer": "${T}", "headers": {"authorization": "${T}"}},
            "headers.authorization",
            "is written by another key",
        ),
        ({"method": "HEAD"}, "method", "brings no results"),
        ({"bearer": ""}, "bearer", "is empty; write ${NAME}"),
        ({"bearer": "Bearer ${T}"}, "bearer", "'Bearer' is put in front"),
        ({"basic": " "}, "basic", "is empty; write ${NAME}"),
        ({"basic": "user-${T}"}, "basic", "must be a user and a password"),
        ({"api_key": "", "api_key_header": "X"}, "api_key", "is empty; write ${NAME}"),
        ({"api_key_header": "X"}, "api_key", "api_key_header names the header"),
        ({"api_key": "${K}", "api_key_header": ""}, "api_key_header", "is empty"),
        ({"api_key": "${K}", "api_key_header": "X\nY"}, "api_key_header", "name can hold"),
        ({"api_key": "${K}", "api_key_header": "Host"}, "api_key_header", "the exchange itself"),
        ({"api_key": "${KEY}"}, "api_key_header", "is missing"),
        ({"client_key": "k.pem"}, "client_cert", "is missing"),
        ({"bearer": "${A}", "basic": "${B}:${C}"}, "basic", "there is bearer already"),
        ({"params": {"v": "{embedding}"}}, "model", "is missing"),
        ({"page_size": 5}, "page_size", "no part of the request holds {offset}"),
        ({"params": {"c": "{cursor}"}}, "cursor", "the request needs {cursor}"),
        ({"cursor": "next"}, "cursor", "the request needs {cursor}"),
        ({"page_size": 0, "params": {"o": "{offset}"}}, "page_size", "0 is not from 1 to 10,000"),
        ({"max_pages": 0}, "max_pages", "0 is not from 1"),
        ({"first_page": -1}, "first_page", "-1 is not from 0 to 1,000,000"),
        ({"first_page": 10**30}, "first_page", "is not from 0 to 1,000,000"),
        ({"max_bytes": 0}, "max_bytes", "0 is not from 1"),
        ({"tokens": -1.0}, "tokens", "-1 is not 0 or more"),
        ({"tokens": "measured"}, "tokens", "give a number or a JMESPath"),
        ({"empty_status": [503]}, "empty_status", "503 cannot mean"),
        ({"empty_status": [429]}, "empty_status", "429 cannot mean"),
        ({"empty_status": [200]}, "empty_status", "200 cannot mean"),
        ({"index": "shop"}, "index", "stands for a part of a preset"),
        ({"preset": "elastic"}, "preset", "did you mean 'elasticsearch'"),
        ({"redirects": "all"}, "redirects", "cannot be 'all'"),
        ({"bearer": "abc123"}, "bearer", "holds a secret written out"),
        ({"api_key": "abc123", "api_key_header": "X"}, "api_key", "written out"),
        ({"headers": {"Authorization": "Bearer abc"}}, "headers.Authorization", "written out"),
        ({"url": "http://h/?q={query}&api_key=abc123"}, "url", "holds the secret 'api_key'"),
        ({"params": {"api_key": "abc123"}}, "params.api_key", "holds a secret written out"),
        ({"proxy": "http://u:abc123@p:1"}, "proxy", "holds a password written out"),
    ],
)
def test_what_is_wrong(keys: dict[str, Any], key: str, told: str) -> None:
    found = problems(**keys)
    assert told in found[key]
    assert "abc123" not in str(found)
    if key != "url":
        assert set(found) == {key}


def test_what_a_preset_needs() -> None:
    bare = {"url": None, "ids": None}
    assert problems(preset="solr", **bare) == {"base": "is missing", "index": "is missing"}
    assert problems(preset="typesense", base="http://h", index="i", **bare) == {
        "fields": "is missing"
    }
    assert problems(preset="searchmark", base="http://h", **bare) == {}
    assert problems(preset="qdrant", base="http://h", index="i", **bare) == {
        "model": "is missing: the request holds {embedding}"
    }
    assert "is no http://" in problems(preset="searchmark", base="h:80", **bare)["base"]


@pytest.mark.parametrize("end", ["/?x=1", "?x", "/a#b", "/?x=${X}"])
def test_behind_a_base_with_parameters_no_path_can_stand(end: str) -> None:
    found = problems(preset="searchmark", base=f"http://h{end}", url=None, ids=None)
    assert "behind which no path can stand" in found["base"] or "'#'" in found["base"]


@pytest.mark.parametrize("base", ["${BASE_OF_IT}", "http://h/${BASE_OF_IT}"])
def test_parameters_that_a_variable_brings_into_a_base(
    base: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = {"use": "http", "preset": "searchmark", "base": base}
    told: list[Problem] = []
    entries = decode_systems({"api": table}, told)
    assert told == []
    corpus = Corpus(pl.DataFrame({"doc_id": ["a"], "text": ["a"]}))
    for value, is_right in (("http://h/?x=1", False), ("http://h", True)):
        monkeypatch.setenv("BASE_OF_IT", value)
        with Pool(entries, corpus, folder=tmp_path, cache=tmp_path) as pool:
            if is_right:
                pool.open("api")
                continue
            with pytest.raises(InputError, match=r"base: .* behind which no path can stand"):
                pool.open("api")


def test_the_schema_knows_the_kind() -> None:
    file = {"corpus": "c", "queries": "q", "qrels": "r", "systems": {"a": {**GOOD, "tokens": 3}}}
    jsonschema.validate(file, project_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**file, "systems": {"a": {**GOOD, "page": 1}}}, project_schema())
