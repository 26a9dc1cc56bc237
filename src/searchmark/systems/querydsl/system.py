"""A system that is asked in the query DSL, and how one is opened; the client is what differs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Protocol

from searchmark.errors import InputError, SystemFailedError
from searchmark.systems.explanation import Explanation
from searchmark.systems.models import open_query_model
from searchmark.systems.protocol import Answer, Context, Query, System
from searchmark.systems.querydsl.config import Config
from searchmark.systems.querydsl.exchange import Exchange, Parsed, addresses, open_exchange
from searchmark.systems.querydsl.hits import Reading, reading
from searchmark.systems.querydsl.reasons import of_document, of_hit
from searchmark.systems.querydsl.template import (
    ID,
    Source,
    Template,
    default_template,
    read_template,
)

Body = dict[str, Any]


class Client(Protocol):
    """What is asked of an engine's official client."""

    def search(self, body: Body) -> Parsed:
        """Make one search."""
        ...

    def search_many(self, bodies: Sequence[Body]) -> Parsed:
        """Make several searches in one request."""
        ...

    def explain(self, doc_id: str, query: Mapping[str, Any]) -> Parsed:
        """Explain how one document matches."""
        ...


class OpenClient(Protocol):
    """Opens an engine's official client; it must not ask the engine anything."""

    def __call__(self, hosts: Sequence[str], exchange: Exchange, options: "Options") -> Client:
        """Return the client."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What every search is sent with beside its body; none of it is a secret."""

    index: str
    params: Mapping[str, Any]
    pipeline: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QueryDslSystem:
    """Fills the template, has the client send it, and reads the hits."""

    name: str
    client: Client
    template: Template
    reading: Reading
    is_by_id: bool
    tags: frozenset[str] = frozenset()
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return the engine's first `k` hits."""
        return self.reading.answer(self.client.search(self.template.body(query, k)), k)

    def search_many(self, queries: Sequence[Query], k: int) -> list[Answer | SystemFailedError]:
        """Return the hits of each query, asked for in one request; each may fail by itself."""
        made: list[Body | SystemFailedError] = [self._body(query, k) for query in queries]
        bodies = [body for body in made if not isinstance(body, SystemFailedError)]
        found: list[Answer | SystemFailedError] = []
        if bodies:
            found = self.reading.answers(self.client.search_many(bodies), len(bodies), k)
        rest = iter(found)
        return [m if isinstance(m, SystemFailedError) else next(rest) for m in made]

    def _body(self, query: Query, k: int) -> Body | SystemFailedError:
        try:
            return self.template.body(query, k)
        except SystemFailedError as error:
            return error

    def explain(self, query: Query, doc_id: str, k: int = 100) -> Explanation:
        """Return why the document is ranked where it is, or why it is not among the `k` first."""
        body = self.template.body(query, k)
        found = self.client.search({**body, "size": k, "explain": True})
        hits = self.reading.answer(found, k).hits
        for i, hit in enumerate(hits):
            if hit.doc_id == doc_id:
                raw = found.document["hits"]["hits"][i]
                return of_hit(doc_id, k, i + 1, hit.score, raw)
        if self.is_by_id and isinstance(body.get("query"), Mapping):
            return of_document(doc_id, k, self.client.explain(doc_id, body["query"]).document)
        told = f"it is not among the {k} first, and the engine explains documents beyond them only "
        return Explanation(doc_id, k, note=told + "by _id, for searches that have a query")


@contextmanager
def open_system(
    name: str, config: Config, context: Context, package: str, open_client: Callable[[], OpenClient]
) -> Iterator[System]:
    """Read the template and open the client; the engine is not asked yet."""
    if find_spec(package) is None:
        extra = package.removesuffix("py")
        raise InputError(
            f"system '{name}' needs {package}", fix=f"pip install 'searchmark[{extra}]'"
        )
    source, secrets = _source(config, context), context.secrets
    identity = {} if source.digest is None else {"template": source.digest}
    embed = None
    if source.needs_embedding:
        embed, identity["model"] = open_query_model(config.model or "", context.folder)
    params = {
        **{k: secrets.expand_in(v, key=f"params.{k}") for k, v in config.params.items()},
        **_given(config, secrets.expand),
    }
    pipeline = getattr(config, "search_pipeline", None)
    options = Options(
        secrets.expand(config.index, key="index"),
        params,
        None if pipeline is None else secrets.expand(pipeline, key="search_pipeline"),
    )
    hosts = addresses(config, secrets)
    with open_exchange(config, context) as exchange:
        yield QueryDslSystem(
            name,
            open_client()(hosts, exchange, options),
            Template(source.expanded(secrets), embed),
            reading(config.id_field, config.tokens, secrets),
            config.id_field == ID,
            frozenset(config.tags) or _tags(config),
            identity,
        )


def _source(config: Config, context: Context) -> Source:
    if config.template is None:
        fields, whole = config.fields or [], isinstance(config.tokens, str)
        return Source(default_template(fields, config.id_field, whole=whole))
    if isinstance(config.template, str):
        return read_template(context.folder / config.template, config.model)
    return Source(config.template)


def _given(config: Config, expand: Callable[..., str]) -> dict[str, str]:
    """Return the parameters that are keys of their own."""
    given = {"routing": config.routing, "preference": config.preference}
    return {key: expand(value, key=key) for key, value in given.items() if value is not None}


def _tags(config: Config) -> frozenset[str]:
    return frozenset({"lexical"} if config.template is None else ())
