"""Engines that the `http` kind knows: a request and the paths into its answer, a few lines each.

Each preset follows the engine's documentation of the version it names. ``{index}`` and the fields
come from the project file; an entry whose fields are not given is left out of the request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from searchmark.systems.protocol import Tag


@dataclass(frozen=True, slots=True)
class Preset:
    """What one engine is sent and where its answer holds what.

    `error` finds what makes an answer with a good status a failure. `needs` are the keys that the
    project file has to give beside `base`. `tags` hold for the request as it stands here.
    """

    follows: str
    path: str
    ids: str
    method: str = "POST"
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    scores: str | None = None
    partial: str | None = None
    total: str | None = None
    error: str | None = None
    api_key_header: str | None = None
    page_size: int | None = None
    cursor: str | None = None
    needs: tuple[str, ...] = ("index",)
    tags: frozenset[Tag] = frozenset()


LEXICAL: frozenset[Tag] = frozenset({"lexical"})

_LUCENE_SERVER: Mapping[str, Any] = {
    "path": "/{index}/_search",
    "body": {
        "query": {"multi_match": {"query": "{query}", "fields": "{fields}"}},
        "size": "{k}",
        "_source": False,
        "track_total_hits": True,
    },
    "ids": "hits.hits[]._id",
    "scores": "hits.hits[]._score",
    "partial": "timed_out || _shards.failed > `0` || _clusters.skipped > `0` "
    "|| _clusters.partial > `0` || _clusters.failed > `0`",
    # beyond 10,000 it may be a lower bound ("gte"), which is no total
    "total": "(hits.total.relation == 'eq' || !(hits.total.relation)) && hits.total.value "
    "|| (hits.total >= `0` && hits.total) || `null`",
    "error": "_shards.failed > `0` && _shards.successful == `0`",
    "tags": LEXICAL,
}

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "opensearch": Preset("OpenSearch 2 and 3, _search", **_LUCENE_SERVER),
        "elasticsearch": Preset("Elasticsearch 8 and 9, _search", **_LUCENE_SERVER),
        "solr": Preset(
            "Solr 9, JSON Request API and JSON Query DSL with edismax",
            path="/solr/{index}/select",
            body={
                # the text as a value of its own: as a plain query "{!..." would choose a parser
                "query": {"edismax": {"query": "{query}", "qf": "{fields_by_blank}"}},
                "limit": "{k}",
                "fields": ["id", "score"],
            },
            ids="response.docs[].id",
            scores="response.docs[].score",
            partial="responseHeader.partialResults",
            total="response.numFoundExact != `false` && response.numFound || `null`",
            error="error",
            tags=LEXICAL,
        ),
        "vespa": Preset(
            "Vespa 8, Query API with the default JSON result format",
            path="/search/",
            body={
                "yql": "select * from {index} where userQuery()",
                "query": "{query}",
                "hits": "{k}",
            },
            # where nothing matches there are no children; a count without them is a failure
            ids="root.children[].id || (root.fields.totalCount == `0` && `[]`)",
            scores="root.children[].relevance",
            partial="root.coverage && root.coverage.full == `false`",
            total="root.fields.totalCount",
            error="root.errors",
        ),
        "typesense": Preset(
            "Typesense 27 to 30, documents/search",
            method="GET",
            path="/collections/{index}/documents/search",
            params={
                "q": "{query}",
                "query_by": "{fields_by_comma}",
                "per_page": "{k}",
                "page": "{page}",
            },
            ids="hits[].document.id",
            scores="hits[].text_match",
            partial="search_cutoff",
            total="found",
            api_key_header="X-TYPESENSE-API-KEY",
            page_size=250,
            needs=("index", "fields"),
            tags=LEXICAL,
        ),
        "meilisearch": Preset(
            "Meilisearch 1, indexes/search",
            path="/indexes/{index}/search",
            body={
                "q": "{query}",
                "limit": "{k}",
                "attributesToSearchOn": "{fields}",
                "showRankingScore": True,
            },
            ids="hits[].id",
            scores="hits[]._rankingScore",
            total="totalHits",  # estimatedTotalHits is an estimate
            tags=LEXICAL,
        ),
        "qdrant": Preset(
            "Qdrant 1.10 and later, points/query",
            path="/collections/{index}/points/query",
            body={"query": "{embedding}", "limit": "{k}", "with_payload": False},
            ids="result.points[].id",
            scores="result.points[].score",
            api_key_header="api-key",
            tags=frozenset({"vector"}),
        ),
        "weaviate": Preset(
            "Weaviate 1, GraphQL Get with bm25; deprecated since 2026-10-26, off in new Cloud "
            "clusters, kept by self-hosted servers until 2027-05-01 at least",
            path="/v1/graphql",
            body={
                "query": "query Q($text: String!, $k: Int!, $fields: [String!]) {{ Get {{ {index}("
                "bm25: {{query: $text, properties: $fields}}, limit: $k) "
                "{{ _additional {{ id score }} }} }} }}",
                # a variable that is not given stands for nothing: all properties are searched
                "variables": {"text": "{query}", "k": "{k}", "fields": "{fields}"},
            },
            ids="data.Get.* | [0][]._additional.id",
            # scores come as texts; one that is no number is left as it is, and refused
            scores="data.Get.* | [0] "
            "| map(&(to_number(_additional.score) || _additional.score), @)",
            error="errors",
            tags=LEXICAL,
        ),
        "algolia": Preset(
            "Algolia Search API 1, indexes/query",
            path="/1/indexes/{index}/query",
            body={
                "query": "{query}",
                "hitsPerPage": "{k}",
                "restrictSearchableAttributes": "{fields}",
                "attributesToRetrieve": ["objectID"],
                "attributesToHighlight": [],
                "analytics": False,
            },
            ids="hits[].objectID",
            total="exhaustive.nbHits != `false` && exhaustiveNbHits != `false` && nbHits || `null`",
            api_key_header="X-Algolia-API-Key",
            tags=LEXICAL,
        ),
        "azure": Preset(
            "Azure AI Search, api-version 2024-07-01, docs/search",
            path="/indexes/{index}/docs/search?api-version=2024-07-01",
            body={
                "search": "{query}",
                "searchFields": "{fields_by_comma}",
                "top": "{k}",
                "skip": "{offset}",
                "count": True,
            },
            ids="value[].id",
            scores='value[]."@search.score"',
            # the coverage is told only to who asks for a minimumCoverage; the others mean that the
            # answer was cut
            partial='"@search.coverage" < `100` || "@odata.nextLink" '
            '|| "@search.nextPageParameters"',
            total='"@odata.count"',
            error="error",
            api_key_header="api-key",
            page_size=1000,
            tags=LEXICAL,
        ),
        "searchmark": Preset(
            "The discovery API that Searchmark documents",
            method="GET",
            path="/discovery/search",
            params={"query": "{query}", "limit": "{k}", "cursor": "{cursor}"},
            ids="resources[].resource",
            scores="resources[].score",
            cursor="nextCursor",
            page_size=100,
            partial="partialResults",
            total="total",
            needs=(),
        ),
    }
)
"""Name in the project file -> preset."""

NEVER_GIVEN = object()


def without(value: Any, missing: frozenset[str]) -> Any:
    """Return a template without the entries that are nothing but a placeholder in `missing`."""
    if isinstance(value, Mapping):
        kept = {name: without(inner, missing) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner is not NEVER_GIVEN}
    if isinstance(value, list):
        return [without(inner, missing) for inner in value]
    return NEVER_GIVEN if isinstance(value, str) and value in missing else value
