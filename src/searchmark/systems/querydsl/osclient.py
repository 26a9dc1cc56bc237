"""opensearch-py, with our own connection: what it composes goes through the exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from opensearchpy import Connection, OpenSearch
from opensearchpy.exceptions import OpenSearchException
from opensearchpy.serializer import Serializer

from searchmark.errors import SystemFailedError, described
from searchmark.systems.querydsl.exchange import Exchange, Parsed
from searchmark.systems.querydsl.system import Body, Options


class _Json(Serializer):
    """Writes JSON; what comes back was read by the exchange."""

    mimetype = "application/json"

    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str | bytes) else msgspec.json.encode(data).decode()

    def loads(self, s: Any) -> Any:
        return s


class _Connection(Connection):
    """One node. It raises what the exchange raises, so the client neither retries nor gives up."""

    def __init__(self, *, exchange: Exchange, **given: Any) -> None:
        given.pop("metrics", None)
        super().__init__(**given)
        self._exchange = exchange

    def perform_request(  # noqa: PLR0913 - the client's own signature
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Any = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        pairs = f"?{urlencode(params)}" if params else ""
        address = f"{self.host}{self.url_prefix}{url}{pairs}"
        sent = {"content-type": "application/json", "accept": "application/json", **(headers or {})}
        reply, parsed = self._exchange.send(method, address, body, sent)
        return reply.status, {"content-type": _Json.mimetype}, parsed

    def close(self) -> None:
        """Leave the connections to the exchange, which owns them."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenSearchClient:
    """Asks OpenSearch through its official client."""

    client: OpenSearch
    options: Options

    def search(self, body: Body) -> Parsed:
        """Make one search, in the search pipeline if there is one."""
        given = self.options
        params = {name: _plain(value) for name, value in given.params.items()}
        if given.pipeline is not None:
            params["search_pipeline"] = given.pipeline
        return _parsed(lambda: self.client.search(body=body, index=given.index, params=params))

    def search_many(self, bodies: Sequence[Body]) -> Parsed:
        """Make several searches; OpenSearch 2.18 and later read the pipeline in each one's body."""
        given, lines = self.options, []
        for body in bodies:
            piped = {} if given.pipeline is None else {"search_pipeline": given.pipeline}
            lines += [dict(given.params), {**body, **piped}]
        return _parsed(lambda: self.client.msearch(body=lines, index=given.index))

    def explain(self, doc_id: str, query: Mapping[str, Any]) -> Parsed:
        """Explain how one document matches."""
        given = self.options
        params = {k: v for k, v in given.params.items() if k in ("routing", "preference")}
        return _parsed(
            lambda: self.client.explain(
                index=given.index, id=doc_id, body={"query": query}, params=params
            )
        )


def _parsed(call: Any) -> Parsed:
    try:
        found: Parsed = call()
    except OpenSearchException as error:
        raise SystemFailedError(f"opensearch-py refused: {described(error)}") from error
    return found


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def open_client(hosts: Sequence[str], exchange: Exchange, options: Options) -> OpenSearchClient:
    """Return a client that asks the hosts in turn, once, and remembers nothing of failures."""
    client = OpenSearch(
        [_host(address) for address in hosts],
        connection_class=_Connection,
        exchange=exchange,
        serializer=_Json(),
        max_retries=0,
        retry_on_status=(),
        retry_on_timeout=False,
        sniff_on_start=False,
        sniff_on_connection_fail=False,
        randomize_hosts=False,
    )
    return OpenSearchClient(client, options)


def _host(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return {
        "host": parts.hostname,
        "port": port,
        "scheme": parts.scheme,
        "url_prefix": parts.path,
    }
