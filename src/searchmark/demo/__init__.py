"""A catalog of invented services, its golden set, and a project with three searches."""

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import IO

from searchmark.data.files import write_atomically
from searchmark.errors import InputError

FILES = (
    "README.md",
    "catalog.jsonl",
    "queries.jsonl",
    "qrels.tsv",
    "searchmark.toml",
    "baseline.json",
)


def place(folder: Path) -> bool:
    """Put the demo into `folder`, unless a project is there already; tell whether it was put.

    Files of somebody else's are never overwritten: one of the same name is an InputError.
    """
    if (folder / "searchmark.toml").exists():
        return False
    taken = [name for name in FILES if (folder / name).exists()]
    if taken:
        raise InputError(
            f"holds {', '.join(taken)} already, and the demo would overwrite it",
            path=folder,
            fix="name a folder that is empty or not there yet",
        )
    for name in FILES:
        write_atomically(folder / name, partial(_copy, name))
    return True


def _copy(name: str, stream: IO[bytes]) -> None:
    stream.write((files(__name__) / name).read_bytes())
