"""The keys that `opensearch` and `elasticsearch` share, and what can be wrong with them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from searchmark.errors import Problem
from searchmark.systems.http.access import Access, access_problems
from searchmark.systems.http.address import (
    address_problem,
    header_problem,
    parameters_problem,
    repeated,
    written_problem,
)
from searchmark.systems.literals import body_secret_problems, literal_secret_problems
from searchmark.systems.protocol import Entry, Tag
from searchmark.systems.querydsl.template import ID, template_problems
from searchmark.systems.selection import selection_problems

OWN_HEADERS = ("authorization", "content-type", "accept")
"""Headers that belong to other keys, or to the client."""

IN_BODY = frozenset(
    [
        "_source",
        "aggregations",
        "aggs",
        "collapse",
        "derived",
        "docvalue_fields",
        "explain",
        "ext",
        "fields",
        "from",
        "from_",
        "highlight",
        "indices_boost",
        "knn",
        "min_score",
        "pit",
        "post_filter",
        "profile",
        "q",
        "query",
        "rank",
        "rescore",
        "retriever",
        "runtime_mappings",
        "script_fields",
        "search_after",
        "seq_no_primary_term",
        "size",
        "slice",
        "sort",
        "source",
        "stats",
        "stored_fields",
        "suggest",
        "terminate_after",
        "track_scores",
        "track_total_hits",
        "version",
    ]
)
"""What a search's body says: beside the body it stands twice, and in a batch it is refused."""


class Config(Access, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system that is asked in the query DSL; docs/systems/opensearch.md tells of each."""

    hosts: str | list[str]
    index: str
    template: str | dict[str, Any] | None = None
    fields: list[str] | None = None
    id_field: str = ID
    routing: str | None = None
    preference: str | None = None
    params: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    tokens: str | float | None = None
    model: str | None = None
    tags: list[Tag] = msgspec.field(default_factory=list)

    @property
    def addresses(self) -> list[str]:
        """The hosts as a list."""
        return [self.hosts] if isinstance(self.hosts, str) else self.hosts


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report what is wrong without asking anybody."""
    return [
        *_hosts(config),
        *_target(config),
        *template_problems(config.template, config.fields, model=config.model),
        *selection_problems(tokens=config.tokens),
        *_numbers(config),
        *_access(config),
    ]


def _hosts(config: Config) -> Iterator[Problem]:
    if not config.addresses:
        yield Problem("hosts", "names no host")
    for i, address in enumerate(config.addresses):
        key = "hosts" if isinstance(config.hosts, str) else f"hosts[{i}]"
        yield from (p._replace(key=key) for p in literal_secret_problems(url=address))
        if (told := written_problem(address, node_problem)) is not None:
            yield Problem(key, told)


def node_problem(address: str) -> str | None:
    """Say why an address is none that a node can have."""
    told = address_problem(address)
    if told is None and parameters_problem(address) is not None:
        return "holds parameters; write them under params"
    return told


def _target(config: Config) -> Iterator[Problem]:
    if not config.index or re.search(r"[\s/?#\\]", config.index):
        yield Problem("index", "must name an index, an alias, or several joined by commas")
    if not config.id_field or "" in config.id_field.split("."):
        yield Problem("id_field", "must be _id, or the path of a field, as in catalog.sku")
    for key in ("routing", "preference", "search_pipeline"):
        if getattr(config, key, None) == "":
            yield Problem(key, "is empty")
        if key in config.params:
            yield Problem(f"params.{key}", f"is a key of its own: {key}")
    if "timeout" in config.params or "request_timeout" in config.params:
        yield Problem("params", "the time limit is timeout_s; the engine's own is in the template")
    for key in config.params:
        if key in IN_BODY:
            yield Problem(f"params.{key}", "belongs into the body of the search: the template")


def _numbers(config: Config) -> Iterator[Problem]:
    if isinstance(config.tokens, float) and not 0 <= config.tokens < float("inf"):
        yield Problem("tokens", f"{config.tokens:g} is not 0 or more")


def _access(config: Config) -> Iterator[Problem]:
    """Report what is wrong with what the system shows of itself, or what it should keep secret."""
    given = [key for key in ("basic", "bearer", "api_key") if getattr(config, key) is not None]
    for key in given[1:]:
        yield Problem(key, f"there is {given[0]} already; a request has one of them")
    yield from access_problems(config)
    for name, value in config.headers.items():
        if name.lower() in OWN_HEADERS:
            told = "is written by the keys basic, bearer and api_key, or by the client"
            yield Problem(f"headers.{name}", told)
        elif (problem := header_problem(name, value)) is not None:
            yield Problem(f"headers.{name}", problem)
    for name in repeated(config.headers):
        yield Problem(f"headers.{name}", "stands there twice")
    yield from literal_secret_problems(headers=config.headers, values=config.credentials)
    yield from body_secret_problems("params", config.params)
    if isinstance(config.template, Mapping):
        yield from body_secret_problems("template", config.template)
    yield from (p._replace(key="proxy") for p in literal_secret_problems(url=config.proxy))
