"""A LlamaIndex retriever of the user's own as a system."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import msgspec

from searchmark.errors import Problem
from searchmark.systems.guard import guarded
from searchmark.systems.imported import reference_problems
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System, Tag
from searchmark.systems.retrieved import hits_of, path_problems
from searchmark.systems.retriever import Retriever, open_retriever
from searchmark.systems.returned import listed

METHODS = ("retrieve", "aretrieve")

LENGTHS = ("similarity_top_k", "_similarity_top_k")
"""What retrievers of this library call the number of results; not all of them make it public."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "llamaindex"``.

    `retriever` is ``module:attribute``, a retriever or a function that makes one, looked up beside
    the project file first. `id` is where the id stands in each node, such as ``metadata.doc_id``;
    without it, it is the id of the document that the node was cut from, or else the node's own.
    `tags` says what it is: lexical, vector, hybrid.
    """

    retriever: str
    id: str | None = None
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class LlamaIndexSystem:
    """Asks the retriever once a query; its score of a node is the hit's."""

    name: str
    retriever: Retriever
    config: Config
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the retriever returns, cut at `k`."""
        with guarded():
            found = self.retriever.ask(METHODS, with_depth(self.retriever.value, k), query.text)
            nodes = map(_Found, listed(found, "a list of documents is"))
            return Answer(hits_of(nodes, k, id=self.config.id or "source", score="score"))


class _Found:
    """A node with its score; attributes are the node's."""

    def __init__(self, item: Any) -> None:
        self.score = getattr(item, "score", None)
        self._node = getattr(item, "node", item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    @property
    def source(self) -> Any:
        """The document that the node was cut from, or else the node."""
        return getattr(self._node, "ref_doc_id", None) or getattr(self._node, "node_id", None)


def with_depth(retriever: Any, k: int) -> Any:
    """Return a retriever that is asked for `k` results: a copy where it holds such a number."""
    for name in LENGTHS:
        held = getattr(retriever, name, None)
        if isinstance(held, int) and held != k:
            copied = copy(retriever)
            setattr(copied, name, k)
            return copied
    return retriever


@contextmanager
def open_llamaindex(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the retriever, or what makes it."""
    opening = open_retriever(
        config.retriever,
        library="LlamaIndex retriever",
        methods=METHODS,
        system=name,
        folder=context.folder,
    )
    with opening as retriever:
        tags = frozenset(config.tags)
        yield LlamaIndexSystem(name, retriever, config, tags, retriever.identity)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report names and paths that are not written as such."""
    return [*reference_problems(config.retriever, "retriever"), *path_problems(config.id, None)]


LLAMAINDEX = Kind(Config, open_llamaindex, find_problems)
