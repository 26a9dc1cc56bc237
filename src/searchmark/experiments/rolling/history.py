"""The history: a record a line, the oldest first, no more than are to be kept."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from searchmark.data.files import (
    check_writable,
    make_folder,
    open_to_append,
    read_bytes,
    write_atomically,
)
from searchmark.errors import InputError
from searchmark.experiments.holding import wait_for
from searchmark.reports.rollingrecord import FORMAT, Record

KEEP = 365
"""How many records are kept: a year of one a day."""


def read_history(path: Path) -> list[Record]:
    """Return the records of a file, oldest first; none where there is no file."""
    return [_record(line, path, number) for number, line in _lines(path)]


def append_record(path: Path, record: Record, keep: int = KEEP) -> int:
    """Append a record and drop the oldest beyond `keep`; return how many there are then.

    The file is written anew beside its name and renamed. Two that append at once do so one after
    the other, and nothing that is there is lost, nor changed.
    """
    with _alone(path):
        lines = []
        for number, line in _lines(path):
            _record(line, path, number)
            lines.append(line)
        lines = [*lines, msgspec.json.encode(record)][-keep:]
        write_atomically(path, lambda stream: stream.write(b"".join(x + b"\n" for x in lines)))
    return len(lines)


def check_history(path: Path) -> None:
    """Raise the OSError that appending would raise, before an hour of searches and not after it."""
    check_writable(path)
    with _alone(path):
        pass


def earlier(records: Sequence[Record], api: str) -> list[Record]:
    """Return the records of one API, oldest first."""
    return [r for r in records if r.api == api]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until nobody else writes the history; it is replaced, so that another file is held."""
    make_folder(path.parent)
    with open_to_append(path.with_name(f".{path.name}.lock")) as stream:
        wait_for(stream)
        yield


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.exists():
        return
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        if line.strip():
            yield number, line


def _record(line: bytes, path: Path, number: int) -> Record:
    fix = "mend or remove the line, or name another file with --history"
    try:
        record = msgspec.json.decode(line, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"is no record of a rolling evaluation ({error})"
        raise InputError(what, path=path, line=number, fix=fix) from error
    if record.format != FORMAT:
        what = f"has the format '{record.format[:40]}', not '{FORMAT}'"
        raise InputError(what, path=path, line=number, fix=fix)
    return record
