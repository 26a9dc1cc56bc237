"""A LangChain retriever of the user's own as a system."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from searchmark.errors import Problem
from searchmark.systems.guard import guarded
from searchmark.systems.imported import reference_problems
from searchmark.systems.protocol import Answer, Context, Entry, Kind, Query, System, Tag
from searchmark.systems.retrieved import hits_of, path_problems
from searchmark.systems.retriever import Retriever, open_retriever

METHODS = ("invoke", "ainvoke")

LENGTHS = ("k", "top_k")
"""What retrievers call the number of results, as an argument or as a field of theirs."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a system with ``use = "langchain"``.

    `retriever` is ``module:attribute``, a retriever or a function that makes one, looked up beside
    the project file first. `id` and `score` are where they stand in each document, such as
    ``metadata.doc_id``. `tags` says what it is: lexical, vector, hybrid.
    """

    retriever: str
    id: str = "id"
    score: str | None = None
    tags: list[Tag] = []


@dataclass(frozen=True, slots=True, eq=False)
class LangChainSystem:
    """Invokes the retriever once a query."""

    name: str
    retriever: Retriever
    config: Config
    tags: frozenset[str]
    identity: Mapping[str, str] = field(default_factory=dict)

    def search(self, query: Query, k: int) -> Answer:
        """Return what the retriever returns, cut at `k`."""
        with guarded():
            retriever, arguments = with_depth(self.retriever.value, k)
            found = self.retriever.ask(METHODS, retriever, query.text, **arguments)
            return Answer(hits_of(found, k, id=self.config.id, score=self.config.score))


def with_depth(retriever: Any, k: int) -> tuple[Any, dict[str, int]]:
    """Return a retriever that is asked for `k` results, and the arguments that ask it.

    One that holds its number is copied with another; one whose method takes a number (that of
    every vector store does, among its search arguments) is given it. Of others the first `k` are
    taken.
    """
    for name in LENGTHS:
        if isinstance(getattr(retriever, name, None), int) and hasattr(retriever, "model_copy"):
            return retriever.model_copy(update={name: k}), {}
    taken = _parameters(retriever)
    for name in LENGTHS:
        if name in taken:
            return retriever, {name: k}
    is_store = isinstance(getattr(retriever, "search_kwargs", None), dict)
    return retriever, {"k": k} if is_store and "kwargs" in taken else {}


def _parameters(retriever: Any) -> set[str]:
    method = getattr(retriever, "_get_relevant_documents", None)
    return set() if method is None else set(inspect.signature(method).parameters)


@contextmanager
def open_langchain(name: str, config: Config, context: Context) -> Iterator[System]:
    """Import the retriever, or what makes it."""
    opening = open_retriever(
        config.retriever,
        library="LangChain retriever",
        methods=METHODS,
        system=name,
        folder=context.folder,
    )
    with opening as retriever:
        tags = frozenset(config.tags)
        yield LangChainSystem(name, retriever, config, tags, retriever.identity)


def find_problems(config: Config, name: str, systems: Mapping[str, Entry]) -> list[Problem]:
    """Report names and paths that are not written as such."""
    return [
        *reference_problems(config.retriever, "retriever"),
        *path_problems(config.id, config.score),
    ]


LANGCHAIN = Kind(Config, open_langchain, find_problems)
