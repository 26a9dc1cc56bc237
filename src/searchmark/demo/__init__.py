"""A catalog of invented services, its golden set, and a project with three searches."""

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import IO

from searchmark.data.files import write_atomically

FILES = (
    "README.md",
    "catalog.jsonl",
    "queries.jsonl",
    "qrels.tsv",
    "searchmark.toml",
    "baseline.json",
)


def place(folder: Path) -> bool:
    """Put the demo into `folder`, unless a project is there already; tell whether it was put."""
    if (folder / "searchmark.toml").exists():
        return False
    for name in FILES:
        write_atomically(folder / name, partial(_copy, name))
    return True


def _copy(name: str, stream: IO[bytes]) -> None:
    stream.write((files(__name__) / name).read_bytes())
