"""Stand-ins of ten engines in a process of their own, written after their documentation.

Each one refuses a request that its engine would not take (wrong path, key, unknown member of the
body) and answers in the documented form: two documents for "red", none for "nothing", and for
"half" the two with the sign that a part did not take part. ``/ENGINE/...`` chooses the engine.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from graphql_reader import Field, GraphQLError, read_query


class Asked(NamedTuple):
    method: str
    path: str
    params: dict[str, str]
    headers: Mapping[str, str]
    body: Any


class RefusedError(Exception):
    """The request is not one that the engine takes."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


def need(condition: object, message: str, status: int = 400) -> None:
    if not condition:
        raise RefusedError(message, status)


def only(value: Mapping[str, Any], *known: str) -> None:
    """Refuse members that the documentation does not name."""
    unknown = set(value) - set(known)
    need(not unknown, f"unknown: {sorted(unknown)}")


def found(text: object) -> list[tuple[str, float]]:
    need(isinstance(text, str), "the query is no text")
    return [] if text == "nothing" else [("a", 2.5), ("b", 1.25)]


def lucene(asked: Asked) -> Any:
    need(asked.method in ("GET", "POST"), "method", 405)
    need(asked.path == "/shop/_search", "no handler found", 404)
    only(asked.body, "query", "size", "_source", "track_total_hits", "from", "knn")
    need(isinstance(asked.body["size"], int), "size")
    multi = asked.body["query"]["multi_match"]
    only(multi, "query", "fields", "type", "operator")
    fields = multi.get("fields", ["*"])
    need(isinstance(fields, list) and all(isinstance(f, str) for f in fields), "fields")
    hits = found(multi["query"])
    failed = {"half": 1, "broken": 2}.get(multi["query"], 0)
    is_cut = multi["query"] == "countless"  # the engines count to 10,000 unless they are told to
    away = {"total": 2, "successful": 1, "skipped": 1} if multi["query"] == "away" else None
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 2, "successful": 2 - failed, "skipped": 0, "failed": failed},
        **({"_clusters": away} if away else {}),
        "hits": {
            "total": {"value": 10_000, "relation": "gte"}
            if is_cut
            else {"value": len(hits), "relation": "eq"},
            "max_score": 2.5 if hits else None,
            "hits": [{"_index": "shop", "_id": i, "_score": s} for i, s in hits],
        },
    }


def solr(asked: Asked) -> Any:
    need(asked.path == "/solr/shop/select", "not found", 404)
    need(asked.headers["content-type"] == "application/json", "a JSON body needs its content type")
    only(asked.body, "query", "filter", "offset", "limit", "fields", "sort", "facet", "params")
    parser = asked.body["query"]["edismax"]
    only(parser, "query", "qf", "mm", "pf")
    need(isinstance(parser.get("qf", ""), str), "qf is a text")
    need(isinstance(asked.body["limit"], int), "limit")
    hits = found(parser["query"])
    header: dict[str, Any] = {"status": 0, "QTime": 1}
    if parser["query"] == "half":
        header["partialResults"] = True
    docs = [{"id": i, "score": s} for i, s in hits]
    is_exact = parser["query"] != "countless"
    response = {"numFound": len(docs), "start": 0, "numFoundExact": is_exact, "docs": docs}
    return {"responseHeader": header, "response": response}


YQL = re.compile(
    r"\s*select\s+(?:\*|[\w, ]+)\s+from\s+(sources \*|\w+)\s+where\s+(.+)", re.I | re.S
)


def vespa(asked: Asked) -> Any:
    need(asked.path == "/search/", "not found", 404)
    only(asked.body, "yql", "query", "hits", "offset", "ranking", "input.query(q)")
    parts = YQL.fullmatch(asked.body["yql"])
    need(parts is not None, "the yql cannot be parsed")
    assert parts is not None
    source, condition = parts.groups()
    need(source in ("product", "sources *"), f"no source {source!r}")
    for function in re.findall(r"(\w+)\(", condition):
        need(function in ("userQuery", "nearestNeighbor"), f"no operator {function}")
    need("userQuery()" in condition or "input.query(q)" in asked.body, "nothing is asked for")
    need(isinstance(asked.body["hits"], int), "hits")
    need(asked.body["hits"] <= 400, f"{asked.body['hits']} hits requested, configured limit: 400.")
    hits = found(asked.body["query"])
    is_full = asked.body["query"] != "half"
    root: dict[str, Any] = {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": 7 if asked.body["query"] == "childless" else len(hits)},
        "coverage": {"coverage": 100 if is_full else 50, "documents": 2, "full": is_full},
    }
    if hits and asked.body["query"] != "childless":
        root["children"] = [
            {
                "id": f"id:shop:product::{i}",
                "relevance": s,
                "source": "shop",
                "fields": {"doc_id": i},
            }
            for i, s in hits
        ]
    if asked.body["query"] == "broken":
        root["errors"] = [{"code": 12, "summary": "Timed out", "message": "no answer of node 1"}]
    return {"root": root}


