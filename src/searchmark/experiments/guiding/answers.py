"""What was answered in a guided evaluation and stands in no other file."""

import os
from pathlib import Path

import msgspec

from searchmark.data.files import read_bytes, write_atomically
from searchmark.errors import InputError

DEFAULT_K, DEFAULT_SEED = 5, 1


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """Paths are relative to the folder of the evaluation.

    `made` is the query file that was written here, `project` the SHA-256 of the project file as it
    was written, `applied` how many lines of the judgments log the qrels hold already.
    """

    documents: str | None = None
    names: list[str] = []
    fields: list[str] = []
    queries: str | None = None
    made: str | None = None
    project: str | None = None
    k: int | None = None
    seed: int = DEFAULT_SEED
    applied: int = 0


def answers_path(folder: Path) -> Path:
    """Return the file that the answers of an evaluation are kept in."""
    return folder / ".searchmark" / "guide.json"


def read_answers(folder: Path) -> Answers:
    """Return what was answered so far; nothing where nobody was asked yet."""
    path = answers_path(folder)
    if not path.exists():
        return Answers()
    try:
        return msgspec.json.decode(read_bytes(path), type=Answers)
    except msgspec.DecodeError as error:
        raise InputError(
            f"the answers kept here cannot be read ({error})",
            path=path,
            fix="remove the file: what stands in other files is kept, the rest is asked again",
        ) from error


def write_answers(folder: Path, answers: Answers) -> None:
    """Keep the answers."""
    text = msgspec.json.format(msgspec.json.encode(answers), indent=2) + b"\n"
    write_atomically(answers_path(folder), lambda stream: stream.write(text))


def relative(path: Path, folder: Path) -> str:
    """Return a path as seen from `folder`, or as it is where there is no way between them."""
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
    except ValueError:  # another drive
        return Path(os.path.realpath(path)).as_posix()


def typed(text: str, folder: Path) -> Path:
    """Return the path that a person typed or dragged here: from where they are, or the folder."""
    path = Path(text.strip().strip("'\"")).expanduser()
    return folder / path if not path.exists() and (folder / path).exists() else path
