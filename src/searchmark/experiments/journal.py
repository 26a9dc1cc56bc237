"""The journal of a run under way: one line an answered query, so that a kill loses one at most."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from pathlib import Path
from zlib import crc32

import msgspec

from searchmark.errors import InputError, OutsideError, shown_path
from searchmark.experiments.holding import hold
from searchmark.experiments.soundness import flaw


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One query asked of one system: the ranking and how the asking went.

    `status` is ok, empty, missing (a run file does not hold the query), error, timeout, or unasked
    where the run was given up before. `latency_ms` is that of the last of the `attempts`, without
    waits; of a batch of `batch` queries that of the whole call. `tokens` has an entry a document
    where any has them. `total` is how many match as the system says, `size` the bytes of its
    answer. Calls made while the system was still cold are `warmup`.
    """

    query_id: str
    status: str
    latency_ms: float
    doc_ids: list[str] = []
    scores: list[float | None] = []
    attempts: int = 1
    error: str | None = None
    partial: bool = False
    tokens: list[float | None] = []
    size: int | None = None
    total: int | None = None
    warmup: bool = False
    batch: int = 1

    @property
    def is_answer(self) -> bool:
        """Whether the system answered, be it with nothing."""
        return self.status in ("ok", "empty")

    @property
    def is_failure(self) -> bool:
        """Whether the asking ended in an error or a time-out, or never began."""
        return self.status in ("error", "timeout", "unasked")


class Journal:
    """Calls made so far, in a file that only grows.

    `damaged` are the numbers of lines that could not be read when it was opened: the queries that
    they answered are asked again.
    """

    def __init__(
        self, path: Path, stream: FileIO, calls: dict[str, Call], damaged: tuple[int, ...] = ()
    ) -> None:
        self.path, self.calls, self.damaged = path, calls, damaged
        self._stream, self._size = stream, stream.seek(0, os.SEEK_END)

    def append(self, call: Call) -> None:
        """Write one call; once this returns, a killed process no longer loses it."""
        line = memoryview(_line_of(call))
        whole = self._size + len(line)
        try:
            while line:
                line = line[self._stream.write(line) :]
        except OSError as error:
            with suppress(OSError):  # half a line would be dropped the next time, too
                self._stream.truncate(self._size)
            raise OutsideError(
                f"{shown_path(self.path)}: an answer cannot be kept ({error.strerror}); make room "
                "there, and the same command goes on with what is not kept yet"
            ) from error
        self._size = whole
        self.calls[call.query_id] = call


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open the journal for one run, with the answers that an earlier, interrupted one left.

    A last line that was cut off by a kill is dropped, and so are failed calls and partial answers:
    they are asked again, as is what a damaged line answered. Two runs that would write the same
    journal at once are refused.
    """
    with _opened(path) as stream:
        if not hold(stream):
            raise InputError(
                "another run of the same system over the same inputs is under way",
                path=path,
                fix="wait for it or end it",
            )
        yield Journal(path, stream, *_read(stream))


def damage_notes(system: str, journal: Journal) -> Iterator[str]:
    """Tell of the lines of a journal that could not be read."""
    found, path = journal.damaged, shown_path(journal.path)
    if len(found) == 1:
        yield (
            f"{system}: line {found[0]} of {path} is damaged and was left out; the query "
            "that it answered was asked again."
        )
    elif found:
        yield (
            f"{system}: {len(found)} lines of {path}, line {found[0]} first, are damaged "
            "and were left out; the queries that they answered were asked again."
        )


def _opened(path: Path) -> FileIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+b", buffering=0)
    except OSError as error:
        raise InputError(
            f"a run cannot keep its answers here ({error.strerror})",
            path=path,
            fix="this has to be a file that may be written, or nothing; move away what is there",
        ) from error


def _read(stream: FileIO) -> tuple[dict[str, Call], tuple[int, ...]]:
    """Read what is whole, cut off a last line without an end, and keep what was answered."""
    calls: dict[str, Call] = {}
    damaged = list[int]()
    size, tail = 0, b""
    stream.seek(0)
    reader = BufferedReader(stream)
    for number, line in enumerate(reader, 1):
        if not line.endswith(b"\n"):
            tail = line
            break
        size += len(line)
        if not (text := line.strip(BLANKS)):
            continue
        call = _call_of(text)
        if call is None:
            damaged.append(number)
        elif not call.is_failure and not call.partial:
            calls[call.query_id] = call
    reader.detach()
    if tail:
        stream.truncate(size)
    return calls, tuple(damaged)


_DECODER = msgspec.json.Decoder(Call)
_ENCODER = msgspec.json.Encoder()
_SUM = re.compile(rb'\{"sum":"([0-9a-f]{8})",')
BLANKS = b" \t\r\n\xef\xbb\xbf"
"""What an editor may put around a line: blanks, other line ends, a mark at the beginning."""


def _line_of(call: Call) -> bytes:
    """Return a call as a line: JSON that begins with the checksum of what follows it."""
    rest = _ENCODER.encode(call)[1:]
    return b'{"sum":"%08x",%s\n' % (crc32(rest), rest)


def _call_of(text: bytes) -> Call | None:
    """Return the call of a line; None where the line is damaged. Early ones have no checksum."""
    found = _SUM.match(text)
    if found is None and not text.startswith(b'{"query_id"'):
        return None
    if found is not None and int(found[1], 16) != crc32(text[found.end() :]):
        return None
    try:
        call = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return call if flaw(call) is None else None
