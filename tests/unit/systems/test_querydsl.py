"""What the project file of `opensearch` and `elasticsearch` may hold, and how errors are read."""

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from searchmark.errors import SystemFailedError
from searchmark.systems import SYSTEMS
from searchmark.systems.explanation import Explanation, Reason
from searchmark.systems.querydsl.config import IN_BODY
from searchmark.systems.querydsl.exchange import Parsed, reason_of
from searchmark.systems.querydsl.hits import reading
from searchmark.systems.querydsl.reasons import of_document, reason
from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    from searchmark.systems.protocol import Kind

GOOD: dict[str, Any] = {
    "hosts": "https://search.example:9200",
    "index": "shop",
    "fields": ["title"],
}
QUERY = {"query": {"match": {"title": "{query}"}}}


def problems(use: str = "opensearch", **keys: Any) -> dict[str, str]:
    kind: Kind = SYSTEMS.load(use)
    assert kind.problems is not None
    given = {k: v for k, v in {**GOOD, **keys}.items() if v is not None}
    return {p.key: p.message for p in kind.problems(msgspec.convert(given, kind.config), "s", {})}


@pytest.mark.parametrize("use", ["opensearch", "elasticsearch"])
@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"hosts": ["http://a:9200", "https://b/prefix", "${HOST}", "http://${HOST}:9200"]},
        {"index": "logs-*,shop,-old"},
        {"fields": None, "template": "query.json"},
        {"fields": None, "template": QUERY},
        {"fields": None, "template": {"knn": {"v": "{embedding}"}}, "model": "all-MiniLM-L6-v2"},
        {"basic": "${USER}:${PASSWORD}"},
        {"basic": "${BOTH}"},
        {"basic": "me:${PASSWORD}"},
        {"bearer": "${TOKEN}", "headers": {"X-Tenant": "shop"}},
        {"tokens": 12, "id_field": "catalog.sku"},
        {"tokens": "length(_source.text)"},
        {"params": {"search_type": "dfs_query_then_fetch", "request_cache": False}},
    ],
)
def test_what_is_right_has_no_problems(use: str, keys: dict[str, Any]) -> None:
    assert problems(use, **keys) == {}


@pytest.mark.parametrize(
    ("keys", "key", "told"),
    [
        ({"hosts": []}, "hosts", "names no host"),
        ({"hosts": "localhost:9200"}, "hosts", "no http:// or https:// address"),
        ({"hosts": ["http://a:9200", "http://"]}, "hosts[1]", "no http:// or https:// address"),
        ({"hosts": "http://a:92000"}, "hosts", "no http:// or https:// address"),
        ({"hosts": "http://${U}:${P}@a"}, "hosts", 'write basic = "${USER}:${PASSWORD}"'),
        ({"hosts": "http://u:hunter22@a"}, "hosts", "basic"),
        ({"hosts": "http://a:9200?pretty"}, "hosts", "write them under params"),
        ({"index": ""}, "index", "must name an index"),
        ({"index": "a/_search"}, "index", "must name an index"),
        ({"id_field": "a..b"}, "id_field", "must be _id"),
        ({"fields": None}, "fields", "is missing"),
        ({"fields": []}, "fields", "is missing"),
        ({"fields": ["a", ""]}, "fields[1]", "is empty"),
        ({"template": "query.json"}, "fields", "there is template already"),
        ({"fields": None, "template": ""}, "template", "names no file"),
        (
            {"fields": None, "template": {**QUERY, "size": 0}},
            "template.size",
            "asks for no results",
        ),
        ({"fields": None, "template": {"query": {}}}, "template", "no part of it holds {query}"),
        (
            {"fields": None, "template": {**QUERY, "a": [{"b": "{qurey}"}]}},
            "template.a[0].b",
            "unknown placeholder {qurey}; did you mean 'query'",
        ),
        ({"fields": None, "template": {**QUERY, "a": "a{2}"}}, "template.a", "a single '{'"),
        (
            {"fields": None, "template": {"knn": {"v": "{embedding}"}}},
            "model",
            "is missing: the template holds {embedding}",
        ),
        ({"tokens": "length("}, "tokens", "is no JMESPath expression"),
        ({"tokens": -1}, "tokens", "-1 is not 0 or more"),
        ({"max_bytes": 0}, "max_bytes", "is not from 1"),
        ({"routing": ""}, "routing", "is empty"),
        ({"search_pipeline": ""}, "search_pipeline", "is empty"),
        ({"params": {"preference": "a"}}, "params.preference", "is a key of its own"),
        ({"params": {"timeout": "3s"}}, "params", "timeout_s"),
        *(
            ({"params": {key: 5}}, f"params.{key}", "belongs into the body of the search")
            for key in ("size", "from", "from_", "q", "query", "knn", "sort", "_source", "source")
        ),
        ({"bearer": "${A}", "api_key": "${B}"}, "api_key", "there is bearer already"),
        ({"basic": "${U}:${P}", "bearer": "${A}"}, "bearer", "there is basic already"),
        ({"basic": "user-${P}"}, "basic", "must be a user and a password"),
        ({"basic": "me:hunter22"}, "basic", "secret written out"),
        ({"bearer": "abcdef123456"}, "bearer", "secret written out"),
        ({"api_key": "abcdef123456"}, "api_key", "secret written out"),
        ({"headers": {"X-Api-Key": "abcdef123456"}}, "headers.X-Api-Key", "secret written out"),
        ({"headers": {"authorization": "${A}"}}, "headers.authorization", "basic, bearer"),
        ({"headers": {"a b": "c"}}, "headers.a b", "name can hold"),
        ({"client_key": "key.pem"}, "client_cert", "is missing"),
        ({"proxy": "http://u:hunter22@p"}, "proxy", "password written out"),
    ],
)
def test_what_is_wrong_is_told_by_its_key(keys: dict[str, Any], key: str, told: str) -> None:
    found = problems(**keys)
    assert told in found.get(key, ""), found
    assert "hunter22" not in " ".join(found.values())


