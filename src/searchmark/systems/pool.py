"""The systems of one project, each opened once and all closed together."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, SearchmarkError, nearest
from searchmark.systems import SYSTEMS
from searchmark.systems.calling import CalledSystem, called
from searchmark.systems.guard import hide
from searchmark.systems.logrecords import redacted_logs
from searchmark.systems.naming import Place, closing_error, opening_error
from searchmark.systems.protocol import Context, Entry, Kind, Progress
from searchmark.systems.redaction import redact_error
from searchmark.systems.secrets import Secrets

Tell = Callable[[BaseException, str, Place], SearchmarkError]


class Failed(NamedTuple):
    """A system that could not be used, and why; the error names it and its place."""

    system: str
    error: SearchmarkError
    place: Place = Place()

    @property
    def why(self) -> str:
        """What the error says, without the place."""
        if isinstance(self.error, InputError):
            return self.error.what
        return str(self.error).removeprefix(f"{self.place.shown}: ")


class Pool:
    """Opens systems by name when they are first needed; a context manager that closes them all.

    What it gives holds the limits of its calls, for whoever asks it: the runner, a hybrid. One that
    cannot be opened is not tried again. `locate` says where in which project file a system stands,
    for errors.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        corpus: Corpus,
        *,
        folder: Path,
        cache: Path,
        progress: Progress | None = None,
        locate: Callable[[str], Place] | None = None,
    ) -> None:
        self._entries = entries
        self._context = Context(corpus, folder, cache, self.open, progress)
        self._locate = locate or (lambda name: Place())
        self._open: dict[str, CalledSystem] = {}
        self._broken: dict[str, SearchmarkError] = {}
        self._unclosed: list[Failed] = []
        self._variables: dict[str, Mapping[str, str]] = {}
        self._opening: list[str] = []
        self._stack = ExitStack()

    def open(self, name: str) -> CalledSystem:
        """Return the open system called `name`; what is raised where it cannot be names it."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._open:
            self._first(name)
        self._context.secrets.note(self._variables[name])  # a system that it is part of uses them
        return self._open[name]

    def variables(self, name: str) -> Mapping[str, str]:
        """Return the variables of the environment that an open system, or a part of it, uses."""
        return self._variables[name]

    def _first(self, name: str) -> None:
        if name not in self._entries:
            raise InputError(f"no system is called '{name}'", fix=nearest(name, self._entries))
        if name in self._opening:
            circle = " -> ".join([*self._opening, name])
            raise InputError(f"systems are made of each other in a circle: {circle}")
        self._opening.append(name)
        try:
            entry = self._entries[name]
            with self._context.secrets.noting() as used:
                system = self._opened(entry)
            self._variables[name] = _lasting(entry, used)
            self._open[name] = system
        except (Exception, SystemExit) as error:
            known = next((e for e in self._broken.values() if e is error), None)
            told = known or self._told(opening_error, error, name)
            self._broken[name] = told
            raise told from told.__cause__
        finally:
            self._opening.pop()

    def _told(self, tell: Tell, error: BaseException, name: str) -> SearchmarkError:
        """Return the error as it is told, without secrets; the first one is its cause."""
        told = tell(error, name, self._locate(name))
        told.__cause__ = error
        redact_error(told, self._context.secrets)
        return told

    def _opened(self, entry: Entry) -> CalledSystem:
        kind: Kind = SYSTEMS.load(entry.use)
        context = replace(self._context, calls=entry.calls)
        with ExitStack() as opening:
            inner = opening.enter_context(kind.open(entry.name, entry.config, context))
            system = called(inner, entry.calls, context.secrets, keeps_time=kind.keeps_time)
            opening.callback(system.close)  # before the system itself is closed
            self._stack.callback(self._close, entry.name, opening.pop_all())
        return system

    def _close(self, name: str, system: ExitStack) -> None:
        """Close one system; what it raises keeps no other one from being closed."""
        try:
            system.close()
        except (Exception, SystemExit) as error:
            told = self._told(closing_error, error, name)
            self._unclosed.append(Failed(name, told, self._locate(name)))

    @property
    def secrets(self) -> Secrets:
        """What is kept out of whatever is told of its systems."""
        return self._context.secrets

    def close(self) -> list[Failed]:
        """Close every system that was opened, last one first, and return those that could not be.

        Each is told of once: leaving the pool afterwards raises nothing.
        """
        self._stack.close()
        unclosed, self._unclosed = self._unclosed, []
        return unclosed

    def __enter__(self) -> "Pool":
        """Return the pool; nothing is open yet."""
        hide(self._context.secrets.redact)
        self._stack.enter_context(redacted_logs(self._context.secrets))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close what is open; one that cannot be closed is an error where there is none yet."""
        unclosed = self.close()
        if unclosed and error is None:
            raise unclosed[0].error from unclosed[0].error.__cause__


def _lasting(entry: Entry, used: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose values belong to a system: not those that are renewed."""
    for name in entry.calls.renewed:
        if name not in used:
            raise InputError(
                f"systems.{entry.name}.renewed names the variable {name}, which the system does "
                "not use",
                fix=nearest(name, used),
            )
    return {name: value for name, value in used.items() if name not in entry.calls.renewed}
