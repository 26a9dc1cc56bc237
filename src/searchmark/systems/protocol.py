"""What a system is: a named thing that answers queries."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from searchmark.systems.policy import CallPolicy
from searchmark.systems.secrets import Secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from searchmark.data.corpus import Corpus
    from searchmark.data.filters import Filter
    from searchmark.errors import Problem, SystemFailedError

Tag = Literal["lexical", "vector", "hybrid"]
"""What a system is: by words, by meaning, or both joined."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a system is asked: a text, and hard filters that were already cut from it.

    The golden set's own filters are for measures and are never in here.
    """

    query_id: str
    text: str
    filters: "tuple[Filter, ...]" = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved document; a system that gives no score, or no count of tokens, leaves it None.

    `tokens` is what the result costs the reader: the length of what the system printed for it.
    """

    doc_id: str
    score: float | None = None
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking, best first. `partial` says that a part of the system did not take part.

    `is_given` is False where the system was never asked: a query that a run file does not hold.
    `total` is how many documents the system says match, `size` the length of its raw answer in
    bytes, both None where nobody knows. Whoever calls a system notes the how-manyth attempt it was
    and, where the system did not measure it, how long it took.
    """

    hits: tuple[Hit, ...]
    partial: bool = False
    is_given: bool = True
    total: int | None = None
    size: int | None = None
    latency_ms: float | None = None
    attempts: int = 1


class System(Protocol):
    """Answers queries; anything it raises is recorded as an error, never as an empty answer."""

    @property
    def name(self) -> str:
        """The name tables and bundles show."""
        ...

    @property
    def tags(self) -> frozenset[str]:
        """What it is: lexical, vector, hybrid."""
        ...

    @property
    def identity(self) -> Mapping[str, str]:
        """What its rankings depend on beyond its configuration, such as a model's digest."""
        ...

    def search(self, query: Query, k: int) -> Answer:
        """Return at most `k` documents, best first."""
        ...


class BatchSystem(System, Protocol):
    """A system that can be asked several queries in one call."""

    def search_many(self, queries: "Sequence[Query]", k: int) -> "list[Answer | SystemFailedError]":
        """Return each query's answer or failure; raise where the whole call failed."""
        ...


class Progress(Protocol):
    """Is told how far long work has come."""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` are done of `what`."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One system of a project: its name, the kind it uses, that kind's configuration, limits."""

    name: str
    use: str
    config: "msgspec.Struct"
    calls: CallPolicy = field(default_factory=CallPolicy)


@dataclass(frozen=True, slots=True)
class Context:
    """What a system may need when it is opened.

    `folder` holds the project file, `cache` whatever can be made again; `open` gives another system
    of the project by name; `progress` is told about long work. `calls` are the limits of the system
    that is opened: an adapter whose kind keeps time applies `timeout_s` itself. `secrets` puts
    values of the environment into what is configured, and takes them out of what is told.
    """

    corpus: "Corpus"
    folder: Path
    cache: Path
    open: "OpenByName"
    progress: Progress | None = None
    calls: CallPolicy = field(default_factory=CallPolicy)
    secrets: Secrets = field(default_factory=Secrets)

    def tell(self, what: str, done: int, total: int) -> None:
        """Report progress where anybody listens."""
        if self.progress is not None:
            self.progress(what, done, total)


class OpenByName(Protocol):
    """Opens a system of the project once, however often it is asked for."""

    def __call__(self, name: str) -> System:
        """Return the open system called `name`."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of system: what its table in the project file holds and how one is opened.

    `config` is a msgspec Struct type. `open` returns a context manager that gives the System.
    `problems` reports what is wrong with a decoded configuration, given the other entries. `calls`
    are the limits that hold where the project file sets none. `keeps_time` says that a call ends by
    itself at `timeout_s`; others are left running in a thread of their own.
    """

    config: "type[msgspec.Struct]"
    open: "OpenKind"
    problems: "FindProblems | None" = None
    tags: frozenset[str] = field(default_factory=frozenset)
    calls: CallPolicy = field(default_factory=CallPolicy)
    keeps_time: bool = False


class OpenKind(Protocol):
    """Opens one system of a kind."""

    def __call__(self, name: str, config: Any, context: Context) -> AbstractContextManager[System]:
        """Return a context manager that gives the open system."""
        ...


class FindProblems(Protocol):
    """Reports what is wrong with a configuration."""

    def __call__(self, config: Any, name: str, systems: Mapping[str, Entry]) -> "list[Problem]":
        """Return the problems; keys are relative to the system's own table."""
        ...