def test_a_pipeline_is_a_key_of_opensearch_alone() -> None:
    with pytest.raises(msgspec.ValidationError, match="search_pipeline"):
        problems("elasticsearch", search_pipeline="nlp")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"error": "plain"}, "plain"),
        ({"error": {"type": "a", "reason": "b"}}, "a: b"),
        ({"error": {"type": "all", "root_cause": [{"type": "a", "reason": "b"}]}}, "a: b"),
        ({"error": {"type": "a", "reason": "b", "root_cause": []}}, "a: b"),
        ({"error": {"type": "a", "root_cause": [None]}}, "a"),
        ({"error": {"reason": "b", "caused_by": {"caused_by": {"reason": "c"}}}}, "b: c"),
        ({"error": {"reason": "b", "caused_by": {"reason": "b"}}}, "b"),
        ({"error": {}}, None),
        ({"error": None}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_reason_of_an_error_is_the_innermost(document: Any, told: str | None) -> None:
    assert reason_of(document) == told


def test_an_explanation_is_a_tree_however_odd_it_comes() -> None:
    given = {
        "value": 3,
        "description": "sum of:",
        "details": [{"value": 1.5, "description": "a", "details": []}, None, {"value": True}],
    }
    assert reason(given) == Reason(3.0, "sum of:", (Reason(1.5, "a"), Reason(None, "")))
    assert reason(None) is None
    assert reason({"value": 10**400}) == Reason(None, "")  # JSON that no double can hold
    deep: dict[str, Any] = {"value": 1}
    for _ in range(5000):
        deep = {"value": 1, "details": [deep]}
    assert reason(deep) is not None
    assert of_document("d", 5, None) == Explanation("d", 5, note="the engine gave no explanation")


def test_neither_client_is_loaded_before_a_system_is_opened() -> None:
    code = (
        "import sys; from searchmark.systems import SYSTEMS; "
        "SYSTEMS.load('opensearch'); SYSTEMS.load('elasticsearch'); "
        "sys.exit(bool({'opensearchpy', 'elasticsearch', 'elastic_transport'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_part_and_what_is_not_there_yet_are_no_whole_answers() -> None:
    read = reading("_id", None, Secrets({}))
    found = {"hits": {"hits": [{"_id": "a", "_score": 1.0}]}}

    def parsed(document: Any, *, in_part: bool = False) -> Parsed:
        return Parsed(document, 9, "POST http://h/_msearch", in_part)

    assert not read.answer(parsed(found), 5).partial
    assert read.answer(parsed(found, in_part=True), 5).partial
    several = {"responses": [{**found, "status": s} for s in (200, 206, 202)]}
    whole, part, later = read.answers(parsed(several), 3, 5)
    assert (getattr(whole, "partial", None), getattr(part, "partial", None)) == (False, True)
    assert isinstance(later, SystemFailedError)
    assert "202 Accepted" in str(later)
    answers = read.answers(parsed({"responses": [found]}, in_part=True), 1, 5)
    assert [getattr(a, "partial", None) for a in answers] == [True]


def test_every_key_of_a_body_that_the_client_knows_is_none_of_params() -> None:
    from elasticsearch import Elasticsearch

    client = Elasticsearch(["http://127.0.0.1:1"], max_retries=0)
    for key in inspect.signature(client.search).parameters:
        if key in ("index", "body"):
            continue
        try:
            client.search(index="i", body={key: 1, key.removesuffix("_"): 1}, **{key: 1})
        except ValueError as error:  # "Received multiple values": it goes into the body
            assert key in IN_BODY | {"timeout"}, error
        except Exception as error:  # it is a parameter, and there is no server
            assert key not in IN_BODY - {"q"}, error
