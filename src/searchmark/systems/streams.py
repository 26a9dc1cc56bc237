"""Streams that code under test writes to."""

from collections.abc import Callable, Iterable
from typing import Any

Redact = Callable[[str], str]


class Kept:
    """A stream that can be written to, without secrets, but not closed."""

    def __init__(self, stream: Any, redact: Redact) -> None:
        self._stream, self._redact = stream, redact

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        return Kept(found, self._redact) if name in ("buffer", "raw") else found

    def __enter__(self) -> "Kept":
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def write(self, text: Any) -> int:
        """Write text or bytes; the length told is that of what was given."""
        if isinstance(text, str):
            self._stream.write(self._redact(text))
        elif isinstance(text, bytes | bytearray | memoryview):
            found = bytes(text).decode("utf-8", "surrogateescape")
            self._stream.write(self._redact(found).encode("utf-8", "surrogateescape"))
        else:
            self._stream.write(text)  # which tells what is wrong with it
        return len(text)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write each in turn."""
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Write what is kept back, and stay open."""
        self.flush()

    def detach(self) -> "Kept":
        """Give what lies below, as it stands."""
        return Kept(self._stream.buffer, self._redact)


class Sorted:
    """The program's own stream, for itself; an abandoned call that writes to it gets another."""

    def __init__(self, own: Any, other: Any, is_outside: Callable[[], bool]) -> None:
        self.own, self._other, self._is_outside = own, other, is_outside

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def __enter__(self) -> Any:
        return self._now().__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._now().__exit__(*error)

    def _now(self) -> Any:
        return self.own if self._is_outside() else self._other
