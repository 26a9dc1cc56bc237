"""The systems of one project, each opened once and all closed together."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, nearest
from searchmark.systems import SYSTEMS
from searchmark.systems.protocol import Context, Entry, Kind, Progress, System


class Pool:
    """Opens systems by name when they are first needed; a context manager that closes them all."""

    def __init__(
        self,
        entries: Mapping[str, Entry],
        corpus: Corpus,
        *,
        folder: Path,
        cache: Path,
        progress: Progress | None = None,
    ) -> None:
        self._entries = entries
        self._context = Context(corpus, folder, cache, self.open, progress)
        self._open: dict[str, System] = {}
        self._opening: list[str] = []
        self._stack = ExitStack()

    def open(self, name: str) -> System:
        """Return the open system called `name`."""
        if name in self._open:
            return self._open[name]
        if name not in self._entries:
            raise InputError(f"no system is called '{name}'", fix=nearest(name, self._entries))
        if name in self._opening:
            circle = " -> ".join([*self._opening, name])
            raise InputError(f"systems are made of each other in a circle: {circle}")
        entry = self._entries[name]
        kind: Kind = SYSTEMS.load(entry.use)
        self._opening.append(name)
        try:
            context = replace(self._context, calls=entry.calls)
            system = self._stack.enter_context(kind.open(name, entry.config, context))
        finally:
            self._opening.pop()
        self._open[name] = system
        return system

    def __enter__(self) -> "Pool":
        """Return the pool; nothing is open yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every system that was opened, last one first."""
        self._stack.close()
