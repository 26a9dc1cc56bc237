"""elasticsearch-py, with our own node: what it composes goes through the exchange."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

import msgspec
from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders, NodeConfig, Serializer
from elasticsearch import ApiError, Elasticsearch, TransportError, UnsupportedProductError

from searchmark.errors import InputError, SystemFailedError, described, nearest
from searchmark.systems.querydsl.exchange import Exchange, Parsed
from searchmark.systems.querydsl.system import Body, Options


class _Json(Serializer):
    """Writes JSON; what comes back was read by the exchange."""

    mimetype: ClassVar[str] = "application/json"

    def dumps(self, data: Any) -> bytes:
        return data if isinstance(data, bytes) else msgspec.json.encode(data)

    def loads(self, data: Any) -> Any:
        return data


class _Lines(_Json):
    mimetype: ClassVar[str] = "application/x-ndjson"

    def dumps(self, data: Any) -> bytes:
        return b"".join(msgspec.json.encode(line) + b"\n" for line in data)


class _Response(NamedTuple):
    """What the client's transport takes from a node."""

    meta: ApiResponseMeta
    body: Any


class _Node(BaseNode):
    """One node. It raises what the exchange raises, so the client neither retries nor gives up."""

    exchange: ClassVar[Exchange]

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: Any = None,
    ) -> Any:
        sent = {"accept": "application/json", **(headers or {})}
        reply, parsed = self.exchange.send(method, f"{self.base_url}{target}", body, sent)
        product = reply.headers.get("x-elastic-product", "")
        told = HttpHeaders({"content-type": _Json.mimetype, "x-elastic-product": product})
        return _Response(ApiResponseMeta(200, "1.1", told, 0.0, self.config), parsed)


@dataclass(frozen=True, slots=True, eq=False)
class ElasticsearchClient:
    """Asks Elasticsearch through its official client."""

    client: Elasticsearch
    options: Options

    def search(self, body: Body) -> Parsed:
        """Make one search."""
        index, params = self.options.index, self.options.params
        return self._parsed(lambda: self.client.search(index=index, body=body, **params))

    def search_many(self, bodies: Sequence[Body]) -> Parsed:
        """Make several searches in one request."""
        lines = [line for body in bodies for line in (self.options.params, body)]
        return self._parsed(lambda: self.client.msearch(index=self.options.index, searches=lines))

    def explain(self, doc_id: str, query: Mapping[str, Any]) -> Parsed:
        """Explain how one document matches."""
        given = self.options
        params = {k: v for k, v in given.params.items() if k in ("routing", "preference")}
        return self._parsed(
            lambda: self.client.explain(
                index=given.index, id=doc_id, body={"query": query}, **params
            )
        )

    def _parsed(self, call: Callable[[], Any]) -> Parsed:
        try:
            found: Parsed = call().body
        except UnsupportedProductError as error:
            raise SystemFailedError(
                "the server does not say that it is Elasticsearch (the header X-Elastic-Product), "
                'and its official client refuses others; for OpenSearch write use = "opensearch"'
            ) from error
        except (ApiError, TransportError) as error:
            raise SystemFailedError(f"elasticsearch-py refused: {described(error)}") from error
        return found


def open_client(hosts: Sequence[str], exchange: Exchange, options: Options) -> ElasticsearchClient:
    """Return a client that asks the hosts in turn, once, and remembers nothing of failures."""
    node = type("Node", (_Node,), {"exchange": exchange})
    client = Elasticsearch(
        [_node(address) for address in hosts],
        node_class=node,
        serializers={"application/json": _Json(), "application/x-ndjson": _Lines()},
        max_retries=0,
        retry_on_status=(),
        retry_on_timeout=False,
        sniff_on_start=False,
        sniff_before_requests=False,
        sniff_on_node_failure=False,
        randomize_nodes_in_pool=False,
        meta_header=False,
    )
    known = set(signature(client.search).parameters) - {"self", "body", "index"}
    for name in options.params:
        if name not in known:
            raise InputError(
                f"params.{name}: a search has no such parameter; {nearest(name, known)}"
            )
    return ElasticsearchClient(client, options)


def _node(address: str) -> NodeConfig:
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return NodeConfig(parts.scheme, parts.hostname or "", port, parts.path)
