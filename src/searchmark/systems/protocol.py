"""What a system is: a named thing that answers queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import msgspec

from searchmark.data.corpus import Corpus
from searchmark.data.filters import Filter


@dataclass(frozen=True, slots=True)
class Query:
    """What a system is asked: a text, and hard filters that were already cut from it.

    The golden set's own filters are for measures and are never in here.
    """

    query_id: str
    text: str
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved document; a system that gives no score leaves it None."""

    doc_id: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking, best first. `partial` says that a part of the system did not take part."""

    hits: tuple[Hit, ...]
    partial: bool = False


class System(Protocol):
    """Answers queries; anything it raises is recorded as an error, never as an empty answer."""

    name: str
    tags: frozenset[str]

    def search(self, query: Query, k: int) -> Answer:
        """Return at most `k` documents, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """What a system may need when it is opened: the corpus, folders, the other systems.

    `folder` holds the project file, `cache` whatever can be made again. `progress` is called with
    (what, done, total) during long work. `configs` are the project's systems by name.
    """

    corpus: Corpus
    folder: Path
    cache: Path
    configs: Mapping[str, "msgspec.Struct"]
    progress: "Progress | None" = None

    def tell(self, what: str, done: int, total: int) -> None:
        """Report progress where anybody listens."""
        if self.progress is not None:
            self.progress(what, done, total)


class Progress(Protocol):
    """Is told how far long work has come."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` are done of `what`."""
        ...


class Closing:
    """A system that holds nothing open: entering and leaving do nothing."""

    def __enter__(self) -> Any:
        """Return the system itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hold nothing, so let nothing go."""
