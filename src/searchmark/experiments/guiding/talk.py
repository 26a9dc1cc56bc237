"""Who answers: a person at a terminal, or nobody, where files and options say everything."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from searchmark.reports.table import Look

T = TypeVar("T")


class Left(Exception):  # noqa: N818 - leaving is no error
    """A person left; everything is kept."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line said, so that nobody needs to be asked."""

    documents: Path | None = None
    names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    queries: Path | None = None
    generate: int | None = None
    judgments: Path | None = None
    k: int | None = None
    seed: int | None = None
    judge: str = "assessor"
    dense: bool = True
    restart: str | None = None


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """Something to ask: `read` makes a value of what was typed, or raises an InputError.

    `default` is what an empty line means. Where nobody is there, `missing` says what is not known
    and `option` what tells it on the command line.
    """

    text: str
    missing: str
    option: str
    read: Callable[[str], T]
    default: str | None = None


class Talk(Protocol):
    """Speaks with whoever is there."""

    @property
    def is_live(self) -> bool:
        """Whether a person can answer."""
        ...

    @property
    def look(self) -> Look:
        """How text should look."""
        ...

    @property
    def height(self) -> int:
        """How many lines are seen at once."""
        ...

    def tell(self, text: str) -> None:
        """Say something that is no result, whatever characters it holds."""
        ...

    def show(self, text: str) -> None:
        """Say something that was laid out and cleaned before."""
        ...

    def ask(self, question: Question[T]) -> T:
        """Return the answer; where nobody is there the default, or an InputError without one."""
        ...

    def keys(self) -> AbstractContextManager[Callable[[], str]]:
        """Give what waits for one key; an empty text means that nobody can type any more."""
        ...
