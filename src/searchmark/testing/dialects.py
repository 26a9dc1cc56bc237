"""How an answer looks on the wire: one dialect an engine, or a family of engines.

A dialect is any object with the three members of `Dialect`; `MisbehavingServer` takes one of the
names in `DIALECTS`, or ``module:attribute``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit

from searchmark.testing.plan import Missing, Row


class Request(NamedTuple):
    """One request as the server received it; names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Dialect(Protocol):
    """Finds the query texts in a request and writes answers as the engine would."""

    headers: Mapping[str, str]
    """Headers that every answer of the engine has."""

    def queries(self, request: Request) -> list[str] | None:
        """Return the query texts of a search; None for any other request, such as a ping."""
        ...

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        """Return the JSON answer: the rows of each query text. Of other requests rows are empty."""
        ...


class _Json:
    """``?q=TEXT``, or a JSON body with ``q``; ``{"hits": [{"id", "score"}], "total", "partial"}``.

    ``{"q": [TEXT, ...]}`` asks several at once and gives ``{"answers": [...]}``.
    """

    headers: Mapping[str, str] = {}

    def queries(self, request: Request) -> list[str] | None:
        if request.body:
            asked = json.loads(request.body).get("q")
        else:
            asked = parse_qs(urlsplit(request.path).query, keep_blank_values=True).get("q")
        return [asked] if isinstance(asked, str) else asked

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        found = [
            {"hits": [record(r, "id", "score") for r in one], "total": len(one), "partial": partial}
            for one in rows
        ]
        return found[0] if len(found) == 1 else {"answers": found}


class _OpenSearch:
    """``_search`` and ``_msearch``; the text is the first string found under a key ``query``."""

    headers: Mapping[str, str] = {"X-Elastic-Product": "Elasticsearch"}

    def queries(self, request: Request) -> list[str] | None:
        path = urlsplit(request.path).path
        if path.endswith("/_msearch"):
            bodies = request.body.decode("utf-8").splitlines()[1::2]
            return [_first_text(json.loads(body)) for body in bodies]
        if path.endswith("/_search"):
            return [_first_text(json.loads(request.body))]
        return None

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        found = [self._one(one, partial) for one in rows]
        if urlsplit(request.path).path.endswith("/_msearch"):
            return {"took": 1, "responses": [{**one, "status": 200} for one in found]}
        if not found:
            number = {"number": "8.19.0", "distribution": "opensearch"}
            return {"cluster_name": "contract", "version": number, "tagline": "for tests"}
        return found[0]

    def _one(self, rows: Sequence[Row], partial: bool) -> dict[str, Any]:
        scores = [r.score for r in rows if isinstance(r.score, float)]
        return {
            "took": 1,
            "timed_out": partial,
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                "total": {"value": len(rows), "relation": "eq"},
                "max_score": max(scores, default=None),
                "hits": [{"_index": "i", **record(r, "_id", "_score")} for r in rows],
            },
        }


class _Embeddings:
    """OpenAI's ``/v1/embeddings``: a vector of eight numbers for each text of ``input``."""

    headers: Mapping[str, str] = {}

    def queries(self, request: Request) -> list[str] | None:
        if not request.body:
            return None
        given = json.loads(request.body).get("input")
        return [given] if isinstance(given, str) else given

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        texts = self.queries(request) or []
        asked = list(zip(texts, rows, strict=False))
        data = [
            {"object": "embedding", "index": i, "embedding": vector(text)}
            for i, (text, found) in enumerate(asked)
            if found
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return {"object": "list", "model": "contract", "data": data, "usage": usage}


class _Chat:
    """OpenAI's ``/v1/chat/completions``: the last message asks, a JSON list of ids answers."""

    headers: Mapping[str, str] = {}

    def queries(self, request: Request) -> list[str] | None:
        messages = json.loads(request.body).get("messages") if request.body else None
        return [messages[-1]["content"]] if messages else None

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        ids = [r.id for one in rows for r in one if r.id is not Missing]
        message = {"role": "assistant", "content": json.dumps(ids, ensure_ascii=False)}
        choice = {"index": 0, "message": message, "finish_reason": "length" if partial else "stop"}
        return {
            "id": "contract",
            "object": "chat.completion",
            "created": 0,
            "model": "contract",
            "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


class _Rerank:
    """``/rerank``: ``{"query", "documents"}``; the n-th document gets the n-th row's score."""

    headers: Mapping[str, str] = {}

    def queries(self, request: Request) -> list[str] | None:
        asked = json.loads(request.body).get("query") if request.body else None
        return None if asked is None else [asked]

    def answer(
        self, request: Request, rows: Sequence[Sequence[Row]], partial: bool
    ) -> dict[str, Any]:
        scores = [r.score for one in rows for r in one]
        results = [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]
        return {"model": "contract", "results": results}


DIALECTS: Mapping[str, Dialect] = {
    "json": _Json(),
    "opensearch": _OpenSearch(),
    "embeddings": _Embeddings(),
    "chat": _Chat(),
    "rerank": _Rerank(),
}
"""The dialects that come along, by name."""


def find_dialect(name: str) -> Dialect:
    """Return a dialect of the table, or the one at ``module:attribute``."""
    if name in DIALECTS:
        return DIALECTS[name]
    module, _, attribute = name.partition(":")
    found: Dialect = getattr(import_module(module), attribute)
    return found


def record(row: Row, id_key: str, score_key: str) -> dict[str, Any]:
    """Return a result as an object; a value that is missing leaves its key out."""
    pairs = ((id_key, row.id), (score_key, row.score))
    return {key: value for key, value in pairs if value is not Missing}


def vector(text: str) -> list[float]:
    """Return eight numbers that depend on nothing but the text."""
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return [byte / 255 for byte in digest[:8]]


def _first_text(document: Any) -> str:
    return next(_texts(document), "")


def _texts(document: Any) -> Iterator[str]:
    if isinstance(document, Mapping):
        for key, value in document.items():
            if key == "query" and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)
    elif isinstance(document, list):
        for value in document:
            yield from _texts(value)
