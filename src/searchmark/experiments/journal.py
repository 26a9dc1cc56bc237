"""The journal of a run under way: one line an answered query, so that a kill loses one at most."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from searchmark.errors import InputError
from searchmark.experiments.holding import hold


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
    """Calls made so far, in a file that only grows."""

    def __init__(self, path: Path, stream: IO[bytes], calls: dict[str, Call]) -> None:
        self.path, self._stream, self.calls = path, stream, calls
        self._encoder = msgspec.json.Encoder()

    def append(self, call: Call) -> None:
        """Write one call; once this returns, a killed process no longer loses it."""
        self._stream.write(self._encoder.encode(call) + b"\n")
        self._stream.flush()
        self.calls[call.query_id] = call


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open the journal for one run, with the answers that an earlier, interrupted one left.

    A last line that was cut off by a kill is dropped, and so are failed calls and partial answers:
    they are asked again. Two runs that would write the same journal at once are refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        if not hold(stream):
            raise InputError(
                "another run of the same system over the same inputs is under way",
                path=path,
                fix="wait for it or end it",
            )
        calls = _read(stream)
        stream.seek(0, os.SEEK_END)
        yield Journal(path, stream, calls)


def _read(stream: IO[bytes]) -> dict[str, Call]:
    """Read what is whole, cut the file after it, and keep what was answered."""
    decoder = msgspec.json.Decoder(Call)
    calls: dict[str, Call] = {}
    good = 0
    stream.seek(0)
    for line in stream:
        try:
            call = decoder.decode(line)
        except msgspec.DecodeError:
            break
        if not line.endswith(b"\n"):
            break
        good += len(line)
        if not call.is_failure and not call.partial:
            calls[call.query_id] = call
    stream.truncate(good)
    return calls