def typesense(asked: Asked) -> Any:
    need(asked.headers.get("x-typesense-api-key") == "key-12345", "Forbidden", 401)
    need(asked.method == "GET", "method", 404)
    need(asked.path == "/collections/shop/documents/search", "not found", 404)
    only(asked.params, "q", "query_by", "per_page", "page", "filter_by")
    need(asked.params["query_by"] == "title,text", "query_by")
    need(int(asked.params["per_page"]) <= 250, "Only upto 250 hits can be fetched per page.", 422)
    page, size = int(asked.params["page"]), int(asked.params["per_page"])
    hits = found(asked.params["q"])
    if asked.params["q"] == "many":
        hits = [(f"m{i}", 1.0) for i in range(260)]
    shown = hits[(page - 1) * size : page * size]
    return {
        "facet_counts": [],
        "found": len(hits),
        "out_of": 2,
        "page": page,
        "request_params": {"q": asked.params["q"]},
        "search_cutoff": asked.params["q"] == "half",
        "search_time_ms": 1,
        "hits": [
            {"document": {"id": i}, "highlights": [], "text_match": int(s * 4)} for i, s in shown
        ],
    }


def meilisearch(asked: Asked) -> Any:
    need(asked.headers.get("authorization") == "Bearer key-12345", "invalid_api_key", 403)
    need(asked.path == "/indexes/shop/search", "not found", 404)
    only(asked.body, "q", "limit", "attributesToSearchOn", "showRankingScore", "offset", "filter")
    need(isinstance(asked.body["limit"], int), "limit")
    need(asked.body["showRankingScore"] is True, "showRankingScore")
    hits = found(asked.body["q"])
    return {
        "hits": [{"id": i, "title": "t", "_rankingScore": s / 4} for i, s in hits],
        "query": asked.body["q"],
        "processingTimeMs": 1,
        "limit": asked.body["limit"],
        "offset": 0,
        "estimatedTotalHits": 1000,  # it may be far from what matches
    }


def qdrant(asked: Asked) -> Any:
    need(asked.headers.get("api-key") == "key-12345", "Must provide an API key", 401)
    need(asked.path == "/collections/shop/points/query", "not found", 404)
    only(asked.body, "query", "limit", "with_payload", "using", "filter", "offset", "prefetch")
    vector = asked.body["query"]
    need(len(vector) == 384 and all(isinstance(x, float) for x in vector), "vector")
    need(abs(sum(x * x for x in vector) - 1) < 1e-3, "the vector's length is not 1")
    need(isinstance(asked.body["limit"], int), "limit")
    points = [
        {"id": 7, "version": 1, "score": 0.9},
        {"id": "4a8f4b5e-0001-4c3a-9b7e-000000000001", "version": 1, "score": 0.5},
    ]
    return {"result": {"points": points}, "status": "ok", "time": 0.001}


def weaviate(asked: Asked) -> Any:
    need(asked.headers.get("authorization") == "Bearer key-12345", "anonymous access", 401)
    need(asked.path == "/v1/graphql", "not found", 404)
    only(asked.body, "query", "variables", "operationName")
    try:
        (get,) = named(read_query(asked.body["query"], asked.body["variables"]), "Get")
        (class_,) = named(get.fields, "Product")
        text, k = sought(class_.arguments)
        parts = named(class_.fields, "doc_id", "_additional")
    except GraphQLError as error:
        return {"errors": [{"message": str(error)}]}
    if text == "broken":
        return {"data": {"Get": {"Product": None}}, "errors": [{"message": "shard unavailable"}]}
    hits = [(i, "much" if text == "worded" else str(s)) for i, s in found(text)[:k]]
    return {"data": {"Get": {"Product": [shown(parts, i, s) for i, s in hits]}}}


def shown(parts: list[Field], doc_id: str, score: str) -> dict[str, Any]:
    """Return of an object what was asked for; metadata are below `_additional`."""
    metadata = {"id": doc_id, "score": score}
    return {
        part.name: {f.name: metadata[f.name] for f in named(part.fields, "id", "score")}
        if part.name == "_additional"
        else doc_id
        for part in parts
    }


def named(fields: list[Field], *known: str) -> list[Field]:
    """Return the fields, of which each has a known name."""
    for field in fields:
        if field.name not in known:
            raise GraphQLError(f'Cannot query field "{field.name}"')
    return fields


SEARCHES = {"bm25": {"query", "properties"}, "hybrid": {"query", "vector", "alpha", "properties"}}


