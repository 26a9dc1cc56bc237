"""The systems of one project, each opened once and all closed together."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from searchmark.data.corpus import Corpus
from searchmark.errors import InputError, nearest
from searchmark.systems import SYSTEMS
from searchmark.systems.calling import CalledSystem, called
from searchmark.systems.guard import hide
from searchmark.systems.logrecords import redacted_logs
from searchmark.systems.protocol import Context, Entry, Kind, Progress
from searchmark.systems.redaction import redact_error


class Pool:
    """Opens systems by name when they are first needed; a context manager that closes them all.

    What it gives holds the limits of its calls, for whoever asks it: the runner, a hybrid.
    """

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
        self._open: dict[str, CalledSystem] = {}
        self._opening: list[str] = []
        self._stack = ExitStack()

    def open(self, name: str) -> CalledSystem:
        """Return the open system called `name`."""
        if name in self._open:
            return self._open[name]
        if name not in self._entries:
            raise InputError(f"no system is called '{name}'", fix=nearest(name, self._entries))
        if name in self._opening:
            circle = " -> ".join([*self._opening, name])
            raise InputError(f"systems are made of each other in a circle: {circle}")
        self._opening.append(name)
        try:
            with self._redacted():
                self._open[name] = self._opened(self._entries[name])
        finally:
            self._opening.pop()
        return self._open[name]

    def _opened(self, entry: Entry) -> CalledSystem:
        kind: Kind = SYSTEMS.load(entry.use)
        context = replace(self._context, calls=entry.calls)
        inner = self._stack.enter_context(kind.open(entry.name, entry.config, context))
        system = called(inner, entry.calls, context.secrets, keeps_time=kind.keeps_time)
        self._stack.callback(system.close)  # before the system itself is closed
        return system

    @contextmanager
    def _redacted(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            found = redact_error(error, self._context.secrets)
            if found is error:
                raise
            raise found from None

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
        """Close every system that was opened, last one first."""
        with self._redacted():
            self._stack.close()
