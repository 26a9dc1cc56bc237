"""The judgments log: one line a key pressed, kept on disk before the next document is shown."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from searchmark.errors import InputError
from searchmark.experiments.holding import hold

NAME = "guide-judgments.jsonl"

RUBRIC = "intent-content-click/1"
"""The rubric that judgments of the guide are made by."""


class Pair(NamedTuple):
    """One document judged for one query."""

    query_id: str
    doc_id: str


class Entry(msgspec.Struct, frozen=True):
    """One decision: a grade, a document skipped, or an earlier decision undone.

    Entries of one key have one `press`; 0 is a judgment that came from a file.
    """

    query_id: str
    doc_id: str
    grade: int | None
    judge: str
    rubric: str
    at: str
    act: Literal["grade", "skip", "undo"] = "grade"
    press: int = 0

    @property
    def pair(self) -> Pair:
        """What was judged."""
        return Pair(self.query_id, self.doc_id)


def decisions(entries: Iterable[Entry]) -> dict[Pair, Entry]:
    """Return what holds now, in the order it was decided: the last entry of a pair wins."""
    found: dict[Pair, Entry] = {}
    for entry in entries:
        found.pop(entry.pair, None)
        if entry.act != "undo":
            found[entry.pair] = entry
    return found


def last_press(held: Mapping[Pair, Entry]) -> list[Pair]:
    """Return the pairs that the last key decided; none where all came from files."""
    press = max((e.press for e in held.values()), default=0)
    return [pair for pair, entry in held.items() if press and entry.press == press]


class JudgmentLog:
    """All entries of one evaluation, in a file that only grows."""

    def __init__(self, path: Path, stream: IO[bytes], entries: list[Entry], judge: str) -> None:
        self.path, self.entries, self.judge = path, entries, judge
        self._stream = stream
        self._press = max((e.press for e in entries), default=0)

    def grade(self, pair: Pair, grade: int) -> None:
        """Keep a grade."""
        self._pressed([self._entry(pair, "grade", grade)])

    def skip(self, pairs: Sequence[Pair]) -> None:
        """Keep that a person would not grade these."""
        self._pressed([self._entry(pair, "skip") for pair in pairs])

    def undo(self, pairs: Iterable[Pair]) -> None:
        """Keep that what was decided of these holds no longer."""
        self._pressed([self._entry(pair, "undo") for pair in pairs])

    def take(self, grades: Mapping[Pair, int]) -> None:
        """Keep grades that came from a file."""
        self._append([self._entry(pair, "grade", grade) for pair, grade in grades.items()])

    def _entry(
        self, pair: Pair, act: Literal["grade", "skip", "undo"], grade: int | None = None
    ) -> Entry:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return Entry(pair.query_id, pair.doc_id, grade, self.judge, RUBRIC, at, act)

    def _pressed(self, entries: Iterable[Entry]) -> None:
        self._press += 1
        self._append([msgspec.structs.replace(e, press=self._press) for e in entries])

    def _append(self, entries: Sequence[Entry]) -> None:
        """Write entries; once this returns, a killed process or machine no longer loses them."""
        self._stream.write(b"".join(msgspec.json.encode(e) + b"\n" for e in entries))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.entries += entries


@contextmanager
def open_log(folder: Path, judge: str) -> Iterator[JudgmentLog]:
    """Open the log of the evaluation in `folder`.

    A last line that a kill cut off is dropped. Any other line that cannot be read is an InputError,
    and so is a second session over the same log.
    """
    path = folder / NAME
    with path.open("a+b") as stream:
        if not hold(stream):
            raise InputError(
                "another guided session is judging here", path=path, fix="end it first"
            )
        entries = _read(stream, path)
        stream.seek(0, os.SEEK_END)
        yield JudgmentLog(path, stream, entries, judge)


def _read(stream: IO[bytes], path: Path) -> list[Entry]:
    decoder = msgspec.json.Decoder(Entry)
    entries: list[Entry] = []
    good = 0
    stream.seek(0)
    for number, line in enumerate(stream, 1):
        if not line.endswith(b"\n"):
            break
        if line.strip():
            try:
                entries.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(
                    f"not a judgment ({error})", path=path, line=number, fix="mend the line"
                ) from error
        good += len(line)
    stream.truncate(good)
    return entries