def sought(arguments: dict[str, Any]) -> tuple[str, int]:
    """Return what the class is searched for, and how many are wanted."""
    for name in arguments.keys() - {*SEARCHES, "limit"}:
        raise GraphQLError(f'Unknown argument "{name}"')
    (kind,) = arguments.keys() & SEARCHES
    search = arguments[kind]
    for name in search.keys() - SEARCHES[kind]:
        raise GraphQLError(f'In field "{name}": Unknown field.')
    for name in search.get("properties", []):
        if name not in ("title", "text"):
            raise GraphQLError(f"no such prop with name '{name}' found in class 'Product'")
    if search.get("properties") == []:
        raise GraphQLError("no properties provided")
    if kind == "hybrid" and len(search["vector"]) != 384:
        raise GraphQLError("vector lengths don't match")
    return search["query"], arguments["limit"]


def algolia(asked: Asked) -> Any:
    need(asked.headers.get("x-algolia-application-id") == "APP", "app", 403)
    need(asked.headers.get("x-algolia-api-key") == "key-12345", "Invalid API key", 403)
    need(asked.path == "/1/indexes/shop/query", "not found", 404)
    only(
        asked.body,
        "query",
        "hitsPerPage",
        "restrictSearchableAttributes",
        "attributesToRetrieve",
        "attributesToHighlight",
        "analytics",
        "page",
    )
    need(asked.body.get("restrictSearchableAttributes") == ["title", "text"], "attributes")
    need(isinstance(asked.body["hitsPerPage"], int), "hitsPerPage")
    need(len(asked.body["query"]) <= 512, "query is longer than 512 characters")
    hits = found(asked.body["query"])
    return {
        "hits": [{"objectID": i} for i, _ in hits],
        "nbHits": len(hits),
        "page": 0,
        "nbPages": 1,
        "hitsPerPage": asked.body["hitsPerPage"],
        "exhaustive": {"nbHits": asked.body["query"] != "countless", "typo": True},
        "processingTimeMS": 1,
        "query": asked.body["query"],
        "params": "",
    }


def azure(asked: Asked) -> Any:
    need(asked.headers.get("api-key") == "key-12345", "Forbidden", 403)
    need(asked.path == "/indexes/shop/docs/search", "not found", 404)
    need(asked.params == {"api-version": "2024-07-01"}, "api-version")
    only(
        asked.body,
        "search",
        "searchFields",
        "top",
        "count",
        "skip",
        "filter",
        "select",
        "vectorQueries",
        "minimumCoverage",
    )
    need(asked.body.get("searchFields") == "title,text", "searchFields")
    top, skip = asked.body["top"], asked.body.get("skip", 0)
    need(isinstance(top, int) and isinstance(skip, int), "top and skip")
    need(asked.body["count"] is True, "count")
    hits = found(asked.body["search"])
    if asked.body["search"] == "many":
        hits = [(f"m{i}", 1.0) for i in range(1200)]
    least = asked.body.get("minimumCoverage")
    covered = 66.7 if asked.body["search"] == "half" else 100.0
    need(covered >= (100 if least is None else least), "Service Unavailable", 503)
    at_once = 1000
    shown = hits[skip:][: min(top, at_once)]
    answer: dict[str, Any] = {
        "@odata.context": "https://shop.search.windows.net/indexes('shop')/$metadata#docs(*)",
        "@odata.count": len(hits),
        "value": [{"@search.score": s, "id": i, "title": "t"} for i, s in shown],
    }
    if least is not None:
        answer["@search.coverage"] = covered
    if top > at_once or asked.body["search"] == "cut":
        answer["@odata.nextLink"] = "https://shop.search.windows.net/indexes('shop')/docs/search"
    if top > at_once or asked.body["search"] == "cut as well":
        answer["@search.nextPageParameters"] = {**asked.body, "skip": skip + len(shown)}
    return answer


ENGINES: dict[str, Callable[[Asked], Any]] = {
    "opensearch": lucene,
    "elasticsearch": lucene,
    "solr": solr,
    "vespa": vespa,
    "typesense": typesense,
    "meilisearch": meilisearch,
    "qdrant": qdrant,
    "weaviate": weaviate,
    "algolia": algolia,
    "azure": azure,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        engine, _, path = parts.path.removeprefix("/").partition("/")
        params = {n: v[0] for n, v in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {n.lower(): v for n, v in self.headers.items()}
        status, answer = 200, None
        try:
            body = json.loads(raw) if raw else None
            asked = Asked(self.command, "/" + unquote(path), params, headers, body)
            answer = ENGINES[engine](asked)
        except RefusedError as error:
            status, answer = error.status, {"error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            status, answer = 400, {"error": repr(error)}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
